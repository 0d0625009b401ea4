import { workStates } from '../kernel/values.ts';
import type { Client, Route } from './client.ts';
import type { Context } from './context.ts';
import { inputOf } from './details.ts';
import { createProgress, type ProgressOptions } from './progress.ts';
import { withRetries } from './retry.ts';

const pollMillis = 500;
/**
 * After this many polls a job should no longer be queued: it is more than twice as long as a process takes to look for
 * work.
 */
const queuedPolls = 12;

/** What the service does beside its answers, and tells of when it is asked. */
type Job = { id: string; state: string; waiting_for?: string | null; error?: string | null };
type Following<J extends Job> = {
  /** What answers the job by its id. */
  route: Route & `GET ${string}/:id`;
  started: J;
  /** What stands before the bar; by default the id of the job. */
  label?: string;
  /** How far it is. `bytes` are what the speed is told by, where that is not what is done. */
  far: (job: J) => { done: number; total: number | null; bytes?: number };
  describe: (done: number, total: number, job: J) => string;
  speed?: ProgressOptions['speed'];
  /** Replaces speed and time left. */
  pace?: (job: J) => string;
  /** Whether the job has not ended; by default, whether it is queued, runs, waits or is paused. */
  isUnderWay?: (job: J) => boolean;
  /** What it waits for, null while it does not; each of these is said once. */
  waits?: (job: J) => readonly (string | null)[];
  /** The role of SVC_ROLES that does such work, for the message that no process has it. */
  role: string;
  /** What is printed when the command ends before the job. */
  goesOn: string;
};

/**
 * Shows the progress of a job of the service until it ends. The service does the work, whether or not this command goes
 * on; when it is interrupted, it says so, and how to look at the job.
 */
export async function followJob<J extends Job>(
  context: Context,
  client: Client,
  { route, started, ...following }: Following<J>,
): Promise<J> {
  const { far, describe, speed, pace, isUnderWay = isAtWork, waits = waitTexts } = following;
  let job = started;
  const bar: ProgressOptions = {
    label: following.label ?? started.id,
    total: 0,
    describe: (done) => describe(done, bar.total, job),
    ...(speed && { speed }),
    ...(pace && { pace: () => pace(job) }),
  };
  const progress = createProgress(context.io, bar);
  const note = (text: string) => {
    progress.clear();
    context.note(text);
  };
  const told = new Set<number>();
  try {
    for (let polls = 1; isUnderWay(job); polls++) {
      if (job.state === 'queued' && polls === queuedPolls) {
        note(
          `It waits for its turn, or for a process with the role ${following.role} (SVC_ROLES).`,
        );
      }
      for (const [index, text] of waits(job).entries()) {
        if (text !== null && !told.has(index)) note(text);
        if (text !== null) told.add(index);
      }
      await context.io.sleep(pollMillis, context.io.signal);
      const read = () => client.json(route, inputOf(route, started.id));
      job = (await withRetries(context.io, read)) as unknown as J;
      const { done, total, bytes = done } = far(job);
      bar.total = total ?? 0;
      progress.update(done, bytes);
    }
  } catch (error) {
    note(following.goesOn);
    throw error;
  }
  progress.clear();
  return job;
}

function waitTexts({ state, waiting_for, error }: Job): [string | null] {
  const reason = waiting_for ?? error ?? '';
  return [state === 'waiting' ? `It waits, and goes on by itself: ${reason}` : null];
}

/** Whether a job has not ended. */
export function isAtWork({ state }: { state: string }): boolean {
  return workStates.some((open) => open === state);
}

/** How long a job has worked, in milliseconds; null when it has not ended. */
export function workedMillis(job: {
  started_at: string | null;
  finished_at: string | null;
}): number | null {
  if (job.started_at === null || job.finished_at === null) return null;
  return Math.max(1, Date.parse(job.finished_at) - Date.parse(job.started_at));
}
