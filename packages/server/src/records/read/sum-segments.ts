import type { Database, Queryable } from '../../platform/postgres/database.ts';
import { sumLeafDays, sumRecords } from '../queries.ts';
import { type ColdReader, sumTriples, type Triple } from '../segments/segment.ts';
import { isCounted, type Slice } from '../slice/slice.ts';
import { withTags } from '../tags/windows.ts';
import { queryInGroups, readTwice } from './open-segments.ts';
import { listSegmentsOf, type WholeSegment } from './queries.ts';
import { sumSql } from './scan-sql.ts';

const pageSize = 500;

/** Returns all segments that may hold records of a slice. There are a few thousand at most. */
export async function listSliceSegments(db: Queryable, slice: Slice): Promise<WholeSegment[]> {
  const segments: WholeSegment[] = [];
  for (;;) {
    const last = segments.at(-1);
    const after = last === undefined ? null : ([last.tenant, last.segment_id] as const);
    const page = await listSegmentsOf(db, slice, { after, limit: pageSize });
    segments.push(...page);
    if (page.length < pageSize) return segments;
  }
}

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
  return measure(db, slice, { cold, hasDigest: true });
}

/**
 * Returns the count and the bytes without the digest. It takes at most a tenth of the time, because for the digest cold
 * records are read whole.
 */
export async function countSlice(
  db: Database | Queryable,
  slice: Slice,
  cold?: ColdReader,
): Promise<Pick<Triple, 'count' | 'bytes'>> {
  const { count, bytes } = await measure(db, slice, { cold, hasDigest: false });
  return { count, bytes };
}

/** The digest is wrong unless it is asked for. */
async function measure(
  db: Database | Queryable,
  slice: Slice,
  { cold, hasDigest }: { cold: ColdReader | undefined; hasDigest: boolean },
): Promise<Triple> {
  if (isCounted(slice)) return inSnapshot(db, slice, sumLeafDays);
  return readTwice(async () => {
    // Both tiers are read in one snapshot: a record that moves in between would otherwise be counted twice or not at
    // all.
    const { hot, segments, tagged } = await inSnapshot(db, slice, async (connection, tagged) => ({
      hot: await sumRecords(connection, tagged),
      segments: await listSliceSegments(connection, tagged),
      tagged,
    }));
    if (segments.length === 0) return hot;
    if (cold === undefined) throw new Error('the slice has cold records and nothing to read them');
    const parts = segments.map((segment) => ({ segment }));
    const rows = await queryInGroups<SegmentSum, (typeof parts)[number]>(cold, parts, (paths) =>
      sumSql(paths, tagged, { hasDigest }),
    );
    const sums = rows.map(({ count, bytes, digest }) => ({
      ...{ count: Number(count), bytes: Number(bytes), digest },
    }));
    return sumTriples([hot, ...sums]);
  });
}

type SegmentSum = { count: string; bytes: string; digest: string };

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
