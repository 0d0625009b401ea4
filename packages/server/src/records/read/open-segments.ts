import { AppError } from '../../kernel/errors.ts';
import { type DuckDb, DuckDbError, isOutOfMemory } from '../../platform/duckdb.ts';
import {
  isObjectFault,
  ObjectDamaged,
  ObjectMissing,
  type ObjectPiece,
  type ObjectReader,
  type OpenObject,
} from '../../platform/objects/objects.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import type { Times } from '../queries.ts';
import { groupsAt, piecesOf, rowsAt, type SegmentPiece } from '../segments/pieces.ts';
import { clip, type RowRange } from '../segments/row-ranges.ts';
import type { ColdReader } from '../segments/segment.ts';
import { listPieces, type Segment } from './queries.ts';
import type { FilePart } from './scan-sql.ts';

/** So many segments are open at the same time; more only when a single day of a store lies in more. */
export const maxSegments = 16;

export type GroupOptions = NonNullable<Parameters<DuckDb['run']>[1]> & {
  /** Is awaited after each group, so that others go first. */
  readonly rest?: () => Promise<void>;
};

/** Runs a statement on each group of segments that may be open at once; `sqlOf` gets their local paths. */
export async function queryInGroups<Row extends Record<string, unknown>>(
  cold: ColdReader,
  segments: readonly Segment[],
  sqlOf: (paths: readonly string[]) => string,
  { rest, ...options }: GroupOptions = {},
): Promise<Row[]> {
  const rows: Row[] = [];
  for (let at = 0; at < segments.length; at += maxSegments) {
    options.signal?.throwIfAborted();
    const group = segments.slice(at, at + maxSegments);
    const read = (paths: string[]) => cold.duckdb.run<Row>(sqlOf(paths), options);
    rows.push(...(await withOpened(cold, toWhole(group), read)));
    await rest?.();
  }
  return rows;
}

/** Some rows of a segment. */
export type SegmentRows = {
  readonly segment: Segment;
  readonly ranges: readonly RowRange[];
  /**
   * Only rows of this time are needed, and the first one after it. All rows are those of one day of a store then.
   */
  readonly at?: string;
  /** Only rows between these times are needed. */
  readonly times?: Times;
};

/** The same for rows. Of remote objects only their row groups are fetched, so `read` must read no other rows. */
export async function withRows<T>(
  { db, cold }: { db: Queryable; cold: ColdReader },
  rows: readonly SegmentRows[],
  read: (parts: FilePart[]) => Promise<T>,
): Promise<T> {
  const pieces = await findPieces({ db, cold }, rows);
  const parts = rows.map(({ segment, ranges, at, times }, n) => {
    const known = pieces[n];
    const [first, last] = [ranges[0], ranges.at(-1)];
    if (known === undefined || first === undefined || last === undefined) {
      return { segment, ranges, pieces: undefined };
    }
    if (times !== undefined) {
      const groups = groupsAt(known, times);
      return { segment, ranges: groups, pieces: piecesOf(known, groups) };
    }
    const whole: RowRange = [first[0], last[1]];
    const span = at === undefined ? whole : rowsAt(known, whole, at);
    return { segment, ranges: clip(ranges, span), pieces: piecesOf(known, [span]) };
  });
  const readFiles = (paths: string[]) =>
    read(parts.map(({ ranges }, n) => ({ path: paths[n] ?? '', ranges })));
  try {
    return await withOpened(cold, parts, readFiles);
  } catch (error) {
    const isUnreadable = error instanceof AppError && error.cause instanceof DuckDbError;
    const isWhole = parts.every((part) => part.pieces === undefined);
    if (isWhole || !isUnreadable || error.code !== 'segment_damaged') throw error;
    // The pieces are those of the object, so either it was damaged before it was written, or DuckDB wants to read more
    // of it than what it needs.
    return withOpened(cold, toWhole(rows.map(({ segment }) => segment)), readFiles);
  }
}

async function findPieces(
  { db, cold }: { db: Queryable; cold: ColdReader },
  rows: readonly SegmentRows[],
): Promise<(readonly SegmentPiece[] | undefined)[]> {
  if (!cold.objects.isRemote) return [];
  const segments = rows.map(({ segment }) => segment);
  const found = await listPieces(db, segments);
  return segments.map(
    ({ tenant, segment_id }) =>
      found.find((known) => known.tenant === tenant && known.segment_id === segment_id)?.pieces,
  );
}

type Opening = { readonly segment: Segment; readonly pieces: readonly ObjectPiece[] | undefined };

function toWhole(segments: readonly Segment[]): Opening[] {
  return segments.map((segment) => ({ segment, pieces: undefined }));
}

/**
 * Opens objects at the same time, so pass only a few, and calls `read` with their local paths. Throws 500
 * `segment_damaged`, and 503 `cold_tier_unavailable` when memory is short.
 */
async function withOpened<T>(
  cold: ColdReader,
  wanted: readonly Opening[],
  read: (paths: string[]) => Promise<T>,
): Promise<T> {
  const segments = wanted.map(({ segment }) => segment);
  const opened: OpenObject[] = [];
  try {
    const openings = await Promise.allSettled(
      wanted.map(({ segment, pieces }) => openSegment(cold.objects, segment, { pieces })),
    );
    for (const opening of openings) {
      if (opening.status === 'fulfilled') opened.push(opening.value);
    }
    for (const opening of openings) {
      if (opening.status === 'rejected') throw opening.reason;
    }
    const paths = opened.map(({ path }) => path);
    return await read(paths).catch((error: unknown) => {
      throw explain(error, segments, { paths, location: cold.objects.location });
    });
  } finally {
    await Promise.all(opened.map((object) => object.release()));
  }
}

/**
 * Reads once more, beginning with the catalogue, when an object is missing or cannot be read: it may have been replaced
 * and removed since the catalogue was read. If the second read fails too, what the catalogue names is really lost.
 */
export async function readTwice<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof AppError && error.code === 'segment_damaged')) throw error;
    return read();
  }
}

/** Explains an error of DuckDB: the checksums were right, so the file was damaged before it was written. */
function explain(
  error: unknown,
  segments: readonly Segment[],
  { paths, location }: { paths: readonly string[]; location: string | undefined },
): unknown {
  if (!(error instanceof DuckDbError)) return error;
  if (isOutOfMemory(error)) {
    return new AppError('cold_tier_unavailable', {
      detail:
        'There is not enough memory to read cold data at the moment. Try again in a few seconds.',
      retryAfterSeconds: 5,
      cause: error,
    });
  }
  const named = paths.findIndex((path) => error.message.includes(path));
  const segment = segments[Math.max(0, named)];
  return segment === undefined
    ? error
    : segmentDamaged(segment, error, { ...unreadable, location });
}

/** What an operator needs to know of a segment: which days cannot be read any more, and which object to restore. */
type Told = {
  readonly tenant: string;
  readonly first_day: string;
  readonly last_day: string;
  readonly object_key: string;
};

/** What the damage means to the reader who met it, if it means more than that the days cannot be read. */
type Meaning = {
  /** The beginning of a sentence; `days` is "of tenant … from … to …". */
  readonly problem: (days: string) => string;
  readonly remedy: string;
  /** The store that was read: it may be another than the one that the object was written to. */
  readonly location?: string | undefined;
};

const unreadable: Meaning = {
  problem: (days) => `Cold data ${days} cannot be read`,
  remedy: 'Restore it from a backup, then run svcctl retention verify.',
};

/** Returns 500 `segment_damaged` for what an object's reader threw, or DuckDB on a file with the right checksum. */
export function segmentDamaged(
  { tenant, first_day, last_day, object_key }: Told,
  cause: unknown,
  { problem, remedy, location }: Meaning = unreadable,
): AppError {
  const days = `of tenant ${tenant} from ${first_day} to ${last_day}`;
  const isMissing = cause instanceof ObjectMissing;
  const place = location === undefined || isMissing ? '' : ` (in ${location})`;
  const store =
    location === undefined || !isMissing
      ? ''
      : ` It was looked for in ${location}: see first, by svcctl doctor, whether SVC_BLOB_URL names the store that the database knows; if it does, the object is lost.`;
  return new AppError('segment_damaged', {
    detail: `${problem(days)}: the object ${object_key} ${whatOf(cause)}${place}.${store} ${remedy}`,
    cause,
  });
}

function whatOf(cause: unknown): string {
  if (cause instanceof ObjectMissing) return 'is missing';
  return cause instanceof ObjectDamaged ? 'is not what was written' : 'cannot be read';
}

/** Opens the object of a segment. Throws 500 `segment_damaged`; `meaning` says what that is to the reader. */
export async function openSegment(
  objects: ObjectReader,
  segment: Told & { readonly size_bytes: number; readonly sha256: Buffer },
  options: Parameters<ObjectReader['open']>[1],
  meaning?: Meaning,
): Promise<OpenObject> {
  const { object_key: key, size_bytes: sizeBytes, sha256 } = segment;
  return objects.open({ key, sizeBytes, sha256 }, options).catch((error: unknown) => {
    if (!isObjectFault(error)) throw error;
    throw segmentDamaged(segment, error, {
      ...(meaning ?? unreadable),
      location: objects.location,
    });
  });
}
