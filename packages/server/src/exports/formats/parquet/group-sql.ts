import { literal } from '../../../platform/duckdb.ts';
import type { Slice } from '../../../records/index.ts';
import { chunkRows, coldColumnSql } from '../../../records/sql.ts';
import type { ColdPiece } from '../../encode/both-tiers.ts';
import { cellQuote } from '../../encode/csv-cells.ts';
import { isOwnColumn } from '../../encode/rows.ts';
import { type ExportColumn, fieldTypeText, restColumn } from '../../values.ts';
import type { FileColumns } from '../format.ts';
import { type ParquetColumn, parquetColumns } from './footer.ts';

/** The rows of a group, piece by piece in key order. */
export type GroupPiece =
  | {
      readonly kind: 'csv';
      /** Cells: first `bytes`, then the columns apart from `bytes`. */
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
 * More than twice what a group ever has; see `leastBytes`. DuckDB writes a piece of half of this at once, and smaller
 * ones before it only at the end: in another order, and in several row groups.
 */
const rowGroupSize = 245_760;

/** The DuckDB statement that writes a group as a Parquet file. Several pieces make a single row group. */
export function writeGroupSql(
  pieces: readonly GroupPiece[],
  target: { slice: Slice; columns: FileColumns; path: string },
): string {
  const { slice, columns, path } = target;
  const selects = pieces.map((piece) =>
    piece.kind === 'csv' ? csvSql(piece, columns) : coldSql(piece, slice, columns),
  );
  return `copy (${selects.join(' union all ')}) to ${literal(path)}
    (format parquet, compression zstd, row_group_size ${rowGroupSize})`;
}

/**
 * The query that tells where groups begin and end in a chunk, with weights summed from `offset` on. A place is a row's
 * number in its file if the chunk is one piece of it, else its position in key order.
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
  columns: FileColumns,
): string {
  const { chunk, pathOf } = piece;
  const { rows, order } = chunkRows(chunk, { slice, pathOf });
  const list = parquetColumns(columns)
    .map((column) => `${coldValue(column, slice)} as ${quoted(column.name)}`)
    .join(', ');
  const within = `between ${first} and ${last}`;
  if (order === null) return `(select ${list} from ${rows} where r.file_row_number ${within})`;
  return `(select ${list} from (
    select *, row_number() over (order by ${order}) as place from ${rows}) r
    where place ${within} order by place)`;
}

function coldValue({ name, type }: ParquetColumn, slice: Slice): string {
  if (!isOwnColumn(name)) throw new Error('fields are picked before rows are grouped');
  return type === 'instant' ? `r.${name}` : `${coldColumnSql(name, slice)}`;
}

/** Before the cell of what fits no column, the one of the fields that fit, as a JSON object with all of their columns. */
const fieldsCell = 'fields';

/** The cells in the order of a group's CSV. */
export function groupCells({ columns, fields }: FileColumns): string[] {
  const cells = columns.flatMap((name) =>
    fields !== undefined && name === 'enrichment' ? [fieldsCell, restColumn] : [name],
  );
  return ['bytes' satisfies ExportColumn, ...cells.filter((name) => name !== 'bytes')];
}

/** Reads the CSV of a piece by one thread: of several, one could begin at a line break inside a cell. */
function csvSql(
  { path, longestRow }: Extract<GroupPiece, { kind: 'csv' }>,
  columns: FileColumns,
): string {
  const cells = groupCells(columns);
  const { fields = [] } = columns;
  const types = cells.map((_, index) => `c${index}: 'varchar'`).join(', ');
  const list = parquetColumns(columns).map((column) => {
    const at = cells.indexOf(column.name);
    const value = fields.includes(column as (typeof fields)[number])
      ? `fields.${quoted(column.name)}`
      : typed(`c${at}`, column);
    return `${value} as ${quoted(column.name)}`;
  });
  const lineBytes = Math.max(longestRow + 1, 1024 * 1024);
  const quote = literal(cellQuote);
  const rows = `read_csv(${literal(path)}, auto_detect = false,
    header = false, columns = {${types}}, delim = ',', quote = ${quote}, escape = ${quote}, new_line = '\\n',
    nullstr = '', allow_quoted_nulls = false, strict_mode = true, parallel = false,
    max_line_size = ${lineBytes}, buffer_size = ${4 * lineBytes})`;
  if (fields.length === 0) return `(select ${list.join(', ')} from ${rows})`;
  // This cast fails where a value is not of its type, or a member is missing; from_json would make NULL of it.
  const struct = `c${cells.indexOf(fieldsCell)}::json::${fieldTypeText({ struct: fields })}`;
  return `(select ${list.join(', ')} from (select *, ${struct} as fields from ${rows}))`;
}

function typed(value: string, { type }: ParquetColumn): string {
  if (type === 'instant') return `${value}::timestamptz`;
  return type === 'integer' || type === 'double' ? `${value}::${type}` : value;
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
