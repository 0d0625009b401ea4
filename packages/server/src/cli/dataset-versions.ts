import { AppError } from '../kernel/errors.ts';
import type { SplitName } from '../records/values.ts';
import type { Client, RouteAnswer } from './client.ts';
import type { Context } from './context.ts';
import { followJob } from './follow-job.ts';
import {
  formatBytes,
  formatCount,
  formatInstant,
  formatNumberOf,
  formatRelative,
} from './format.ts';
import { walkPages } from './pages.ts';
import { createProgress } from './progress.ts';
import { windowText } from './slice.ts';
import type { Column } from './table.ts';
import { heading, nameValueLines } from './webhooks/details.ts';

export type Version = RouteAnswer<'GET /enrichment/dataset-versions/:id'>;

export const versionFields = [
  'id',
  'tenant',
  'dataset',
  'name',
  'note',
  'shares',
  'count',
  'bytes',
  'digest',
  'recorded_before',
  'slices',
  'state',
  'splits',
  'current',
  'change',
  'changed_at',
  'error',
  'created_at',
  'created_by',
] as const satisfies readonly (keyof Version)[];

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
  for await (const page of walkPages(io, client, {
    route: 'GET /enrichment/dataset-versions',
    query: { tenant },
  })) {
    for (const row of page.rows) {
      const version = JSON.parse(row) as Version;
      if (version.id === word) return version;
      if (version.name === word) named = version;
      names.push(version.name);
    }
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
 * Waits until the service has read and compared the records of the version. Throws `version_changed` when they differ.
 */
export async function followCounting(
  context: Context,
  client: Client,
  made: Version,
): Promise<Version> {
  const version = await followJob(context, made, {
    isUnderWay: ({ state }) => state === 'counting',
    progress: createProgress(context.io, {
      label: made.name,
      total: 0,
      describe: () => `${formatNumberOf(made.count, 'record')} are read and compared`,
      pace: () => '',
    }),
    role: 'exports',
    read: () => client.json('GET /enrichment/dataset-versions/:id', { params: { id: made.id } }),
    show: (_version, progress) => progress.update(0, 0),
    goesOn: `The version is counted without this command. Look: svcctl records versions show ${made.id}`,
  });
  if (version.state !== 'failed') return version;
  throw new AppError('version_changed', {
    detail: `${version.id} does not hold what was frozen: ${version.error ?? 'it does not say how'}\nLook: svcctl records versions show ${version.id}`,
  });
}

/** The state in words: "ready", "ready, some erased", "counting". */
export function versionStateText({ state, change }: Version): string {
  return change === null ? state : `${state}, some ${change}`;
}

/** The shares of the splits, such as `80/10/10`; null without splits. */
export function sharesText(shares: Version['shares']): string | null {
  return shares === null ? null : `${shares.train}/${shares.validation}/${shares.test}`;
}

export function versionColumns(nowMillis: number): Column<Version>[] {
  return [
    { title: 'ID', value: (version) => version.id },
    { title: 'TENANT', isElastic: true, value: (version) => version.tenant },
    { title: 'DATASET', value: (version) => version.dataset },
    { title: 'NAME', isElastic: true, value: (version) => version.name },
    {
      title: 'RECORDS',
      align: 'right',
      value: (version) => (version.current ?? version).count,
      shown: (version) => formatCount((version.current ?? version).count),
    },
    {
      title: 'BYTES',
      align: 'right',
      value: (version) => (version.current ?? version).bytes,
      shown: (version) => formatBytes((version.current ?? version).bytes),
    },
    { title: 'SPLIT', value: (version) => sharesText(version.shares) },
    { title: 'STATE', value: (version) => version.state, shown: versionStateText },
    {
      title: 'FROZEN',
      value: (version) => version.created_at,
      shown: (version) => formatRelative(version.created_at, nowMillis),
    },
  ];
}

/** All details of a version, as lines for a terminal. */
export function versionLines(context: Context, version: Version): string[] {
  const now = context.io.now();
  const at = (time: string | null) =>
    time === null ? null : `${formatInstant(time)} UTC, ${formatRelative(time, now)}`;
  const { current, splits } = version;
  const amount = ({ count, bytes }: { count: number; bytes: number }) =>
    `${formatNumberOf(count, 'record')} (${formatBytes(bytes)})`;
  return [
    ...nameValueLines(context, [
      ['id', version.id],
      ['tenant', version.tenant],
      ['dataset', version.dataset],
      ['name', version.name],
      ['note', version.note],
      ['state', versionStateText(version)],
      ...(version.error === null ? [] : [['error', version.error] as const]),
      ['frozen', `${at(version.created_at)} by ${version.created_by}`],
      ['records', amount(version)],
      ['digest', version.digest],
      ...(current === null
        ? []
        : [
            ['changed', at(version.changed_at)] as const,
            ['left of it', amount(current)] as const,
            ['digest of that', current.digest] as const,
          ]),
      ['split', sharesText(version.shares)],
    ]),
    ...(splits === null
      ? []
      : [
          '',
          heading(context, 'SPLITS'),
          ...nameValueLines(
            context,
            Object.entries(splits).map(([name, { count, digest }]) => [
              name,
              `${formatNumberOf(count, 'record')} · digest ${digest}`,
            ]),
          ),
        ]),
    '',
    heading(context, 'SLICES'),
    ...version.slices.map(
      (slice) =>
        `${slice.store === null ? 'all stores' : `store ${slice.store}`} · ${windowText(slice)} · ${slice.tag_id}${slice.note === null ? '' : ` · ${slice.note}`}`,
    ),
  ];
}
