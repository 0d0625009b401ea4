import { AppError } from '../../kernel/errors.ts';
import { formatCount, numberOf } from '../../kernel/values.ts';
import type { Client, RouteAnswer } from '../client.ts';
import type { Context } from '../context.ts';
import { createProgress } from '../progress.ts';
import { withRetries } from '../retry.ts';

export type RetryJob = RouteAnswer<'GET /webhook/dlq/retries/:id'>;

const pollMillis = 500;

/**
 * Shows the progress of a bulk retry until it ends, and prints how it ended. The service does the work, whether or not
 * this command goes on.
 */
export async function followRetryJob(
  context: Context,
  client: Client,
  started: RetryJob,
): Promise<RetryJob> {
  const progress = createProgress(context.io, {
    label: started.id,
    total: started.rows_total,
    describe: (done) => `${formatCount(done)} of ${numberOf(started.rows_total, 'row')}`,
    speed: (perSecond) => `${numberOf(perSecond, 'row')}/s`,
  });
  let job = started;
  let isPauseTold = false;
  let isWaitTold = false;
  try {
    while (job.state === 'running' || job.state === 'paused') {
      if (job.state === 'paused' && !isPauseTold) {
        isPauseTold = true;
        progress.clear();
        context.note(`${job.id} is paused. Go on: svcctl dlq resume ${job.id}`);
      }
      if (job.waits_for_endpoint && !isWaitTold) {
        isWaitTold = true;
        progress.clear();
        context.note(
          `${job.id} waits: its endpoint is disabled. Go on: svcctl endpoints enable ${job.endpoint_id}`,
        );
      }
      await context.io.sleep(pollMillis, context.io.signal);
      job = await withRetries(context.io, () =>
        client.json('GET /webhook/dlq/retries/:id', { params: { id: started.id } }),
      );
      const handled = job.rows_done + job.rows_skipped;
      progress.update(handled, handled);
    }
  } catch (error) {
    progress.clear();
    context.note(
      `The retry goes on without this command. Look: svcctl dlq retries · stop it: svcctl dlq cancel ${job.id}`,
    );
    throw error;
  }
  progress.clear();
  return job;
}

/**
 * Prints how a job ended. Throws `partly_done` when it was cancelled, or had to leave rows alone that it was to re-arm;
 * `again` is the command that asks for these.
 */
export function tellRetryEnd(context: Context, job: RetryJob, again: string): void {
  const { id, state, rows_done: done, rows_skipped: skipped, rows_left: left } = job;
  if (state === 'cancelled') {
    throw new AppError('partly_done', {
      detail: `${id} was cancelled after ${formatCount(done)} of ${numberOf(job.rows_total, 'row')}. What it had re-armed stays so.`,
    });
  }
  if (left > 0) {
    throw new AppError('partly_done', {
      detail: `${id} queued a retry for ${numberOf(done, 'row')}; ${formatCount(left)} were left alone, because their endpoint was disabled meanwhile. Enable it, then ask for the rest: ${again}`,
    });
  }
  const alone = skipped === 0 ? '' : `, ${leftAlone(skipped)}`;
  context.note(
    `✓ Retry queued for ${numberOf(done, 'row')}${alone}. The drainer sends ${done === 1 ? 'it' : 'them'} when it runs.`,
  );
}

/** The deliveries that were skipped: "3 left alone, because their endpoint is disabled". */
export function leftAlone(count: number): string {
  return `${formatCount(count)} left alone, because their endpoint is disabled`;
}
