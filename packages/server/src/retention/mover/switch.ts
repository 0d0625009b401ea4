import { SourceChanged, sumTriples } from '../../records/index.ts';
import { takeArrow } from './arrow.ts';
import type { MoverContext } from './context.ts';
import { MoveFault } from './fail.ts';
import type { MoveWork, VerifiedSegment } from './kinds.ts';
import { lockPolicies, queueRemovals, setSwitched } from './queries.ts';
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
      const gone = await steps
        .switch(connection, { context, work, segments })
        .catch((error: unknown) => {
          throw error instanceof SourceChanged ? sourceChanged(error) : error;
        });
      const keys = work.in.map(({ object_key }) => object_key);
      const { graceSeconds } = context;
      await queueRemovals(connection, move, { keys, graceSeconds });
      await setSwitched(connection, move, sumTriples(gone));
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

function sourceChanged(cause: SourceChanged): MoveFault {
  return new MoveFault(
    'source_changed',
    `What was copied is not what is there now: ${cause.message} The next run begins anew.`,
    cause,
  );
}
