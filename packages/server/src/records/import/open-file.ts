import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createGunzip } from 'node:zlib';
import { AppError } from '../../kernel/errors.ts';
import { DuckDbError, isOutOfMemory, literal } from '../../platform/duckdb.ts';
import { type DuckDbStream, openDuckDbStream } from '../../platform/duckdb-stream.ts';
import { splitLines } from '../../platform/http/lines.ts';
import type { ImportFormat, RecordField } from '../values.ts';
import { jsonSql } from './json-sql.ts';
import { createLineMapper } from './map-line.ts';
import {
  createRoles,
  givenMembers,
  hasWholeEnrichment,
  type Mapping,
  mappingFaults,
} from './mapping.ts';
import { createRemoteFiles, isRemote } from './remote-files.ts';
import { createSpelling } from './spell-field.ts';
import { createStage, restSql, type Stage, type Stretch, type TypedSource } from './stage.ts';
import { bodyOf, textType, typedColumns } from './typed-rows.ts';

/** Some records as lines of NDJSON. Each row of the file is one line, so rows are found again by their numbers. */
export type Piece = { readonly text: Buffer; readonly rows: number };

export type ImportFile = {
  /** The columns with their types; null for NDJSON, of which each line has its own. */
  readonly columns: readonly { readonly name: string; readonly type: string }[] | null;
  /** Changes when the file does. */
  readonly identity: string;
  /** How many rows it has; null when only reading it whole would tell. */
  readonly rows: number | null;
  /** What keeps it from being imported, in sentences. */
  readonly faults: readonly string[];
  /**
   * Yields its records from a row on, counted from 0; with `rest`, only those whose numbers the stage has kept of the
   * file of this number, and blank lines for the others. Throws `file_changed` when the file is not what it was when it
   * was opened, and `file_unreadable`.
   */
  records(from: number, rest?: number): AsyncGenerator<Piece>;
  /** What all its rows are like as typed rows; null when they cannot be. */
  readonly shape: string | null;
  /** A range of its rows, counted from 0, the end excluded, for the stage. It throws as `records` does. */
  stretch(file: number, range: { from: number; until: number }): Stretch;
};

export type Importer = {
  /**
   * The paths of the files whose names fit a pattern (`*`, `?`, `[…]`, and `**` for any folders), in their order; of
   * `s3://bucket/…?endpoint=…` also those of a folder, or a single file. Throws `file_unreadable`, `usage_invalid`.
   */
  find(pattern: string): Promise<string[]>;
  /** Reads what a file says of itself. Throws `file_unreadable`. */
  open(path: string, format: ImportFormat): Promise<ImportFile>;
  readonly stage: Stage;
  close(): Promise<void>;
};

type ImportOptions = {
  readonly mapping: Mapping;
  /** What stands between the cells of CSV. */
  readonly delimiter: string;
  readonly signal: AbortSignal;
  /** What DuckDB may take. This is usually left out. */
  readonly memoryBytes?: number;
};

const usualMemoryBytes = 2 ** 30;
/** Of rows that are so wide that DuckDB has no memory for its usual 2,048 at once, it reads these. */
const wideRows = 64;
/** A line longer than this is no record, whatever the limits of the service are. */
const maxLineBytes = 16 * 2 ** 20;
const maxRowBytes = 4 * 2 ** 20;
const maxColumns = 2000;
/** A piece has about so many characters at most. */
const pieceLength = 2 ** 20;

/** Opens files of history, and turns their rows into records as the service takes them. */
export async function openImporter(options: ImportOptions): Promise<Importer> {
  const { signal, memoryBytes = usualMemoryBytes } = options;
  // A second thread took a third more CPU for the same rows, and no time off: what is written of a tenant is small, and
  // each statement divides its memory among the threads.
  const duckdb = await openDuckDbStream({ memoryBytes, threads: 1, signal });
  const remote = createRemoteFiles(signal);
  const stage = createStage(duckdb);
  /** Opens a file that is here. `name` is what people call it. */
  const openLocal = async (
    path: string,
    name: string,
    format: ImportFormat,
  ): Promise<ImportFile> => {
    const seen = await look(path, name);
    const isSame = () => assertUnchanged(path, seen);
    const watched = async function* (pieces: AsyncIterable<Piece>): AsyncGenerator<Piece> {
      try {
        for await (const piece of pieces) {
          await isSame();
          yield piece;
        }
      } catch (error) {
        await isSame();
        throw unreadable(name, error);
      }
      await isSame();
    };
    const { typed, ...file } = await readable(name, () =>
      format === 'ndjson' ? openLines(path, options) : openTable(duckdb, path, format, options),
    );
    return {
      ...file,
      identity: `${seen.size} ${seen.mtimeMs} ${seen.ino}`,
      shape: typed?.shape ?? null,
      records: (from, rest) => watched(file.records(from, rest)),
      stretch: (number, { from, until }) => ({
        ...{ file: number, from, until },
        async fill(insert) {
          const rows = typed?.rows(from, until);
          if (rows === undefined) throw new Error(`${name} has no typed rows`);
          const error = await insert(rows).catch((cause: unknown) => cause);
          await isSame();
          if (error !== undefined) throw isOutOfMemory(error) ? error : unreadable(name, error);
        },
      }),
    };
  };
  const openRemote = async (url: string, format: ImportFormat): Promise<ImportFile> => {
    const here = async () => openLocal(await remote.fetch(url), url, format);
    const file =
      format === 'ndjson'
        ? { columns: null, rows: null, faults: [], shape: null }
        : await openLocal(await remote.fetchColumns(url, format), url, format);
    return {
      ...file,
      identity: remote.identityOf(url),
      async *records(from, rest) {
        yield* (await here()).records(from, rest);
      },
      stretch: (number, range) => ({
        ...{ file: number, ...range },
        fill: async (insert) => (await here()).stretch(number, range).fill(insert),
      }),
    };
  };
  return {
    find: async (pattern) =>
      isRemote(pattern)
        ? remote.find(pattern)
        : (
            await firstColumn(duckdb, `select file from glob(${literal(pattern)}) order by file`)
          ).map(String),
    open: (path, format) =>
      isRemote(path) ? openRemote(path, format) : openLocal(path, path, format),
    stage,
    async close() {
      duckdb.close();
      await stage.close();
      await remote.close();
    },
  };
}

type Seen = { readonly size: number; readonly mtimeMs: number; readonly ino: number };

async function look(path: string, name: string): Promise<Seen> {
  return readable(name, async () => {
    const found = await stat(path);
    if (!found.isFile()) throw new Error('it is not an ordinary file');
    return found;
  });
}

async function assertUnchanged(path: string, seen: Seen): Promise<void> {
  const now = await stat(path).catch(() => null);
  if (now?.size === seen.size && now.mtimeMs === seen.mtimeMs && now.ino === seen.ino) return;
  throw new AppError('file_changed', {
    detail: `${path} changed while it was read. What was sent before stays; import it again once it rests.`,
  });
}

async function readable<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw unreadable(path, error);
  }
}

function unreadable(path: string, error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof AppError) return error;
  const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
  const reason = isMissing ? 'there is no such file' : reasonOf(error);
  return new AppError('file_unreadable', {
    detail: `${path} cannot be read: ${reason}.`,
    cause: error,
  });
}

/** What DuckDB says, without its advice on its own options. */
function reasonOf(error: Error): string {
  if (!(error instanceof DuckDbError)) return error.message;
  const [said = ''] = error.message.split(/\n\s*(?:Possible|LINE 1:|\n)/);
  return said
    .replace(/^Invalid Input Error: /, '')
    .replaceAll(/\s+/g, ' ')
    .trim();
}

type Content = Pick<ImportFile, 'columns' | 'rows' | 'faults' | 'records'> & {
  readonly typed: TypedSource | null;
};

/** A file of NDJSON. */
async function openLines(path: string, { mapping }: ImportOptions): Promise<Content> {
  const map = createLineMapper(mapping);
  return {
    columns: null,
    rows: null,
    faults: [],
    typed: null,
    async *records(from) {
      const file = createReadStream(path, { highWaterMark: 2 ** 18 });
      const gunzip = path.endsWith('.gz') ? createGunzip() : null;
      file.on('error', (error) => gunzip?.destroy(error));
      const bytes: AsyncIterable<Buffer> = gunzip === null ? file : file.pipe(gunzip);
      let next = 0;
      try {
        for await (const { lines, end, overlongBytes } of splitLines(bytes, maxLineBytes)) {
          if (overlongBytes > 0) throw new Error(`line ${end.line + 1} has more than 16 MiB`);
          let text = '';
          const first = Math.max(from, next);
          for (const line of lines) {
            if (line.index < from) continue;
            // Lines that are blank stay, so that all keep their numbers. One that is not UTF-8 is refused as such.
            text += '\n'.repeat(line.index - Math.max(next, from));
            text += `${line.text === null ? notUtf8 : map(line.text)}\n`;
            next = line.index + 1;
          }
          if (text !== '') yield { text: encode(text), rows: next - first };
        }
      } finally {
        file.destroy();
        gunzip?.destroy();
      }
    },
  };
}

/** A character that UTF-8 has no bytes for: `encode` writes a byte that no UTF-8 has. */
const notUtf8 = '\ud800';

function encode(text: string): Buffer {
  if (!text.includes(notUtf8)) return Buffer.from(text);
  return Buffer.concat(
    text
      .split(notUtf8)
      .flatMap((part, index) => [...(index > 0 ? [Buffer.of(0xff)] : []), Buffer.from(part)]),
  );
}

/** A file whose rows DuckDB reads. Cells of CSV are text: what looks like a number may be an id. */
async function openTable(
  duckdb: DuckDbStream,
  path: string,
  format: 'parquet' | 'csv',
  { mapping, delimiter }: ImportOptions,
): Promise<Content> {
  const table =
    format === 'parquet'
      ? await describeParquet(duckdb, path)
      : await describeCsv(duckdb, path, delimiter);
  const names = table.columns.map(({ name }) => name);
  const roleOf = createRoles(mapping, hasWholeEnrichment(mapping, names));
  const faults = mappingFaults(mapping, names);
  const keys: string[] = [];
  const fields = new Map<RecordField, string>();
  for (const { name, sql, type } of table.columns) {
    const role = roleOf(name);
    if (role === 'skipped' || role === 'unknown') continue;
    const json = jsonSql(type, sql);
    if (json === null) faults.push(`column ${name} has the type ${type.text}: --skip ${name}`);
    else if (role === 'key') keys.push(`${literal(`${JSON.stringify(name)}:`)} || ${json}`);
    else fields.set(role, json);
  }
  if (!fields.has('enrichment') && mapping.values.enrichment === undefined) {
    // What is NULL is left out.
    fields.set('enrichment', `'{' || concat_ws(',', ${keys.join(', ') || "''"}) || '}'`);
  }
  const list = typedColumns(table.columns, { mapping, roleOf });
  const shape =
    list === null || faults.length > 0 || !table.isNumbered
      ? null
      : await shapeOf(duckdb, `select ${list} from ${table.source}`);
  return {
    columns: table.columns.map(({ name, type }) => ({ name, type: type.text })),
    // Only rows that are counted can be staged. Of a file that breaks off, those before that are sent one by one.
    rows: table.rows ?? (shape === null ? null : await countRows(duckdb, table).catch(() => null)),
    faults,
    typed:
      shape === null
        ? null
        : {
            shape,
            rows: (from, until) =>
              `select row, ${list} from ${table.numbered} where row >= ${from} and row < ${until}`,
          },
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
  /** Whether no column of the file has this name already. */
  readonly isNumbered: boolean;
  readonly rows: number | null;
  readonly columns: readonly (Awaited<ReturnType<DuckDbStream['describe']>>[number] & {
    /** The column in SQL. */
    readonly sql: string;
  })[];
};

async function describeParquet(duckdb: DuckDbStream, path: string): Promise<Table> {
  const source = `read_parquet(${literal(path)}, hive_partitioning = false)`;
  const columns = await duckdb.describe(`select * from ${source}`);
  const counts = `select num_rows::varchar from parquet_file_metadata(${literal(path)})`;
  const [rows = '0'] = await firstColumn(duckdb, counts);
  const numbers = 'file_row_number = true, hive_partitioning = false';
  return {
    source,
    numbered: `(select * exclude (file_row_number), file_row_number as row from read_parquet(${literal(path)}, ${numbers}))`,
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
  const csv = (count: number, more: string) => `read_csv(${literal(path)}, auto_detect = false,
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
    isNumbered: true,
    rows: null,
    columns: names.map((name, index) => ({ name: String(name), type: textType, sql: `c${index}` })),
  };
}

async function countRows(duckdb: DuckDbStream, { source }: Table): Promise<number> {
  const [rows = '0'] = await firstColumn(duckdb, `select count(*)::varchar from ${source}`);
  return Number(rows);
}

async function firstColumn(duckdb: DuckDbStream, query: string): Promise<(string | null)[]> {
  const values: (string | null)[] = [];
  for await (const { columns } of duckdb.rows(query)) values.push(...(columns[0] ?? []));
  return values;
}
