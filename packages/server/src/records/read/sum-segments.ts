import type { Database, Queryable } from '../../platform/postgres/database.ts';
import { sumLeafDays, sumRecords } from '../queries.ts';
import { type ColdReader, emptyTriple, sumTriples, type Triple } from '../segments/segment.ts';
import { isCounted, type Slice } from '../slice/slice.ts';
import { withTags } from '../tags/read-windows.ts';
import { readTwice, withSegments } from './open-segments.ts';
import { maxSegments } from './plan-scan.ts';
import { listSegmentsOf, type Segment } from './queries.ts';
import { countSql, sumSql } from './scan-sql.ts';

const pageSize = 500;

/** Returns all segments that may hold records of a slice. There are a few thousand at most. */
export async function listSliceSegments(db: Queryable, slice: Slice): Promise<Segment[]> {
  const segments: Segment[] = [];
  for (;;) {
    const last = segments.at(-1);
    const after = last === undefined ? null : ([last.tenant, last.segment_id] as const);
    const page = await listSegmentsOf(db, slice, { after, limit: pageSize });
    segments.push(...page);
    if (page.length < pageSize) return segments;
  }
}

/** Returns the count, bytes and digest of a slice's records in segments. A few objects are open at a time. */
async function sumSegments(
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

/** Only the count and the bytes, for which the narrow columns are enough. */
async function countSegments(
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

/** Divides segments into groups that may be open at the same time. */
export function groupSegments<S>(segments: readonly S[]): S[][] {
  return Array.from({ length: Math.ceil(segments.length / maxSegments) }, (_, n) =>
    segments.slice(n * maxSegments, (n + 1) * maxSegments),
  );
}

type Measure = { count: number; bytes: number };

/**
 * Returns the number of a slice's records, their bytes and their digest (decimal text, mod 2^64). They come from the
 * counters where these can tell, and otherwise from reading both tiers. A dataset means its tags as they are now,
 * unless the slice brings its tags along. If `db` is a connection, its transaction must hold one snapshot. Throws 500
 * `segment_damaged`.
 */
export function measureSlice(
  db: Database | Queryable,
  slice: Slice,
  cold?: ColdReader,
): Promise<Triple> {
  return measure(db, slice, async (hot, segments, tagged) => {
    if (segments.length === 0) return hot;
    return sumTriples([hot, await sumSegments(needed(cold), segments, tagged)]);
  });
}

/**
 * Returns the count and the bytes without the digest. It takes at most a tenth of the time, because for the digest cold
 * records are read whole.
 */
export function countSlice(
  db: Database | Queryable,
  slice: Slice,
  cold?: ColdReader,
): Promise<Measure> {
  return measure(db, slice, async (hot, segments, tagged) => {
    if (segments.length === 0) return { count: hot.count, bytes: hot.bytes };
    const sum = await countSegments(needed(cold), segments, tagged);
    return { count: hot.count + sum.count, bytes: hot.bytes + sum.bytes };
  });
}

type Segments = Awaited<ReturnType<typeof listSliceSegments>>;

async function measure<M extends Measure>(
  db: Database | Queryable,
  slice: Slice,
  sum: (hot: Triple, segments: Segments, tagged: Slice) => Promise<M>,
): Promise<M> {
  if (isCounted(slice)) {
    const triple = await inSnapshot(db, slice, sumLeafDays);
    return sum(triple, [], slice);
  }
  return readTwice(async () => {
    // Both tiers are read in one snapshot: a record that moves in between would otherwise be counted twice or not at
    // all.
    const { hot, segments, tagged } = await inSnapshot(db, slice, async (connection, tagged) => ({
      hot: await sumRecords(connection, tagged),
      segments: await listSliceSegments(connection, tagged),
      tagged,
    }));
    return sum(hot, segments, tagged);
  });
}

function inSnapshot<T>(
  db: Database | Queryable,
  slice: Slice,
  work: (db: Queryable, tagged: Slice) => Promise<T>,
): Promise<T> {
  const run = async (connection: Queryable) => work(connection, await withTags(connection, slice));
  const isOneStatement = isCounted(slice) && (slice.dataset === undefined || slice.tags);
  if (!('transaction' in db) || isOneStatement) return run(db);
  return db.transaction(run, { isolation: 'repeatable read' });
}

function needed(cold: ColdReader | undefined): ColdReader {
  if (cold === undefined) throw new Error('the slice has cold records and nothing to read them');
  return cold;
}
