import { fileLiteral, isOutOfMemory, literal } from '../../platform/duckdb.ts';
import type { DuckDbStream } from '../../platform/duckdb-stream.ts';
import type { RecordField } from '../values.ts';
import { jsonSql } from './json-sql.ts';
import {
  createRoles,
  givenMembers,
  hasWholeEnrichment,
  type Mapping,
  mappingFaults,
} from './mapping.ts';
import { areNumbersSql, createSpelling, numberSql } from './spell-field.ts';
import { restSql, type TypedSource } from './stage.ts';
import { bodyOf, textType, typedColumns } from './typed-rows.ts';

/** Some records as lines of NDJSON. Each row of the file is one line, so rows are found again by their numbers. */
export type Piece = { readonly text: Buffer; readonly rows: number };

/** What a file has. */
export type Content = {
  /** The columns with their types; null for NDJSON, of which each line has its own. */
  readonly columns: readonly { readonly name: string; readonly type: string }[] | null;
  /** How many rows it has; null when only reading it whole would tell. */
  readonly rows: number | null;
  /** What keeps it from being imported, in sentences. */
  readonly faults: readonly string[];
  /** Of CSV: the columns that become text, and whose first cells are numbers. */
  readonly numberLike?: readonly string[];
  /**
   * Yields its records from a row on, counted from 0; with `rest`, only those whose numbers the stage has kept of the
   * file of this number, and blank lines for the others. Throws `file_changed` when the file is not what it was when it
   * was opened, and `file_unreadable`.
   */
  records(from: number, rest?: number): AsyncGenerator<Piece>;
  readonly typed: TypedSource | null;
};

export type ReadOptions = {
  readonly mapping: Mapping;
  /** What stands between the cells of CSV. */
  readonly delimiter: string;
};

/** Of rows that are so wide that DuckDB has no memory for its usual 2,048 at once, it reads these. */
const wideRows = 64;
const maxRowBytes = 4 * 2 ** 20;
const maxColumns = 2000;
/** A piece has about so many characters at most. */
const pieceLength = 2 ** 20;

/** A file whose rows DuckDB reads. Cells of CSV are text: what looks like a number may be an id. */
export async function openTable(
  duckdb: DuckDbStream,
  path: string,
  format: 'parquet' | 'csv',
  { mapping, delimiter }: ReadOptions,
): Promise<Content> {
  const table =
    format === 'parquet'
      ? await describeParquet(duckdb, path)
      : await describeCsv(duckdb, path, delimiter);
  const names = table.columns.map(({ name }) => name);
  const roleOf = createRoles(mapping, hasWholeEnrichment(mapping, names));
  const faults = mappingFaults(mapping, names);
  const { numbers = [] } = mapping;
  const keys: string[] = [];
  const fields = new Map<RecordField, string>();
  for (const { name, sql, type } of table.columns) {
    const role = roleOf(name);
    if (role === 'skipped' || role === 'unknown') continue;
    const json = jsonSql(type, sql);
    if (json === null) faults.push(`column ${name} has the type ${type.text}: --skip ${name}`);
    else if (role === 'key') {
      const value = numbers.includes(name) ? numberSql(json) : json;
      keys.push(`${literal(`${JSON.stringify(name)}:`)} || ${value}`);
    } else fields.set(role, json);
  }
  if (!fields.has('enrichment') && mapping.values.enrichment === undefined) {
    // What is NULL is left out.
    fields.set('enrichment', `'{' || concat_ws(',', ${keys.join(', ') || "''"}) || '}'`);
  }
  const list = typedColumns(table.columns, { mapping, roleOf });
  const shape =
    list === null || faults.length > 0 || numbers.length > 0 || !table.isNumbered
      ? null
      : await shapeOf(duckdb, `select ${list} from ${table.source}`);
  return {
    columns: table.columns.map(({ name, type }) => ({ name, type: type.text })),
    // Only rows that are counted can be staged. Of a file that breaks off, those before that are sent one by one.
    rows: table.rows ?? (shape === null ? null : await countRows(duckdb, table).catch(() => null)),
    faults,
    numberLike:
      format === 'csv'
        ? await findNumberLike(
            duckdb,
            table,
            ({ name }) => roleOf(name) === 'key' && !numbers.includes(name),
          )
        : [],
    typed:
      shape === null
        ? null
        : { shape, rows: (from, until) => `select row, ${list} from ${table.range(from, until)}` },
    async *records(first, rest) {
      const cells = [...fields.values()].join(', ');
      let next = first;
      const read = async function* (limit: string) {
        const query =
          rest === undefined
            ? `select ${cells} from (select * from ${table.source} ${limit} offset ${next})`
            : `select ${cells}, row::varchar from (select * from ${table.numbered}
                where row in ${restSql(rest, `and row >= ${next} order by row ${limit}`)}) order by row`;
        const numbered = rest === undefined ? {} : { first: next };
        const spelling = { mapping, fields: [...fields.keys()], ...numbered };
        for await (const piece of readRows(duckdb, query, spelling)) {
          yield piece;
          next += piece.rows;
        }
      };
      try {
        yield* read('');
        return;
      } catch (error) {
        if (!isOutOfMemory(error)) throw error;
      }
      for (let before = -1; before < next; ) {
        before = next;
        yield* read(`limit ${wideRows}`);
      }
    },
  };
}

const looksAtRows = 100;

async function findNumberLike(
  duckdb: DuckDbStream,
  { columns, source }: Table,
  isText: (column: Table['columns'][number]) => boolean,
): Promise<string[]> {
  const texts = columns.filter(isText);
  const list = texts.map(({ sql }) => `(${areNumbersSql(sql)})::varchar`).join(', ');
  if (list === '') return [];
  const query = `select unnest(list_value(${list})) from (select * from ${source} limit ${looksAtRows})`;
  // A file that breaks off here is told of when it is read.
  const are = await firstColumn(duckdb, query).catch(() => []);
  return texts.flatMap(({ name }, index) => (are[index] === 'true' ? [name] : []));
}

/** What typed rows have as their enrichment; null when DuckDB cannot make them. */
async function shapeOf(duckdb: DuckDbStream, query: string): Promise<string | null> {
  const columns = await duckdb.describe(query).catch(() => []);
  const body = bodyOf(columns);
  return body === undefined ? null : `${body.name} ${body.type.text}`;
}

/** With `first`, the last column has the numbers of the rows, and those that are left out become blank lines. */
async function* readRows(
  duckdb: DuckDbStream,
  query: string,
  { mapping, fields, first }: { mapping: Mapping; fields: readonly RecordField[]; first?: number },
): AsyncGenerator<Piece> {
  const spell = createSpelling(mapping.timeUnit);
  const given = givenMembers(mapping);
  let next = first ?? 0;
  for await (const { count, columns } of duckdb.rows(query)) {
    let text = '';
    let rows = 0;
    for (let row = 0; row < count; row += 1) {
      const number = first === undefined ? next : Number(columns[fields.length]?.[row]);
      text += '\n'.repeat(number - next);
      rows += number - next;
      next = number + 1;
      const members = [...given];
      for (const [index, field] of fields.entries()) {
        const cell = columns[index]?.[row] ?? null;
        if (cell !== null) members.push(`"${field}":${spell(field, cell)}`);
      }
      text += `{${members.join(',')}}\n`;
      rows += 1;
      if (text.length < pieceLength && row + 1 < count) continue;
      yield { text: Buffer.from(text), rows };
      text = '';
      rows = 0;
    }
  }
}

type Table = {
  /** What rows are selected from. */
  readonly source: string;
  /** The same, with their numbers in the column `row`. */
  readonly numbered: string;
  /** Those of them from a number on, up to another, which is not part of it. */
  range(from: number, until: number): string;
  /** Whether no column of the file has this name already. */
  readonly isNumbered: boolean;
  readonly rows: number | null;
  readonly columns: readonly (Awaited<ReturnType<DuckDbStream['describe']>>[number] & {
    /** The column in SQL. */
    readonly sql: string;
  })[];
};

async function describeParquet(duckdb: DuckDbStream, path: string): Promise<Table> {
  const source = `read_parquet(${fileLiteral(path)}, hive_partitioning = false)`;
  const columns = await duckdb.describe(`select * from ${source}`);
  const counts = `select num_rows::varchar from parquet_file_metadata(${fileLiteral(path)})`;
  const [rows = '0'] = await firstColumn(duckdb, counts);
  const numbers = 'file_row_number = true, hive_partitioning = false';
  const numbered = `(select * exclude (file_row_number), file_row_number as row from read_parquet(${fileLiteral(path)}, ${numbers}))`;
  return {
    source,
    numbered,
    range: (from, until) => `${numbered} where row >= ${from} and row < ${until}`,
    isNumbered: !columns.some(({ name }) => /^(row|file_row_number)$/i.test(name)),
    rows: Number(rows),
    columns: columns.map((column) => ({
      ...column,
      sql: `"${column.name.replaceAll('"', '""')}"`,
    })),
  };
}

/** Nothing of a CSV file is guessed, for DuckDB's guesses may drop rows: its first row has the names. */
async function describeCsv(duckdb: DuckDbStream, path: string, delimiter: string): Promise<Table> {
  const csv = (count: number, more: string) => `read_csv(${fileLiteral(path)}, auto_detect = false,
    columns = {${Array.from({ length: count }, (_, index) => `c${index}: 'varchar'`).join(', ')}},
    delim = ${literal(delimiter)}, quote = '"', escape = '"', nullstr = '', allow_quoted_nulls = false,
    parallel = false, max_line_size = ${maxRowBytes}, buffer_size = ${2 * maxRowBytes}, ${more})`;
  const cells = Array.from({ length: maxColumns }, (_, index) => `c${index}`).join(', ');
  const header = csv(maxColumns, 'header = false, strict_mode = false, null_padding = true');
  const names = await firstColumn(
    duckdb,
    `select unnest(list_value(${cells})) from (select * from ${header} limit 1)`,
  );
  while (names.at(-1) === null) names.pop();
  if (names.length === 0)
    throw new Error('it is empty, and its first line must have the names of the columns');
  const nameless = names.indexOf(null);
  if (nameless >= 0) throw new Error(`column ${nameless + 1} has no name in the first line`);
  const repeated = names.find((name, index) => names.indexOf(name) < index);
  if (repeated !== undefined) throw new Error(`two columns have the name ${repeated}`);
  const source = csv(names.length, 'header = true, strict_mode = true');
  return {
    source,
    numbered: `(select *, row_number() over () - 1 as row from ${source})`,
    // What comes after the range is not read. A condition on the numbers read the whole file for each range.
    range: (from, until) => `(select *, ${from} + row_number() over () - 1 as row
      from (select * from ${source} limit ${until - from} offset ${from}))`,
    isNumbered: true,
    rows: null,
    columns: names.map((name, index) => ({ name: String(name), type: textType, sql: `c${index}` })),
  };
}

async function countRows(duckdb: DuckDbStream, { source }: Table): Promise<number> {
  const [rows = '0'] = await firstColumn(duckdb, `select count(*)::varchar from ${source}`);
  return Number(rows);
}

export async function firstColumn(duckdb: DuckDbStream, query: string): Promise<(string | null)[]> {
  const values: (string | null)[] = [];
  for await (const { columns } of duckdb.rows(query)) values.push(...(columns[0] ?? []));
  return values;
}
