import { AppError, isDatabaseAway } from '../../kernel/errors.ts';
import type { Log } from '../../platform/log.ts';
import { mayPass } from '../../platform/objects/s3-errors.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { type Repeated, repeat } from '../../platform/work/repeat.ts';
import { withSessionLock } from '../../platform/work/session-lock.ts';
import type { ColdReader } from '../segments/segment.ts';
import { countStretch, usualStretch } from '../versions/count-records.ts';
import * as queries from './queries.ts';

type CountsContext = {
  readonly db: Database;
  readonly cold: ColdReader;
  readonly log: Log;
  readonly size?: typeof usualStretch;
};

/** Counts to do are also looked for: other processes queue some, and a killed one leaves some behind. */
const lookMillis = 2000;
const pruneMillis = 3_600_000;
/** A count whose store is away is tried again after this time. */
const pauseSeconds = 60;

/** Counts what is asked for, stretch by stretch, one at a time over all processes; open counts take turns. */
export function startCounts(context: CountsContext): Repeated {
  let pruneAtMillis = 0;
  const work = async (signal: AbortSignal) => {
    await doCounts(context, signal);
    if (performance.now() < pruneAtMillis) return;
    await queries.pruneCounts(context.db);
    pruneAtMillis = performance.now() + pruneMillis;
  };
  return repeat(work, {
    everyMillis: lookMillis,
    onError: (err) => context.log.warn({ err }, 'a count of records was interrupted and goes on'),
  });
}

/** Does all counts that wait, unless another process does. What a killed process had stored of one is not read again. */
export async function doCounts(context: CountsContext, signal: AbortSignal): Promise<void> {
  const { db, cold, log, size = usualStretch } = context;
  if (!(await queries.hasNext(db))) return;
  const lost = 'The lock on the counts of records was lost with its connection.';
  const work = async (ending: AbortSignal) => {
    for (;;) {
      ending.throwIfAborted();
      const job = await queries.takeNext(db);
      if (job === undefined) return;
      const { slice, after } = job;
      try {
        const found = await countStretch({ db, cold, signal: ending }, slice, { after, size });
        await queries.addStretch(db, job, found);
      } catch (error) {
        if (ending.aborted || isDatabaseAway(error)) throw error;
        const isPassing = mayPass(error);
        log[isPassing ? 'warn' : 'error'](
          { err: error, count: job.id },
          'records were not counted',
        );
        await queries.noteTrouble(db, job.id, {
          error:
            error instanceof AppError ? error.detail : 'The service made a mistake: see its log.',
          againSeconds: isPassing ? pauseSeconds : null,
        });
      }
    }
  };
  await withSessionLock(db, { name: 'recordCounts' }, { signal, lost, work });
}
