import { type Repeated, repeat } from '../../../platform/work/repeat.ts';
import { attemptJob, Stopped, takeNextJob } from './attempt.ts';
import { JobLost, type WorkContext } from './context.ts';

export type RunnerOptions = {
  /** Jobs that this process works on at once. */
  readonly places: number;
  /** Jobs of one tenant at once, over all processes. */
  readonly perTenant: number;
  /** A job has ended: what it leaves behind can be removed. */
  readonly onEnded: () => void;
};

/** Jobs under way when it stops are taken up by another process, or by this one at its next start. */
export type JobRunner = Repeated & {
  /** Stops the work on a job that was cancelled, if it is done here. */
  cancel(id: string): void;
};

/** Work is also looked for by itself: other processes make jobs, and leave some behind when killed. */
const lookMillis = 2000;

/** Works on export jobs, in every process of the role exports. */
export function startJobRunner(context: WorkContext, options: RunnerOptions): JobRunner {
  const { db, log } = context;
  const running = new Map<string, { abort: AbortController; ended: Promise<void> }>();

  const look = async (signal: AbortSignal) => {
    while (!signal.aborted && running.size < options.places) {
      const taken = await takeNextJob(db, options.perTenant);
      if (taken === undefined) return;
      const { id } = taken.job;
      const abort = new AbortController();
      if (signal.aborted) abort.abort(new Stopped());
      const ended = attemptJob(context, taken, abort.signal)
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
      const stopping = looks.stop();
      for (const { abort } of running.values()) abort.abort(new Stopped());
      await stopping;
      // One may have been taken meanwhile.
      for (const { abort } of running.values()) abort.abort(new Stopped());
      await Promise.all([...running.values()].map(({ ended }) => ended));
    },
  };
}
