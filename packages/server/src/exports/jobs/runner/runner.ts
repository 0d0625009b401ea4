import { type Repeated, repeat } from '../../../platform/work/repeat.ts';
import { attemptJob, takeNextJob } from './attempt.ts';
import { JobLost, type WorkContext } from './context.ts';

export type RunnerOptions = {
  /** How many jobs this process works on at once. */
  readonly places: number;
  /** How many jobs of one tenant run at once, over all processes. */
  readonly perTenant: number;
  /** Is called when a job has ended, so that what it leaves behind can be removed. */
  readonly onEnded: () => void;
};

/**
 * Works on jobs. Jobs that are under way when it stops are taken up by another process, or by this one at its next
 * start.
 */
export type JobRunner = Repeated & {
  /** Stops the work on a job that was cancelled, if this process works on it. */
  cancel(id: string): void;
};

/**
 * How often jobs are looked for without a poke: other processes make jobs, and leave some behind when they are killed.
 */
const lookMillis = 2000;

/** Starts to work on export jobs. Every process of the role exports does this. */
export function startJobRunner(context: WorkContext, options: RunnerOptions): JobRunner {
  const { db, log } = context;
  const running = new Map<string, { abort: AbortController; ended: Promise<void> }>();

  const look = async (signal: AbortSignal) => {
    while (!signal.aborted && running.size < options.places) {
      const taken = await takeNextJob(db, options.perTenant);
      if (taken === undefined) return;
      const { id } = taken.job;
      const abort = new AbortController();
      const ended = attemptJob(context, taken, AbortSignal.any([signal, abort.signal]))
        .catch((err: unknown) => {
          log.warn({ err, exportId: id }, 'an export was interrupted and will be taken up again');
        })
        .then(() => {
          running.delete(id);
          options.onEnded();
          looks.poke();
        });
      running.set(id, { abort, ended });
    }
  };
  const looks = repeat(look, {
    everyMillis: lookMillis,
    onError: (err) => log.warn({ err }, 'export jobs could not be looked for'),
  });

  return {
    poke: () => looks.poke(),
    cancel(id) {
      running.get(id)?.abort.abort(new JobLost('the job was cancelled'));
    },
    async stop() {
      await looks.stop();
      await Promise.all([...running.values()].map(({ ended }) => ended));
    },
  };
}
