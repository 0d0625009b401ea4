import { AppError } from '../../kernel/errors.ts';
import { ObjectDamaged, ObjectMissing, type ObjectReader } from '../../platform/objects/objects.ts';
import type { DuckDb } from '../../platform/parquet/duckdb.ts';
import type { Database, Queryable } from '../../platform/postgres/database.ts';
import type { DayTriple } from '../../records/index.ts';
import { matchFile } from './match-file.ts';
import * as queries from './queries.ts';
import type { EraseScope } from './scope.ts';

export type MatchTools = {
  readonly db: Database;
  readonly objects: ObjectReader;
  readonly duckdb: DuckDb;
};

/** What of a tenant is to be erased, and where it lies. Triples by store and day, in key order. */
export type Matches = {
  readonly hot: readonly DayTriple[];
  /** Segments that hold matches. */
  readonly cold: readonly { segment: queries.SegmentRow; days: readonly DayTriple[] }[];
  /** Those of the scope's event ids that some match has. */
  readonly foundIds: ReadonlySet<string>;
};

/**
 * Hot records and the catalogue are of one snapshot, so that a move in between counts nothing twice.
 * Throws 500 `segment_damaged`, 503 `cold_tier_unavailable`.
 */
export async function findMatches(
  tools: MatchTools,
  scope: EraseScope,
  signal: AbortSignal,
): Promise<Matches> {
  if (scope.eventIds === null) return findWholeDays(tools.db, scope);
  const foundIds = new Set<string>();
  const { hot, segments } = await tools.db.transaction(
    async (connection) => ({
      segments: await queries.listSegmentsOf(connection, scope),
      hot: await findHot(connection, scope, { foundIds, signal }),
    }),
    { isolation: 'repeatable read' },
  );
  const cold: { segment: queries.SegmentRow; days: readonly DayTriple[] }[] = [];
  for (const segment of segments) {
    const days = await readMatches(tools, { segment, scope, foundIds, signal });
    if (days.length > 0) cold.push({ segment, days });
  }
  return { hot, cold, foundIds };
}

/** Without event ids whole days of stores match: counters and catalogue know them. */
export async function findWholeDays(db: Database, scope: EraseScope): Promise<Matches> {
  return db.transaction(
    async (connection) => {
      const segments = await queries.listSegmentsOf(connection, scope);
      const ids = segments.map((segment) => segment.id);
      const days = await queries.listSegmentDaysOf(connection, scope, ids);
      const cold = segments.map((segment) => ({
        segment,
        days: days.filter((day) => day.segment_id === segment.id),
      }));
      return { hot: await queries.listHotDaysOf(connection, scope), cold, foundIds: new Set() };
    },
    { isolation: 'repeatable read' },
  );
}

/** What matches of the hot records, by store and day. */
export async function findHot(
  connection: Queryable,
  scope: EraseScope,
  { foundIds, signal }: { foundIds?: Set<string>; signal: AbortSignal },
): Promise<DayTriple[]> {
  const counted = await queries.listHotDaysOf(connection, scope);
  if (scope.eventIds === null) return counted;
  const days: DayTriple[] = [];
  for (const month of new Set(counted.map(({ day }) => day.slice(0, 7)))) {
    signal.throwIfAborted();
    for (const match of await queries.matchHotMonth(connection, scope, month)) {
      if (match.event_id === null) days.push(match);
      else foundIds?.add(match.event_id);
    }
  }
  return days;
}

async function readMatches(
  { objects, duckdb }: MatchTools,
  search: {
    segment: queries.SegmentRow;
    scope: EraseScope;
    foundIds: Set<string>;
    signal: AbortSignal;
  },
): Promise<DayTriple[]> {
  const { segment, scope, foundIds, signal } = search;
  const { object_key: key, size_bytes: sizeBytes, sha256 } = segment;
  try {
    const object = await objects.open({ key, sizeBytes, sha256 }, { signal });
    try {
      const { days, ids } = await matchFile(duckdb, { path: object.path, scope, signal });
      for (const id of ids) foundIds.add(id);
      return days;
    } finally {
      await object.release();
    }
  } catch (error) {
    if (!(error instanceof ObjectMissing || error instanceof ObjectDamaged)) throw error;
    throw new AppError('segment_damaged', {
      detail: `Nothing tells which records of ${scope.tenant} from ${segment.first_day} to ${segment.last_day} are meant: ${error.message}. Nothing was erased. Restore the object from a backup, then ask again.`,
      cause: error,
    });
  }
}
