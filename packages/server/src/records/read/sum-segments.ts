import {
  type Connection,
  cancelling,
  type Database,
  type Queryable,
  withLongAnswers,
} from '../../platform/postgres/database.ts';
import { sumRecords, sumTriple } from '../queries.ts';
import { allowLongStatements } from '../segments/queries.ts';
import { type ColdReader, sumTriples, type Triple } from '../segments/segment.ts';
import { isCounted, type Slice } from '../slice/slice.ts';
import { withTags } from '../tags/windows.ts';
import { type GroupOptions, queryInGroups, readTwice } from './open-segments.ts';
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
 * Returns a slice's records, bytes and digest (decimal text, mod 2^64): from counters where these tell, else from both
 * tiers, by its tags, or those of now. A connection must hold a snapshot. Throws 500 `segment_damaged`.
 */
export function measureSlice(
  db: Database | Queryable,
  slice: Slice,
  cold?: ColdReader,
): Promise<Triple> {
  return measure(db, slice, { cold, hasDigest: true, isLong: true });
}

/**
 * Returns count and bytes alone, in a tenth of the time: for the digest cold records are read whole. With a signal it may
 * take long, until that aborts.
 */
export async function countSlice(
  db: Database | Queryable,
  slice: Slice,
  cold?: ColdReader,
  signal?: AbortSignal,
): Promise<Pick<Triple, 'count' | 'bytes'>> {
  const how = { cold, hasDigest: false, isLong: signal !== undefined };
  const { count, bytes } = await measure(db, slice, { ...how, ...(signal && { signal }) });
  return { count, bytes };
}

/** The digest is wrong unless it is asked for. */
async function measure(
  db: Database | Queryable,
  slice: Slice,
  { cold, hasDigest, ...how }: { cold: ColdReader | undefined; hasDigest: boolean } & Long,
): Promise<Triple> {
  if (isCounted(slice)) {
    const isOneStatement = slice.dataset === undefined || slice.tags !== undefined;
    return isOneStatement ? sumTriple(db, slice) : inSnapshot(db, slice, sumTriple);
  }
  const { hot, found } = await readBothTiers<Triple, Record<keyof Triple, string>>(
    { db, cold },
    slice,
    {
      ...how,
      readHot: sumRecords,
      coldSql: (paths, tagged) => sumSql(paths, tagged, { hasDigest }),
    },
  );
  const sums = found.map(({ count, bytes, digest }) => ({
    count: Number(count),
    bytes: Number(bytes),
    digest,
  }));
  return sumTriples([hot, ...sums]);
}

/**
 * Reads a slice in both tiers: `readHot` in a snapshot, and then DuckDB's statement on the segments which that snapshot
 * names, a few of them at a time. A record that moves in between would otherwise be read twice or not at all. Throws 500
 * `segment_damaged`.
 */
export function readBothTiers<Hot, Row extends Record<string, unknown>>(
  { db, cold }: { db: Database | Queryable; cold: ColdReader | undefined },
  slice: Slice,
  options: Omit<GroupOptions, keyof Long> &
    Long & {
      readonly readHot: (snapshot: Queryable, tagged: Slice) => Promise<Hot>;
      readonly coldSql: (paths: readonly string[], tagged: Slice) => string;
    },
): Promise<{ hot: Hot; found: Row[] }> {
  const { readHot, coldSql, isLong, ...others } = options;
  const how = { ...(isLong && { isLong }), ...(others.signal && { signal: others.signal }) };
  return readTwice(async () => {
    const read = async (snapshot: Queryable, tagged: Slice) => ({
      hot: await readHot(snapshot, tagged),
      segments: await listSliceSegments(snapshot, tagged),
      tagged,
    });
    const { hot, segments, tagged } = await inSnapshot(db, slice, read, how);
    if (segments.length === 0) return { hot, found: [] };
    if (cold === undefined) throw new Error('the slice has cold records and nothing to read them');
    const statementOf = (paths: readonly string[]) => coldSql(paths, tagged);
    return { hot, found: await queryInGroups<Row>(cold, segments, statementOf, others) };
  });
}

/**
 * Whether PostgreSQL has ten minutes for a statement: one day of a store, which no part divides, may have many millions of
 * hot records. It ends when the signal aborts.
 */
type Long = { readonly isLong?: boolean; readonly signal?: AbortSignal };

function inSnapshot<T>(
  db: Database | Queryable,
  slice: Slice,
  work: (db: Queryable, tagged: Slice) => Promise<T>,
  { isLong = false, signal }: Long = {},
): Promise<T> {
  const run = async (connection: Queryable) => work(connection, await withTags(connection, slice));
  if (!('transaction' in db)) return run(db);
  const runLong = async (connection: Connection) => {
    if (!isLong) return run(connection);
    await allowLongStatements(connection);
    return cancelling(connection, signal, () => run(withLongAnswers(connection)));
  };
  return db.transaction(runLong, { isolation: 'repeatable read' });
}
