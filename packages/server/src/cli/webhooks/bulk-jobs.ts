import { AppError } from '../../kernel/errors.ts';
import { formatCount, numberOf } from '../../kernel/values.ts';
import type { BulkAction } from '../../webhooks/values.ts';
import type { Client, RouteAnswer } from '../client.ts';
import type { Context } from '../context.ts';
import { followJob } from '../follow-job.ts';

export type BulkJob = RouteAnswer<'GET /webhook/dlq/jobs/:id'>;

/** Shows the progress of a bulk job until it ends. */
export function followBulkJob(
  context: Context,
  client: Client,
  started: BulkJob,
): Promise<BulkJob> {
  const { id, action } = started;
  return followJob(context, client, {
    ...{ route: 'GET /webhook/dlq/jobs/:id', started, role: 'api' },
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
    goesOn: `The ${action} goes on without this command. Look: svcctl dlq jobs · stop it: svcctl dlq cancel ${id}`,
  });
}

const did = { retry: 're-armed', purge: 'discarded' } as const;

/**
 * Prints how a job ended. Throws `partly_done` when it was cancelled, or had to leave rows alone that it was to re-arm;
 * `again` is the command that asks for these.
 */
export function tellBulkEnd(context: Context, job: BulkJob, again: string): void {
  const { id, action, state, rows_done: done, rows_skipped: skipped, rows_left: left } = job;
  if (state === 'cancelled') {
    throw new AppError('partly_done', {
      detail: `${id} was cancelled after ${formatCount(done)} of ${numberOf(job.rows_total, 'row')}. What it had ${did[action]} stays so.`,
    });
  }
  if (left > 0) {
    throw new AppError('partly_done', {
      detail: `${id} queued a retry for ${numberOf(done, 'row')}; ${formatCount(left)} were left alone, because their endpoint was disabled meanwhile. Enable it, then ask for the rest: ${again}`,
    });
  }
  const alone = skipped === 0 ? '' : `, ${leftAlone(skipped, action)}`;
  const rows = numberOf(done, 'row');
  if (action === 'purge') context.note(`✓ Discarded ${rows}${alone}.`);
  else {
    const sends = `The drainer sends ${done === 1 ? 'it' : 'them'} when it runs.`;
    context.note(`✓ Retry queued for ${rows}${alone}. ${sends}`);
    context.hint(`What becomes of them: svcctl dlq job ${id}`);
  }
}

const reasons = {
  retry: 'because their endpoint is disabled',
  purge: 'because they were changed meanwhile, or their tenant is under legal hold',
} as const;

/** The deliveries that were skipped: "3 left alone, because their endpoint is disabled". */
export function leftAlone(count: number, action: BulkAction): string {
  return `${formatCount(count)} left alone, ${reasons[action]}`;
}
