import type { Connection } from '../../platform/postgres/database.ts';
import { type DayTriple, lockRemovals, SourceChanged, sumTriples } from '../../records/index.ts';
import { takeArrow } from './arrow.ts';
import type { MoverContext } from './context.ts';
import { MoveFault } from './fail.ts';
import { toGone } from './gone.ts';
import type { MoveWork, VerifiedSegment } from './kinds.ts';
import type { Move } from './move.ts';
import { lockPolicies, queueRemovals, setEffects, setSwitched } from './queries.ts';
import { refuseHold } from './refuse.ts';
import { stepsOf } from './steps.ts';

/**
 * verified → switched: catalogue, hot rows, counters and journal in one transaction. Policies are asked
 * last and kept until the commit: a hold that was acknowledged before stops it.
 */
export async function switchMove(
  context: MoverContext,
  work: MoveWork,
  segments: readonly VerifiedSegment[],
): Promise<MoveWork> {
  const { move } = work;
  const steps = stepsOf(move);
  const next = await takeArrow(context, move, {
    to: 'switched',
    async change(connection) {
      const letsGo = move.kind === 'delete' || move.kind === 'erase';
      // First of all locks: a version that is being frozen either is known here, or lacks what goes now.
      if (letsGo) await lockRemovals(connection, move.tenant);
      const gone = await steps
        .switch(connection, { context, work, segments })
        .catch((error: unknown) => {
          throw error instanceof SourceChanged ? sourceChanged(error) : error;
        });
      const keys = work.in.map(({ object_key }) => object_key);
      const { graceSeconds } = context;
      await queueRemovals(connection, move, { keys, graceSeconds });
      await setSwitched(connection, move, sumTriples(gone));
      await tellGone(context, connection, { move, days: gone });
      await lockPolicies(connection);
      await refuseHold(connection, move);
      const refusal = await steps.refuse(connection, move);
      if (refusal !== null) throw new MoveFault(refusal.code, refusal.message);
    },
  });
  const { tenant, id, kind } = move;
  context.log.debug({ tenant, move: id, kind }, 'a move is switched');
  return { ...work, move: next };
}

/** Last but for the policies: what follows is on record with the move. */
async function tellGone(
  { onGone }: MoverContext,
  connection: Connection,
  { move, days }: { move: Move; days: readonly DayTriple[] },
): Promise<void> {
  const gone = toGone(move, days);
  if (gone === null || onGone === undefined) return;
  await setEffects(connection, move, await onGone(connection, gone));
}

function sourceChanged(cause: SourceChanged): MoveFault {
  return new MoveFault(
    'source_changed',
    `What was copied is not what is there now: ${cause.message} The next run begins anew.`,
    cause,
  );
}
