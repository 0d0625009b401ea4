import { AppError } from '../kernel/errors.ts';
import { numberOf } from '../kernel/values.ts';
import type { SplitName } from '../records/values.ts';
import { addDiffs } from '../records/view.ts';
import type { Client, RouteAnswer } from './client.ts';
import { columnsOf } from './columns.ts';
import type { Context } from './context.ts';
import { type Facts, factLines, moment, section, timesOf, whereAny } from './details.ts';
import { followJob } from './follow-job.ts';
import { formatBytes } from './format.ts';
import { walkRows } from './pages.ts';
import { createProgress } from './progress.ts';
import { withRetries } from './retry.ts';
import { windowText } from './slice.ts';
import { printable } from './table.ts';

export type Version = RouteAnswer<'GET /enrichment/dataset-versions/:id'>;

/** Finds a version by its id, or else by its name among those of a tenant. Throws `version_not_found`. */
export async function findVersion(
  { io }: Context,
  client: Client,
  { word, tenant }: { word: string; tenant: string | undefined },
): Promise<Version> {
  if (tenant === undefined) {
    return client.json('GET /enrichment/dataset-versions/:id', { params: { id: word } });
  }
  let named: Version | undefined;
  const names: string[] = [];
  const route = 'GET /enrichment/dataset-versions';
  for await (const version of walkRows(io, client, { route, query: { tenant } })) {
    if (version.id === word) return version;
    if (version.name === word) named = version;
    names.push(version.name);
  }
  if (named !== undefined) return named;
  const known =
    names.length === 0 ? 'It has none.' : `It has: ${names.slice(0, mostNames).join(', ')}.`;
  throw new AppError('version_not_found', {
    detail: `${tenant} has no dataset version "${word}". ${known}`,
  });
}

const mostNames = 10;

/** How many rows an export of the version should have; null when that is not known. */
export function versionRows(version: Version, split: SplitName | undefined): number | null {
  if (split === undefined) return (version.current ?? version).count;
  return version.current === null ? (version.splits?.[split].count ?? null) : null;
}

/**
 * Waits until the service has read and compared the records of the version. Throws `version_changed` when they differ,
 * and `dataset_empty` when none fit.
 */
export async function followCounting(
  context: Context,
  client: Client,
  made: Version,
): Promise<Version> {
  const version = await followJob(context, client, {
    route: 'GET /enrichment/dataset-versions/:id',
    started: made,
    label: made.name,
    far: () => ({ done: 0, total: 0 }),
    describe: () =>
      made.count === null
        ? 'the records that fit are counted'
        : `${numberOf(made.count, 'record')} are read and compared`,
    pace: () => '',
    isUnderWay: ({ state }) => state === 'counting',
    role: 'exports',
    goesOn: `The version is counted without this command. Look: svcctl records versions show ${made.id}`,
  });
  if (version.state !== 'failed') return version;
  const isEmpty = (version.count ?? 0) === 0;
  const what = isEmpty ? 'is empty' : 'does not hold what was frozen';
  throw new AppError(isEmpty ? 'dataset_empty' : 'version_changed', {
    detail: `${version.id} ${what}: ${version.error ?? 'it does not say how'}\nLook: svcctl records versions show ${version.id}`,
  });
}

/** The state in words: "ready", "ready, some erased", "counting". */
function versionStateText({ state, change }: Version): string {
  return change === null ? state : `${state}, some ${change}`;
}

/** The shares of the splits, such as `80/10/10`; null without splits. */
function sharesText(shares: Version['shares']): string | null {
  return shares === null ? null : `${shares.train}/${shares.validation}/${shares.test}`;
}

const { word, text, count, bytes, ago } = columnsOf<Version>();

export const versionColumns = [
  word('ID', 'id'),
  text('TENANT', 'tenant'),
  word('DATASET', 'dataset'),
  text('NAME', 'name'),
  count('RECORDS', (version) => (version.current ?? version).count),
  bytes('BYTES', (version) => (version.current ?? version).bytes),
  word('SPLIT', (version) => sharesText(version.shares)),
  word('STATE', 'state', { shown: versionStateText }),
  ago('FROZEN', 'created_at'),
];

/** `512,991 records (246 MB)`, or that nobody knows yet. */
export function amountText({ count, bytes }: Pick<Version, 'count' | 'bytes'>): string {
  return count === null || bytes === null
    ? 'not counted yet'
    : `${numberOf(count, 'record')} (${formatBytes(bytes)})`;
}

/** All details of a version, as lines for a terminal. */
export function versionLines(context: Context, version: Version): string[] {
  const times = timesOf(context);
  const { current, splits } = version;
  const left: Facts =
    current === null
      ? []
      : [
          ['changed', moment(version.changed_at, times)],
          ['left of it', amountText(current)],
          ['digest of that', current.digest],
        ];
  const ofSplits = Object.entries(splits ?? {}).map(
    ([name, { count, digest }]) =>
      [name, `${numberOf(count, 'record')} · digest ${digest}`] as const,
  );
  return [
    ...factLines(context, [
      ['id', version.id],
      ['tenant', version.tenant],
      ['dataset', version.dataset],
      ['name', version.name],
      ['note', version.note],
      ['state', versionStateText(version)],
      ...whereAny('error', version.error),
      ['frozen', `${moment(version.created_at, times)} by ${version.created_by}`],
      ['records', amountText(version)],
      ['digest', version.digest],
      ...left,
      ['split', sharesText(version.shares)],
      ...whereAny('group by', version.group_by),
      ...whereAny('where', version.where),
      ...version.warnings.map((warning) => ['warning', warning] as const),
    ]),
    ...(splits === null ? [] : section(context, 'SPLITS', factLines(context, ofSplits))),
    ...section(context, 'SLICES', version.slices.map(sliceText)),
  ];
}

function sliceText(slice: Version['slices'][number]): string {
  const store = slice.store === null ? 'all stores' : `store ${slice.store}`;
  const note = slice.note === null ? '' : ` · ${slice.note}`;
  return `${store} · ${windowText(slice)} · ${slice.tag_id}${note}`;
}

/** What two versions differ by, as the pages of the service tell it together. */
type Diff = RouteAnswer<'GET /enrichment/dataset-versions/:id/diff'>;
type Difference = Diff['added'];
type Pair = { readonly from: Version; readonly to: Version };

/** Walks through all pages of a comparison, and adds them up. The first `limit` records of each kind are kept. */
export async function walkDiff(
  { io }: Context,
  client: Client,
  { from, to, limit }: Pair & { limit: number },
): Promise<Diff> {
  const read = (cursor?: string) =>
    client.json('GET /enrichment/dataset-versions/:id/diff', {
      params: { id: from.id },
      query: { to: to.id, limit, ...(cursor !== undefined && { cursor }) },
    });
  let all = await read();
  const progress = createProgress(io, {
    label: `${from.name} … ${to.name}`,
    total: all.stretches_total,
    speed: () => '',
    describe: (done) => `${done} of ${numberOf(all.stretches_total, 'stretch', 'stretches')}`,
  });
  try {
    while (all.next_cursor !== null) {
      progress.update(all.stretches_done, 0);
      const cursor = all.next_cursor;
      const page = await withRetries(io, () => read(cursor));
      all = addDiffs(all, page, limit);
    }
  } finally {
    progress.clear();
  }
  return all;
}

/** How two versions differ, as lines for a terminal. */
export function diffLines(context: Context, { from, to }: Pair, found: Diff): string[] {
  const { added, gone, moved } = found;
  const rowsOfTo = to.state === 'ready' ? versionRows(to, undefined) : null;
  const named = (title: string, { count, records }: Difference) => {
    if (count === 0) return [];
    const some = count > records.length ? `, THE FIRST ${records.length}` : '';
    const texts = records.map(({ store, occurred_at, event_id }) =>
      printable(`${store}  ${occurred_at}  ${event_id}`),
    );
    return section(context, `${title}${some}`, texts);
  };
  return [
    ...factLines(context, [
      ['from', `${from.name} (${from.id}), ${amountText(from.current ?? from)}`],
      ['to', `${to.name} (${to.id}), ${amountText(to.current ?? to)}`],
      ['added', numberOf(added.count, 'record')],
      ['gone', numberOf(gone.count, 'record')],
      ...whereAny('in both', rowsOfTo === null ? null : numberOf(rowsOfTo - added.count, 'record')),
      ...whereAny('in another split', moved && numberOf(moved.count, 'record')),
    ]),
    ...named('ADDED', added),
    ...named('GONE', gone),
    ...(moved === null ? [] : named('IN ANOTHER SPLIT', moved)),
  ];
}
