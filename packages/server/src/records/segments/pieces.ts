import { stat } from 'node:fs/promises';
import { type DuckDb, literal } from '../../platform/duckdb.ts';
import type { ObjectPiece } from '../../platform/objects/objects.ts';
import { hashFile } from '../../platform/thread-hash.ts';
import type { RowRange } from './row-ranges.ts';
import { instantSql } from './segment-sql.ts';

/**
 * A stretch of a segment's object with its own SHA-256: a row group, or what comes after the last one, which has no
 * rows and is needed to read any. Each begins where the one before it ends, and the first begins the object.
 */
export type SegmentPiece = {
  readonly rows: number;
  readonly bytes: number;
  /** In hexadecimal digits. */
  readonly sha256: string;
  /** The first and the last time in a row group, spelled as in answers; null when the file does not tell. */
  readonly first_at: string | null;
  readonly last_at: string | null;
};

type GroupOfFile = Record<'rows' | 'start' | 'until', string> &
  Pick<SegmentPiece, 'first_at' | 'last_at'>;

/** Returns the pieces of a checked local segment; null for one row group, of which nothing could be left out. */
export async function readPieces(
  duckdb: DuckDb,
  { path, signal }: { readonly path: string; readonly signal?: AbortSignal | undefined },
): Promise<SegmentPiece[] | null> {
  const { size } = await stat(path);
  const groups = await duckdb.run<GroupOfFile>(groupsSql(path), { signal });
  if (groups.length < 2) return null;
  // Between two row groups there may be bytes that belong to neither.
  const starts = [0, ...groups.slice(1).map(({ start }) => Number(start))];
  const ends = [...starts.slice(1), Number(groups.at(-1)?.until ?? 0), size];
  const pieces: SegmentPiece[] = [];
  for (const [n, end] of ends.entries()) {
    const start = ends[n - 1] ?? 0;
    // A file whose row groups stand in another order is no segment of ours, and can be read whole all the same.
    if (start >= end) return null;
    const { rows = '0', first_at = null, last_at = null } = groups[n] ?? {};
    const sha256 = await hashFile(path, { start, end, signal });
    const bytes = end - start;
    pieces.push({ rows: Number(rows), bytes, sha256: sha256.toString('hex'), first_at, last_at });
  }
  return pieces;
}

function groupsSql(path: string): string {
  const start = `case when dictionary_page_offset > 0 then least(dictionary_page_offset, data_page_offset)
    else data_page_offset end`;
  const time = (column: string) =>
    `max(case when path_in_schema = 'occurred_at' then ${instantSql(`${column}::timestamptz`)} end)`;
  return `
    select any_value(row_group_num_rows) as rows, min(${start}) as start,
      max(${start} + total_compressed_size) as until,
      ${time('stats_min_value')} as first_at, ${time('stats_max_value')} as last_at
    from parquet_metadata(${literal(path)}) group by row_group_id order by row_group_id`;
}

/** Returns the pieces that are needed to read rows; undefined when that is all of them. */
export function piecesOf(
  pieces: readonly SegmentPiece[],
  ranges: readonly RowRange[],
): ObjectPiece[] | undefined {
  const wanted = placed(pieces).filter(
    ({ rows, row }) =>
      rows === 0 || ranges.some(([first, last]) => row <= last && row + rows > first),
  );
  if (wanted.length === pieces.length) return undefined;
  return wanted.map(({ start, bytes, sha256 }) => ({
    start,
    end: start + bytes,
    sha256: Buffer.from(sha256, 'hex'),
  }));
}

/** Returns the row groups that may have records between two times, as their rows. */
export function groupsAt(
  pieces: readonly SegmentPiece[],
  { first_at, last_at }: { readonly first_at: string; readonly last_at: string },
): RowRange[] {
  return placed(pieces)
    .filter((piece) => piece.rows > 0)
    .filter((piece) => piece.first_at === null || piece.first_at <= last_at)
    .filter((piece) => piece.last_at === null || piece.last_at >= first_at)
    .map(({ row, rows }): RowRange => [row, row + rows - 1]);
}

/**
 * Cuts rows of one day of a store to the row groups in which the first of them can stand that is of this time or later,
 * and so all those of this time, too. The rows are in the order of their times; of the first and the last row group
 * they may be a part only.
 */
export function rowsAt(
  pieces: readonly SegmentPiece[],
  [first, last]: RowRange,
  at: string,
): RowRange {
  const groups = placed(pieces).filter(
    ({ rows, row }) => rows > 0 && row <= last && row + rows > first,
  );
  const from = groups.find(({ last_at }) => last_at === null || last_at >= at);
  if (from === undefined) return [last, last];
  const until = groups.find(
    ({ row, rows, first_at }) =>
      row >= Math.max(from.row, first) &&
      row + rows - 1 <= last &&
      first_at !== null &&
      first_at > at,
  );
  return [
    Math.max(first, from.row),
    until === undefined ? last : Math.min(last, until.row + until.rows - 1),
  ];
}

/** Says of each piece where it begins, and what the number of its first row is. */
function placed(pieces: readonly SegmentPiece[]) {
  let [start, row] = [0, 0];
  return pieces.map((piece) => {
    const place = { ...piece, start, row };
    start += piece.bytes;
    row += piece.rows;
    return place;
  });
}
