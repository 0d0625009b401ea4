import type { Queryable } from '../../platform/postgres/database.ts';
import type { ColdReader } from '../segments/cold-reader.ts';
import { emptyTriple, sumTriples, type Triple } from '../segments/triple.ts';
import type { Slice } from '../slice.ts';
import { withSegments } from './open-segments.ts';
import { maxSegments } from './plan-scan.ts';
import { listSegmentsOf, type Segment } from './queries.ts';
import { countSql, sumSql } from './scan-sql.ts';

const pageSize = 500;

/** All segments that may hold records of a slice; some thousands at most. */
export async function listSegments(db: Queryable, slice: Slice): Promise<Segment[]> {
  const segments: Segment[] = [];
  for (;;) {
    const last = segments.at(-1);
    const after = last === undefined ? null : ([last.tenant, last.segment_id] as const);
    const page = await listSegmentsOf(db, slice, { after, limit: pageSize });
    segments.push(...page);
    if (page.length < pageSize) return segments;
  }
}

/** Count, bytes and digest of a slice's records in segments, a few objects at a time. */
export async function sumSegments(
  cold: ColdReader,
  segments: readonly Segment[],
  slice: Slice,
): Promise<Triple> {
  let sum: Triple = emptyTriple;
  for (const group of groupSegments(segments)) {
    const [row] = await withSegments(cold, group, (paths) =>
      cold.duckdb.run<{ count: string; bytes: string; digest: string }>(sumSql(paths, slice)),
    );
    const { count = '0', bytes = '0', digest = '0' } = row ?? {};
    sum = sumTriples([sum, { count: Number(count), bytes: Number(bytes), digest }]);
  }
  return sum;
}

/** The same without the digest, by the narrow columns alone. */
export async function countSegments(
  cold: ColdReader,
  segments: readonly Segment[],
  slice: Slice,
): Promise<{ count: number; bytes: number }> {
  const sum = { count: 0, bytes: 0 };
  for (const group of groupSegments(segments)) {
    const [row] = await withSegments(cold, group, (paths) =>
      cold.duckdb.run<{ count: string; bytes: string }>(countSql(paths, slice)),
    );
    sum.count += Number(row?.count ?? 0);
    sum.bytes += Number(row?.bytes ?? 0);
  }
  return sum;
}

/** As many at once as are opened at once. */
export function groupSegments<S>(segments: readonly S[]): S[][] {
  return Array.from({ length: Math.ceil(segments.length / maxSegments) }, (_, n) =>
    segments.slice(n * maxSegments, (n + 1) * maxSegments),
  );
}
