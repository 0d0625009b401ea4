import type { ReactNode } from 'react';
import type { AuditEntry } from '../api/types.ts';
import { CopyButton } from '../ui/copy-button.tsx';
import drawerClasses from '../ui/drawer.module.css';
import { formatInstant } from '../ui/format.ts';
import { FailurePanel, useFailure } from '../ui/freshness.tsx';
import { Empty, SkeletonRows } from '../ui/list.tsx';
import { Panel } from '../ui/panel.tsx';
import { useZone, zoneName } from '../ui/zone-switch.tsx';
import classes from './access.module.css';
import { useEntry } from './use-access.ts';
import { changesOf, valueText } from './words.ts';

/** One entry of the audit log: who, what, when, from where, and what changed. */
export function EntryPanel({ place, onClose }: { place: string; onClose: () => void }): ReactNode {
  const query = useEntry(place);
  const failure = useFailure(query);
  const entry = query.data;
  return (
    <Panel
      kind="ENTRY"
      title={entry?.action ?? place}
      id={place}
      closeLabel="Close the entry"
      onClose={onClose}
    >
      <div className={drawerClasses.body}>
        {entry && <Facts entry={entry} />}
        {entry && <Changes entry={entry} />}
        {entry === null && <Empty title="There is no such entry, or it was pruned" />}
        {entry === undefined && failure === null && (
          <SkeletonRows rows={10} label="Loading the entry" />
        )}
        {entry === undefined && failure !== null && (
          <FailurePanel error={failure} onRetry={() => void query.refetch()} />
        )}
      </div>
    </Panel>
  );
}

function Facts({ entry }: { entry: AuditEntry }): ReactNode {
  const [zone] = useZone();
  const { actor, target, tenants, address, user_agent, request_id, place, hash } = entry;
  const facts: [string, string | null, boolean?][] = [
    ['who', actor.name],
    ['token', actor.token_id, true],
    ['when', `${formatInstant(entry.at, zone)} ${zoneName(zone)}`],
    ['target', target, true],
    ['tenants', tenants === null ? 'all that it reaches' : tenants.join(', ')],
    ['from', address],
    ['with', user_agent],
    ['request', request_id, true],
    ['place in the chain', place === null ? null : String(place)],
    ['hash', hash, true],
  ];
  return (
    <dl className={`below-16 ${drawerClasses.fields}`}>
      {facts.map(([name, value, isCopied]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            {value ?? <span className="muted">–</span>}
            {isCopied && value !== null && <CopyButton value={value} label={`Copy the ${name}`} />}
          </dd>
        </div>
      ))}
    </dl>
  );
}

function Changes({ entry }: { entry: AuditEntry }): ReactNode {
  const changes = changesOf(entry.before, entry.after);
  if (changes.length === 0) return null;
  return (
    <table className={classes.changes} aria-label="What changed">
      <thead>
        <tr>
          <th>FIELD</th>
          <th>BEFORE</th>
          <th>AFTER</th>
        </tr>
      </thead>
      <tbody>
        {changes.map(({ name, before, after }) => (
          <tr key={name}>
            <td>{name}</td>
            <td>{before === undefined ? '–' : <del>{valueText(before)}</del>}</td>
            <td>{after === undefined ? '–' : <ins>{valueText(after)}</ins>}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
