import type { Clock } from '../../kernel/clock.ts';
import { AppError, isDatabaseAway } from '../../kernel/errors.ts';
import type { Log } from '../../platform/log.ts';
import { mayPass } from '../../platform/objects/s3-errors.ts';
import type { Database, Queryable } from '../../platform/postgres/database.ts';
import type { Pace, Rest } from '../../platform/work/pace.ts';
import { type Repeated, repeat } from '../../platform/work/repeat.ts';
import { withSessionLock } from '../../platform/work/session-lock.ts';
import { sumLeafDays } from '../queries.ts';
import { readBothTiers } from '../read/sum-segments.ts';
import {
  type ColdReader,
  emptyTriple,
  isSameTriple,
  sumTriples,
  type Triple,
} from '../segments/segment.ts';
import { digestSql, digestSumOf, readSegments } from '../segments/segment-sql.ts';
import { coldConditions, coldOwnGroupSql, coldSplitSql } from '../slice/cold-sql.ts';
import { isSplit, type KeyRange, type Slice } from '../slice/slice.ts';
import { splitNames } from '../values.ts';
import * as queries from './queries.ts';
import { type Counted, type SplitSum, sumHotContent } from './queries.ts';
import { readVersionSlice } from './version.ts';

type CountingOptions = ContentTools & { readonly clock: Clock; readonly log: Log };

/** Versions to count are also looked for: other processes freeze some, and a killed one leaves some uncounted. */
const lookMillis = 2000;
/** A version that could not be read is tried again after this time. */
const pauseMillis = 60_000;

/** Counts the versions that wait for it, one at a time over all processes. */
export function startCounting(options: CountingOptions): Repeated {
  const { log, clock } = options;
  const pausedUntil = new Map<string, number>();
  return repeat(
    async (signal) => {
      for (const [id, until] of pausedUntil) if (until <= clock()) pausedUntil.delete(id);
      const failed = await countVersions(options, { except: [...pausedUntil.keys()], signal });
      for (const id of failed) pausedUntil.set(id, clock() + pauseMillis);
    },
    {
      everyMillis: lookMillis,
      onError: (err) => log.warn({ err }, 'the counting of a dataset version starts anew'),
    },
  );
}

/** Counts all versions that wait but these, unless another process does. Returns the ids of the unreadable ones. */
export async function countVersions(
  options: Omit<CountingOptions, 'clock'>,
  { except = [], signal }: { except?: readonly string[]; signal: AbortSignal },
): Promise<string[]> {
  const { db, log } = options;
  if ((await queries.findCounting(db, except)) === undefined) return [];
  const failed: string[] = [];
  const lost = 'The lock on the counting of versions was lost with its connection.';
  const work = async (ending: AbortSignal) => {
    for (;;) {
      ending.throwIfAborted();
      const version = await queries.findCounting(db, [...except, ...failed]);
      if (version === undefined) return;
      try {
        await countVersion(options, version, ending);
      } catch (error) {
        if (ending.aborted || isDatabaseAway(error)) throw error;
        // The version was deleted while it was read.
        if (error instanceof AppError && error.code === 'version_not_found') continue;
        const about = { tenant: version.tenant, version: version.id };
        // A store that is away for a moment is nobody's mistake.
        const level = mayPass(error) ? 'warn' : 'error';
        log[level]({ err: error, ...about }, 'a dataset version could not be counted');
        await queries.setTrouble(db, version, reasonOf(error));
        failed.push(version.id);
      }
    }
  };
  await withSessionLock(db, { name: 'versionCounts' }, { signal, lost, work });
  return failed;
}

/** Reads a version and compares it with what was frozen. After an erasure or a deletion less may be left. */
async function countVersion(
  options: Omit<CountingOptions, 'clock'>,
  version: queries.CountingVersion,
  signal: AbortSignal,
): Promise<void> {
  const { db, log } = options;
  const { tenant, id } = version;
  const { slice, parts } = await readVersionSlice(db, { tenant, id, tenants: null });
  const counted = await readContent(options, { slice, parts }, signal);
  signal.throwIfAborted();
  const difference = differenceOf(version, counted.triple);
  // If records of the version went meanwhile, it waits to be counted again, and this count is not kept.
  if (!(await queries.setCounted(db, version, counted, difference))) return;
  if (difference === null) log.debug({ tenant, version: id }, 'a dataset version is counted');
  else if (!version.is_counted)
    log.info({ tenant, version: id, difference }, 'a dataset version is empty');
  else log.error({ tenant, version: id, difference }, 'a dataset version is not what was frozen');
}

/** Says what is wrong; null when all is there, or less and some is known to have gone, or at the first count. */
function differenceOf(version: queries.CountingVersion, found: Triple): string | null {
  if (!version.is_counted) {
    return found.count > 0
      ? null
      : 'No record of the tagged days fits the where, so it holds nothing.';
  }
  if (isSameTriple(version, found)) return null;
  if (version.change !== null && found.count < version.count) return null;
  return `${tell(version)} were frozen, ${tell(found)} are read. svcctl retention verify tells where data differs from its counters; freeze a new version once that is mended.`;
}

function tell({ count, bytes, digest }: Triple): string {
  return `${count} records (${bytes} bytes, digest ${BigInt(digest).toString(16).padStart(16, '0')})`;
}

function reasonOf(error: unknown): string {
  return error instanceof AppError
    ? `Not counted yet. ${error.detail}`
    : 'Not counted yet: the service made a mistake, its log tells which. It is tried again in a minute.';
}

type ContentTools = { readonly db: Database; readonly cold: ColdReader; readonly pace: Pace };

const coldMillis = 600_000;

/** Sums a version in both tiers, from content. Throws 500 `segment_damaged`, 503 `cold_tier_unavailable`. */
export async function readContent(
  { db, cold, pace }: ContentTools,
  { slice, parts: ranges }: { slice: Slice; parts: readonly KeyRange[] },
  signal: AbortSignal,
): Promise<Counted> {
  const rest = pace.begin();
  const { hot, found } = await readBothTiers<SplitSum[], Record<keyof SplitSum, string>>(
    { db, cold },
    slice,
    {
      readHot: (connection) => sumHot(connection, { slice, parts: ranges, rest }, signal),
      coldSql: (paths) => sumContentSql(paths, slice),
      isLong: true,
      signal,
      timeoutMillis: coldMillis,
      rest: () => rest(signal),
    },
  );
  const sums = [
    ...hot,
    ...found.map(({ split, digest, ...sum }) => ({
      split,
      digest,
      count: Number(sum.count),
      bytes: Number(sum.bytes),
      ungrouped: Number(sum.ungrouped),
    })),
  ];
  const { shares, groupBy } = slice;
  return {
    triple: sumTriples(sums),
    splits: shares === undefined ? null : bySplit(sums),
    ungrouped:
      groupBy === undefined ? null : sums.reduce((all, { ungrouped }) => all + ungrouped, 0),
  };
}

/** Sums the hot records part by part, so that no statement takes long. */
async function sumHot(
  db: Queryable,
  { slice, parts, rest }: { slice: Slice; parts: readonly KeyRange[]; rest: Rest },
  signal: AbortSignal,
): Promise<SplitSum[]> {
  const sums: SplitSum[] = [];
  for (const range of parts) {
    signal.throwIfAborted();
    const ranged = { ...slice, range };
    const { count, cold_count } = await sumLeafDays(db, ranged);
    if (count > cold_count) sums.push(...(await sumHotContent(db, ranged)));
    await rest(signal);
  }
  return sums;
}

function bySplit(sums: readonly SplitSum[]): NonNullable<Counted['splits']> {
  const splits = new Map<string, Triple>(splitNames.map((name) => [name, emptyTriple]));
  for (const sum of sums) {
    splits.set(sum.split, sumTriples([splits.get(sum.split) ?? emptyTriple, sum]));
  }
  return Object.fromEntries(
    [...splits].map(([name, { count, digest }]) => [name, { count, digest }]),
  );
}

/** Sums a slice in segments by split, computed from content. Without shares the split is the empty text. */
function sumContentSql(paths: readonly string[], slice: Slice): string {
  const split = isSplit(slice) ? coldSplitSql(slice) : `''`;
  const conditions = coldConditions({ ...slice, split: undefined });
  return `
    select split, count(*)::varchar as count, (count(*) filter (is_own))::varchar as ungrouped,
      sum(bytes)::varchar as bytes, ${digestSumOf('digest')} as digest
    from (
      select ${split} as split, ${coldOwnGroupSql(slice)} is null as is_own, bytes, ${digestSql} as digest
      from ${readSegments(paths)} where ${conditions.join(' and ')}
    ) group by split`;
}
