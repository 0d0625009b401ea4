import type { Context } from './context.ts';
import type { Progress } from './progress.ts';
import { withRetries } from './retry.ts';

const pollMillis = 500;
/**
 * After this many polls a job should no longer be queued: it is more than twice as long as a process takes to look for
 * work.
 */
const queuedPolls = 12;

/**
 * Polls a job of the service until it has ended. When the command is interrupted, it says that the job goes on, and how
 * to look at it.
 */
export async function followJob<
  Job extends { state: string; waiting_for?: string | null; error: string | null },
>(
  context: Context,
  started: Job,
  options: {
    read: () => Promise<Job>;
    /** Whether the job has not ended; by default, whether it is queued, runs or waits. */
    isUnderWay?: (job: Job) => boolean;
    progress: Progress;
    show: (job: Job, progress: Progress) => void;
    /** The role of SVC_ROLES that does such work, for the message that no process has it. */
    role: string;
    /** What is printed when the command ends before the job. */
    goesOn: string;
  },
): Promise<Job> {
  const { progress, isUnderWay = isAtWork } = options;
  let job = started;
  let isTold = false;
  try {
    for (let polls = 1; isUnderWay(job); polls++) {
      if (job.state === 'queued' && polls === queuedPolls) {
        progress.clear();
        context.note(
          `It waits for its turn, or for a process with the role ${options.role} (SVC_ROLES).`,
        );
      }
      if (job.state === 'waiting' && !isTold) {
        isTold = true;
        progress.clear();
        context.note(`It waits, and goes on by itself: ${job.waiting_for ?? job.error ?? ''}`);
      }
      await context.io.sleep(pollMillis, context.io.signal);
      job = await withRetries(context.io, options.read);
      options.show(job, progress);
    }
  } catch (error) {
    progress.clear();
    context.note(options.goesOn);
    throw error;
  }
  progress.clear();
  return job;
}

/** Whether a job has not ended. */
export function isAtWork({ state }: { state: string }): boolean {
  return state === 'queued' || state === 'running' || state === 'waiting';
}

/** How long a job has worked, in milliseconds; null when it has not ended. */
export function workedMillis(job: {
  started_at: string | null;
  finished_at: string | null;
}): number | null {
  if (job.started_at === null || job.finished_at === null) return null;
  return Math.max(1, Date.parse(job.finished_at) - Date.parse(job.started_at));
}
