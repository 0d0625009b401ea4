import type { Queryable } from '../../platform/postgres/database.ts';
import type { ColdReader } from '../segments/cold-reader.ts';
import type { Slice } from '../slice.ts';
import { withSegments } from './open-segments.ts';
import { maxSegments } from './plan-scan.ts';
import { listSegmentsOf, type Segment } from './queries.ts';
import { sumSql } from './scan-sql.ts';

const pageSize = 500;

/** All segments that may hold records of a slice; some thousands at most. */
export async function listSegments(db: Queryable, slice: Slice): Promise<Segment[]> {
  // No slice is tagged until there are tags.
  if (slice.dataset !== undefined) return [];
  const segments: Segment[] = [];
  for (;;) {
    const last = segments.at(-1);
    const after = last === undefined ? null : ([last.tenant, last.segment_id] as const);
    const page = await listSegmentsOf(db, slice, { after, limit: pageSize });
    segments.push(...page);
    if (page.length < pageSize) return segments;
  }
}

/** Counts and sums the records of a slice in segments, a few objects at a time. */
export async function sumSegments(
  cold: ColdReader,
  segments: readonly Segment[],
  slice: Slice,
): Promise<{ count: number; bytes: number }> {
  const sum = { count: 0, bytes: 0 };
  for (let at = 0; at < segments.length; at += maxSegments) {
    const part = segments.slice(at, at + maxSegments);
    const [row] = await withSegments(cold, part, (paths) =>
      cold.duckdb.run<{ count: string; bytes: string }>(sumSql(paths, slice)),
    );
    sum.count += Number(row?.count ?? 0);
    sum.bytes += Number(row?.bytes ?? 0);
  }
  return sum;
}
