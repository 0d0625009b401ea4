import type { ReactNode } from 'react';
import type { AuditEntry } from '../api/types.ts';
import { Drawer } from '../ui/drawer.tsx';
import { copied, Facts } from '../ui/facts.tsx';
import { Empty } from '../ui/list.tsx';
import { Instant } from '../ui/marks.tsx';
import { SmallTable } from '../ui/numbers.tsx';
import classes from './access.module.css';
import { sentenceOf } from './sentence.ts';
import { useEntry } from './use-access.ts';
import { changesOf, valueText } from './words.ts';

/** One entry of the audit log: who, what, when, from where, and what changed. */
export function EntryPanel({ place, onClose }: { place: string; onClose: () => void }): ReactNode {
  const query = useEntry(place);
  return (
    <Drawer
      kind="ENTRY"
      title={query.data ? sentenceOf(query.data) : place}
      id={place}
      noun="entry"
      query={query}
      rows={10}
      onClose={onClose}
    >
      {(entry) =>
        entry === null ? (
          <Empty title="There is no such entry, or it was pruned" />
        ) : (
          <>
            <EntryFacts entry={entry} />
            <Changes entry={entry} />
          </>
        )
      }
    </Drawer>
  );
}

function EntryFacts({ entry }: { entry: AuditEntry }): ReactNode {
  const { actor, action, target, tenants, address, user_agent, request_id, place, hash } = entry;
  return (
    <Facts
      facts={{
        who: actor.name,
        token: copied(actor.token_id),
        when: <Instant at={entry.at} />,
        action: copied(action),
        target: copied(target),
        tenants: tenants === null ? 'all that it reaches' : tenants.join(', '),
        from: address,
        with: user_agent,
        request: copied(request_id),
        'place in the chain': place,
        hash: copied(hash),
      }}
    />
  );
}

function Changes({ entry }: { entry: AuditEntry }): ReactNode {
  const changes = changesOf(entry.before, entry.after);
  if (changes.length === 0) return null;
  return (
    <SmallTable
      className={classes.changes}
      label="What changed"
      head={['FIELD', 'BEFORE', 'AFTER']}
      rows={changes.map(({ name, before, after }) => ({
        key: name,
        cells: [
          name,
          before === undefined ? '–' : <del key="before">{valueText(before)}</del>,
          after === undefined ? '–' : <ins key="after">{valueText(after)}</ins>,
        ],
      }))}
    />
  );
}
