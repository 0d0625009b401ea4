import type { Database, Queryable } from '../../../platform/postgres/database.ts';
import type { ColdReader } from '../../segments/cold-reader.ts';
import { emptyTriple, sumTriples, type Triple } from '../../segments/triple.ts';
import type { KeyRange, Slice } from '../../slice.ts';
import { readTwice, withSegments } from '../../tiers/open-segments.ts';
import { maxSegments } from '../../tiers/plan-scan.ts';
import type { Segment } from '../../tiers/queries.ts';
import { sumTiers } from '../../tiers/steps/queries.ts';
import { splitNames } from '../../versions.contract.ts';
import { sumContentSql } from './count-sql.ts';
import { type Counted, listSegmentsWith, type SplitSum, sumHotContent } from './queries.ts';

export type ContentTools = { readonly db: Database; readonly cold: ColdReader };

const coldMillis = 600_000;

/**
 * Reads all records of a version in both tiers and answers what they are, computed from content. Throws
 * 500 `segment_damaged`, 503 `cold_tier_unavailable`.
 */
export async function readContent(
  { db, cold }: ContentTools,
  { slice, parts }: { slice: Slice; parts: readonly KeyRange[] },
  signal: AbortSignal,
): Promise<Counted> {
  return readTwice(async () => {
    // One snapshot: what moves in between would be counted twice or not at all.
    const { hot, segments } = await db.transaction(
      async (connection) => ({
        hot: await sumHot(connection, { slice, parts }, signal),
        segments: await listSegmentsWith(connection, slice),
      }),
      { isolation: 'repeatable read' },
    );
    const sums = [...hot, ...(await sumCold(cold, { slice, segments }, signal))];
    return { triple: sumTriples(sums), splits: slice.shares === undefined ? null : bySplit(sums) };
  });
}

/** Part by part, so that no statement takes long. */
async function sumHot(
  db: Queryable,
  { slice, parts }: { slice: Slice; parts: readonly KeyRange[] },
  signal: AbortSignal,
): Promise<SplitSum[]> {
  const sums: SplitSum[] = [];
  for (const range of parts) {
    signal.throwIfAborted();
    const ranged = { ...slice, range };
    const { count, cold_count } = await sumTiers(db, ranged);
    if (count > cold_count) sums.push(...(await sumHotContent(db, ranged)));
  }
  return sums;
}

/** Each segment once, a few at a time. */
async function sumCold(
  cold: ColdReader,
  { slice, segments }: { slice: Slice; segments: readonly Segment[] },
  signal: AbortSignal,
): Promise<SplitSum[]> {
  const sums: SplitSum[] = [];
  for (let at = 0; at < segments.length; at += maxSegments) {
    signal.throwIfAborted();
    const some = segments.slice(at, at + maxSegments);
    const rows = await withSegments(cold, some, (paths) =>
      cold.duckdb.run<Record<keyof SplitSum, string>>(sumContentSql(paths, slice), {
        signal,
        timeoutMillis: coldMillis,
      }),
    );
    for (const { split, count, bytes, digest } of rows) {
      sums.push({ split, count: Number(count), bytes: Number(bytes), digest });
    }
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
