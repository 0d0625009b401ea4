import { numberOf } from '../../kernel/values.ts';
import { datasetNames } from '../../records/values.ts';
import { addCounts } from '../../records/view.ts';
import type { Client, RouteAnswer, RouteQuery } from '../client.ts';
import type { Context } from '../context.ts';
import { printDetails } from '../details.ts';
import { fieldsOf } from '../fields.ts';
import { formatBytes } from '../format.ts';
import { required } from '../help.ts';
import type { JsonOption } from '../output.ts';
import { createProgress } from '../progress.ts';
import { withRetries } from '../retry.ts';
import { checkDays } from '../slice.ts';
import { jsonOption, type OptionRow, type Verb } from '../verb.ts';

const names = ['store', 'month', 'from', 'to', 'kind', 'source', 'where', 'dataset'] as const;
type CountOptions = { [K in (typeof names)[number]]?: string } & {
  tenant?: string;
  json?: JsonOption;
};

/** `svcctl records count`, given the options by which records are picked. */
export function countVerb(sliceOptions: readonly OptionRow[]): Verb {
  return {
    summary: 'count records, also those that fit a where',
    description:
      'Counts records: at once by the counters, or with --kind, --source or --where by reading, stretch by stretch. What is stored meanwhile is not counted.',
    examples: [
      `svcctl records count --tenant TX --month 2026-03 --where 'score >= 0.9'`,
      `svcctl records count --tenant TX --dataset training --where 'not exists(label)' --json count`,
    ],
    options: [...sliceOptions, ['--dataset <name>', 'only tagged so', datasetNames], jsonOption],
    act: count,
  };
}

type Counted = RouteAnswer<'GET /enrichment/records/count'>;

async function count(context: Context, options: CountOptions): Promise<void> {
  const tenant = required(options.tenant, '--tenant');
  checkDays(options);
  const fields = await fieldsOf(options.json, 'GET /enrichment/records/count');
  const client = await context.connect();
  const filters = Object.fromEntries(names.map((name) => [name, options[name]]));
  const counted = await walkCount(context, client, { tenant, ...filters });
  const lines = () => [countText(counted)];
  await printDetails(context, JSON.stringify(counted), { json: options.json, fields, lines });
}

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
    ...{ label: 'counting', total: 0, speed: () => '' },
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
