import { literal } from '../../../platform/duckdb.ts';
import { chunkRows, coldColumnSql, type Slice } from '../../../records/index.ts';
import { isOwnColumn } from '../../columns.ts';
import type { ColdPiece } from '../../encode/both-tiers.ts';
import type { ExportColumn } from '../../values.ts';
import { parquetType } from './footer.ts';

/** The rows of a group, piece by piece in key order. */
export type GroupPiece =
  | {
      readonly kind: 'csv';
      /** Machine CSV without header: `bytes`, then the columns but for `bytes`. */
      readonly path: string;
      readonly longestRow: number;
    }
  /** Rows of a chunk, from the first place to the last; see `placesSql`. */
  | {
      readonly kind: 'cold';
      readonly piece: ColdPiece;
      readonly first: string;
      readonly last: string;
    };

/**
 * More than a group ever has: rows are told apart by their weight, see `groupBytes`. DuckDB's own number,
 * on which it makes the size of its dictionaries depend.
 */
const rowGroupSize = 122_880;

/** DuckDB's statement that writes a group as a Parquet file with one row group. */
export function writeGroupSql(
  pieces: readonly GroupPiece[],
  target: { slice: Slice; columns: readonly string[]; path: string },
): string {
  const { slice, columns, path } = target;
  const selects = pieces.map((piece) =>
    piece.kind === 'csv' ? csvSql(piece, columns) : coldSql(piece, slice, columns),
  );
  return `copy (${selects.join(' union all ')}) to ${literal(path)}
    (format parquet, compression zstd, row_group_size ${rowGroupSize})`;
}

/**
 * Where the groups begin and end in a chunk, as weights sum up from `offset` on: with the place of each
 * group's first and last row, which is its row in the file where the chunk stands in one piece.
 */
export function placesSql(
  { chunk, pathOf }: ColdPiece,
  options: { slice: Slice; offset: number; groupBytes: number; leastBytes: number },
): string {
  const { offset, groupBytes, leastBytes } = options;
  const { rows, order } = chunkRows(chunk, { slice: options.slice, pathOf });
  const place = order === null ? 'r.file_row_number' : `row_number() over (order by ${order})`;
  return `
    select number, count(*) as count, min(place) as first, max(place) as last,
      sum(weight)::bigint as weight
    from (
      select place, weight, (${offset} + (sum(weight) over (order by place) - weight)::bigint)
        // ${groupBytes} as number
      from (select ${place} as place, greatest(r.bytes, ${leastBytes}) as weight from ${rows})
    )
    group by number order by number`;
}

function coldSql(
  { piece, first, last }: Extract<GroupPiece, { kind: 'cold' }>,
  slice: Slice,
  columns: readonly string[],
): string {
  const { chunk, pathOf } = piece;
  const { rows, order } = chunkRows(chunk, { slice, pathOf });
  const list = columns.map((name) => `${coldValue(name, slice)} as ${quoted(name)}`).join(', ');
  const within = `between ${first} and ${last}`;
  if (order === null) return `(select ${list} from ${rows} where r.file_row_number ${within})`;
  return `(select ${list} from (
    select *, row_number() over (order by ${order}) as place from ${rows}) r
    where place ${within} order by place)`;
}

function coldValue(name: string, slice: Slice): string {
  if (!isOwnColumn(name)) throw new Error('field paths are picked before rows are grouped');
  return parquetType(name) === 'instant' ? `r.${name}` : `${coldColumnSql(name, slice)}`;
}

/** The columns as the CSV of a group has them. */
export function groupColumns(columns: readonly string[]): string[] {
  return ['bytes' satisfies ExportColumn, ...columns.filter((name) => name !== 'bytes')];
}

/** One thread reads the file, which is small, so that no line break in a cell misleads another. */
function csvSql(
  { path, longestRow }: Extract<GroupPiece, { kind: 'csv' }>,
  columns: readonly string[],
): string {
  const written = groupColumns(columns);
  const types = written.map((_, index) => `c${index}: 'varchar'`).join(', ');
  const list = columns.map((name) => {
    const value = `c${written.indexOf(name)}`;
    return `${typed(value, name)} as ${quoted(name)}`;
  });
  const lineBytes = Math.max(longestRow + 1, 1024 * 1024);
  return `(select ${list.join(', ')} from read_csv(${literal(path)}, auto_detect = false,
    header = false, columns = {${types}}, delim = ',', quote = '"', escape = '"', new_line = '\\n',
    nullstr = '', allow_quoted_nulls = false, strict_mode = true, parallel = false,
    max_line_size = ${lineBytes}, buffer_size = ${4 * lineBytes}))`;
}

function typed(value: string, name: string): string {
  switch (parquetType(name)) {
    case 'text':
      return value;
    case 'integer':
      return `${value}::integer`;
    case 'instant':
      return `${value}::timestamptz`;
  }
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
