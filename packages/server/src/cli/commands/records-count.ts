import { numberOf } from '../../kernel/values.ts';
import { addCounts } from '../../records/view.ts';
import { call } from '../act.ts';
import type { Client, RouteAnswer, RouteQuery } from '../client.ts';
import type { Context } from '../context.ts';
import { formatBytes } from '../format.ts';
import { createProgress } from '../progress.ts';
import { withRetries } from '../retry.ts';
import { checkDays, datasetOption, sliceOptions } from '../slice.ts';

export const count = call('GET /enrichment/records/count', {
  summary: 'count records, also those that fit a where',
  description:
    'Counts records: at once by the counters, or with --kind, --source or --where by reading, stretch by stretch. What is stored meanwhile is not counted.',
  examples: [
    `svcctl records count --tenant TX --month 2026-03 --where 'score >= 0.9'`,
    `svcctl records count --tenant TX --dataset training --where 'not exists(label)' --json count`,
  ],
  options: [...sliceOptions, datasetOption],
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

/** Counts stretch by stretch, and adds them up. */
export async function walkCount(
  { io }: Context,
  client: Client,
  query: RouteQuery<'GET /enrichment/records/count'>,
): Promise<Counted> {
  const read = (cursor?: string) =>
    client.json('GET /enrichment/records/count', {
      query: { ...query, ...(cursor !== undefined && { cursor }) },
    });
  let all: Counted = await read();
  const progress = createProgress(io, {
    label: 'counting',
    total: 0,
    speed: () => '',
    describe: (looked) => `${numberOf(all.count, 'record')} of ${numberOf(looked, 'record')}`,
  });
  try {
    while (all.next_cursor !== null) {
      progress.update(all.looked, 0);
      const cursor = all.next_cursor;
      const page = await withRetries(io, () => read(cursor));
      all = addCounts(all, page);
    }
  } finally {
    progress.clear();
  }
  return all;
}
