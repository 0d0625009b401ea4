import { Anchor } from '@mantine/core';
import type { ReactNode } from 'react';
import type { RetentionMove, StoreSummary } from '../api/types.ts';
import { WarningIcon } from '../ui/icons.tsx';
import { Moment } from '../ui/marks.tsx';
import { countOf } from '../ui/words.ts';
import classes from './alert.module.css';
import { drawerHref } from './search.ts';
import { daysText, reasonText } from './words.ts';

const mostShown = 3;

/** That the store of cold data is another database's, or cannot be used. */
export function StoreAlert({ store }: { store: StoreSummary | undefined }): ReactNode {
  if (store === undefined || store.problem === null) return null;
  const isFenced = ['elsewhere', 'read_only', 'unclaimed'].includes(store.state);
  return (
    <section className={classes.alert} role="alert" aria-label="The store of cold data">
      <div className={classes.line}>
        <WarningIcon />
        <p>
          <strong>
            {isFenced ? 'Nothing is moved, merged or deleted' : 'The store of cold data fails'}
          </strong>
          : {store.problem}
        </p>
      </div>
    </section>
  );
}

/** Moves that failed and were not made good: whose, which days, why, and what to do. */
export function FailureAlert({ failures }: { failures: readonly RetentionMove[] }): ReactNode {
  if (failures.length === 0) return null;
  const rest = failures.length - mostShown;
  return (
    <section className={classes.alert} role="alert" aria-label="Failed moves">
      {failures.slice(0, mostShown).map((move) => (
        <div key={move.id} className={classes.line}>
          <WarningIcon />
          <p>
            <strong>
              {move.kind} of {move.tenant}, {daysText(move.first_day, move.last_day)}, failed
            </strong>{' '}
            <Moment at={move.failed_at} />: {reasonText(move)}
          </p>
          <Anchor href={drawerHref({ kind: 'move', id: move.id })}>see the move</Anchor>
        </div>
      ))}
      {rest > 0 && (
        <p className={classes.rest}>
          <Anchor href="#/retention?view=journal&state=failed">
            and {countOf(rest, 'failed move')} more
          </Anchor>
        </p>
      )}
    </section>
  );
}
