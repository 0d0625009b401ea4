import { AppError } from '../../kernel/errors.ts';
import { formatCount, numberOf } from '../../kernel/values.ts';
import type { Client, RouteAnswer } from '../client.ts';
import type { Context } from '../context.ts';
import { followJob } from '../follow-job.ts';

export type RetryJob = RouteAnswer<'GET /webhook/dlq/retries/:id'>;

/** Shows the progress of a bulk retry until it ends. */
export function followRetryJob(
  context: Context,
  client: Client,
  started: RetryJob,
): Promise<RetryJob> {
  const { id } = started;
  return followJob(context, client, {
    ...{ route: 'GET /webhook/dlq/retries/:id', started, role: 'api' },
    far: (job) => ({ done: job.rows_done + job.rows_skipped, total: job.rows_total }),
    describe: (done, total) => `${formatCount(done)} of ${numberOf(total, 'row')}`,
    speed: (perSecond) => `${numberOf(perSecond, 'row')}/s`,
    isUnderWay: ({ state }) => state === 'running' || state === 'paused',
    waits: (job) => [
      job.state === 'paused' ? `${id} is paused. Go on: svcctl dlq resume ${id}` : null,
      job.waits_for_endpoint
        ? `${id} waits: its endpoint is disabled. Go on: svcctl endpoints enable ${job.endpoint_id}`
        : null,
    ],
    goesOn: `The retry goes on without this command. Look: svcctl dlq retries · stop it: svcctl dlq cancel ${id}`,
  });
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
