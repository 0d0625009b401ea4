import { AppError } from '../../kernel/errors.ts';
import { numberOf } from '../../kernel/values.ts';
import { call } from '../act.ts';
import type { Client, RouteAnswer, RouteQuery } from '../client.ts';
import type { Context } from '../context.ts';
import { followJob } from '../follow-job.ts';
import { formatBytes } from '../format.ts';
import { checkDays, datasetOption, sliceOptions } from '../slice.ts';

export const count = call('GET /enrichment/records/count', {
  summary: 'count records, also those that fit a where',
  description:
    'Counts records: at once by the counters, or with --kind, --source or --where by reading. What takes longer becomes a job, which goes on when this command ends. What is stored meanwhile is not counted.',
  examples: [
    `svcctl records count --tenant TX --month 2026-03 --where 'score >= 0.9'`,
    `svcctl records count --tenant TX --dataset training --where 'not exists(label)' --json count`,
  ],
  options: [
    ...sliceOptions,
    datasetOption,
    ['--job', 'count in a job from the start, which reads everything'],
  ],
  check: checkDays,
  read: walkCount,
  more: (counted) => [countText(counted)],
});

type Counted = RouteAnswer<'GET /enrichment/records/count'>;

/** `3,210 records of 1,250,000 records (1.7 MB)`. */
export function countText({ count: found, looked, bytes }: Counted): string {
  const of = found === looked ? '' : ` of ${numberOf(looked, 'record')}`;
  return `${numberOf(found, 'record')}${of} (${formatBytes(bytes)})`;
}

/** Counts at once if one stretch is enough, and else, or when asked to, by a job that goes on without this command. */
export async function walkCount(
  context: Context,
  client: Client,
  { job, ...query }: RouteQuery<'GET /enrichment/records/count'> & { job?: true },
): Promise<Counted> {
  const first = job ? null : await client.json('GET /enrichment/records/count', { query });
  if (first?.next_cursor === null) return first;
  const started = await client.json('POST /enrichment/records/count', { body: query });
  const { id } = started;
  const ended = await followJob(context, client, {
    route: 'GET /enrichment/records/counts/:id',
    started,
    label: 'counting',
    far: ({ looked, total }) => ({ done: looked, total }),
    describe: (looked, _total, { count: found }) =>
      `${numberOf(found, 'record')} of ${numberOf(looked, 'record')}`,
    speed: () => '',
    waits: ({ state, error }) => [
      state === 'waiting' ? `It waits, and goes on by itself: ${error}` : null,
      state === 'paused' ? `${id} is paused. Go on: svcctl jobs resume ${id}` : null,
    ],
    role: 'exports',
    goesOn: `The count goes on without this command. Look: svcctl jobs wait ${id}`,
  });
  const { count: found, bytes, looked, state, error } = ended;
  if (state !== 'completed') {
    const how = state === 'failed' ? `failed: ${error}` : 'was cancelled.';
    throw new AppError('job_failed', { detail: `${id} ${how}` });
  }
  return { count: found, bytes, looked, searched_to: null, next_cursor: null };
}
