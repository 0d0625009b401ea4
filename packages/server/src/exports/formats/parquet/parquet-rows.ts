import { mkdir, open, rm, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { randomText } from '../../../kernel/ids.ts';
import type { ColdPiece, Snapshot } from '../../encode/both-tiers.ts';
import { filePiece, type RowPiece } from '../../encode/chunk-files.ts';
import { rowEnd } from '../../encode/csv-cells.ts';
import type { TierRows } from '../../encode/rows.ts';
import type { FileColumns } from '../format.ts';
import { joinGroups, magic, type PlacedGroups, readFooter } from './footer.ts';
import { type GroupPiece, placesSql, writeGroupSql } from './group-sql.ts';

/** How many row groups are encoded while the one before them is read. */
const groupsAhead = 2;
/** The time limit for encoding one row group. */
const groupMillis = 600_000;

/** A row group as bytes of the file, and what the footer says of it. */
type Encoded = { readonly bytes: RowPiece; readonly groups: PlacedGroups };

/** The rows of a slice as Parquet. */
export type ParquetRows = TierRows & {
  /** The row groups that were written so far. */
  readonly groups: readonly PlacedGroups[];
};

/** Turns rows into Parquet row groups: DuckDB writes each into a file, of which only offsets change in the footer. */
export async function openParquetRows(
  snapshot: Snapshot,
  source: TierRows<Buffer | ColdPiece>,
  columns: FileColumns,
  told: () => object = () => ({}),
): Promise<ParquetRows> {
  const dir = join(snapshot.spoolDir, `export-${randomText(12)}`);
  let files = 0;
  const nextPath = () => join(dir, String(files++));
  const cutter = new GroupCutter(snapshot, nextPath);
  const ahead: Promise<Encoded>[] = [];
  const groups: PlacedGroups[] = [];
  let rowCount = 0;
  try {
    await mkdir(dir, { mode: 0o700 });
  } catch (error) {
    await source.close();
    throw error;
  }

  const start = (group: Group) => {
    const target = { columns, path: nextPath() };
    const made = snapshot.encoders.run(() => encodeGroup(group, snapshot, target));
    // Whoever waits for the group gets this error; until then nobody may be waiting.
    made.catch(() => {});
    ahead.push(made);
  };
  const take = async function* (left: number): AsyncGenerator<RowPiece> {
    while (ahead.length > left) {
      const made = await ahead.shift();
      if (made === undefined) return;
      groups.push(made.groups);
      rowCount += made.groups.rows;
      yield made.bytes;
    }
  };
  const encode = async function* (
    pieces: AsyncIterable<Buffer | ColdPiece>,
  ): AsyncGenerator<RowPiece> {
    for await (const piece of pieces) {
      const full = Buffer.isBuffer(piece) ? cutter.addCsv(piece) : cutter.addCold(piece);
      for await (const group of full) {
        start(group);
        yield* take(groupsAhead);
      }
    }
  };
  return {
    groups,
    layout() {
      const joined = joinGroups(groups);
      return { rows: joined.rows, groups: joined.groups, ...told() };
    },
    whileConnected: () => encode(source.whileConnected()),
    async *afterwards() {
      yield* encode(source.afterwards());
      for await (const group of cutter.end()) start(group);
      yield* take(0);
    },
    get rowCount() {
      return rowCount;
    },
    digest: null,
    async close() {
      await Promise.allSettled(ahead);
      await cutter.close();
      await rm(dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
      await source.close();
    },
  };
}

async function encodeGroup(
  { pieces, count }: Group,
  snapshot: Snapshot,
  target: { columns: FileColumns; path: string },
): Promise<Encoded> {
  const { slice, signal, cold } = snapshot;
  const { columns, path } = target;
  await cold.duckdb.run(writeGroupSql(pieces, { slice, columns, path }), {
    signal,
    timeoutMillis: groupMillis,
  });
  for (const piece of pieces) if (piece.kind === 'csv') await unlink(piece.path);
  const { start, footer } = await readEnd(path);
  const groups = readFooter(footer, columns);
  // Only of several pieces is the order in doubt when DuckDB has made several row groups of them.
  if (groups.rows !== count || (pieces.length > 1 && groups.groups.length > 1)) {
    throw new Error(
      `DuckDB wrote ${groups.rows} rows in ${groups.groups.length} groups, not ${count}`,
    );
  }
  const bytes = filePiece(path, { start: magic.length, end: start });
  return { bytes, groups: { ...groups, sizeBytes: bytes.length } };
}

/** Reads the footer of a Parquet file, and where it begins. */
async function readEnd(path: string): Promise<{ start: number; footer: Buffer }> {
  const file = await open(path, 'r');
  try {
    const end = (await file.stat()).size - 2 * magic.length;
    const { buffer: length } = await file.read(Buffer.alloc(magic.length), 0, magic.length, end);
    const size = length.readUInt32LE();
    const start = end - size;
    const { buffer: footer } = await file.read(Buffer.alloc(size), 0, size, start);
    return { start, footer };
  } finally {
    await file.close();
  }
}

/** How many bytes of records make a row group. A record belongs whole to the group that it begins in. */
const usualGroupBytes = 16 * 1024 * 1024;
/** The least that a record counts. With it a row group has at most 122,462 records; see `rowGroupSize`. */
const leastBytes = 137;

/** The rows of one row group. */
type Group = { readonly pieces: readonly GroupPiece[]; readonly count: number };

type Place = { number: string; count: string; first: string; last: string; weight: string };

/** Cuts rows in key order into row groups. The rows alone decide where, so that both tiers make the same groups. */
class GroupCutter {
  readonly #snapshot: Snapshot;
  readonly #nextPath: () => string;
  readonly #groupBytes: number;
  #rest = '';
  /** The weight of all rows so far. Divided by the size of a group, it tells the group that the next row belongs to. */
  #weight = 0;
  /** The number of the group that is being filled. */
  #number = 0;
  #pieces: GroupPiece[] = [];
  #count = 0;
  #file: CsvFile | null = null;

  /** `nextPath` returns the path for the next file. */
  constructor(snapshot: Snapshot, nextPath: () => string) {
    this.#snapshot = snapshot;
    this.#nextPath = nextPath;
    this.#groupBytes = snapshot.groupBytes ?? usualGroupBytes;
  }

  /** Takes cells whose first one is `bytes`, cut anywhere. Yields the groups that are full. */
  async *addCsv(piece: Buffer): AsyncGenerator<Group> {
    // One character a byte: the cells are only counted, so their text need not be decoded.
    const text = this.#rest + piece.toString('latin1');
    let start = 0;
    /** Rows before this position are written to a file already. */
    let from = 0;
    for (let end = rowEnd(text, start); end >= 0; end = rowEnd(text, start)) {
      const number = Math.floor(this.#weight / this.#groupBytes);
      if (number !== this.#number) {
        await this.#write(text.slice(from, start));
        from = start;
        yield* this.#end(number);
      }
      this.#file ??= await openCsvFile(this.#nextPath());
      this.#file.longestRow = Math.max(this.#file.longestRow, end - start);
      this.#weight += Math.max(Number.parseInt(text.slice(start, start + 12), 10), leastBytes);
      this.#count += 1;
      start = end + 1;
    }
    await this.#write(text.slice(from, start));
    this.#rest = text.slice(start);
  }

  /** Takes the rows of a cold chunk. Yields the groups that are full. */
  async *addCold(piece: ColdPiece): AsyncGenerator<Group> {
    await this.#closeFile();
    const { cold, slice, signal } = this.#snapshot;
    const places = await cold.duckdb.run<Place>(
      placesSql(piece, { slice, leastBytes, offset: this.#weight, groupBytes: this.#groupBytes }),
      { signal, timeoutMillis: 600_000 },
    );
    for (const { number, count, first, last, weight } of places) {
      if (Number(number) !== this.#number) yield* this.#end(Number(number));
      this.#pieces.push({ kind: 'cold', piece, first, last });
      this.#count += Number(count);
      this.#weight += Number(weight);
    }
  }

  /** Yields the last group. */
  async *end(): AsyncGenerator<Group> {
    if (this.#rest !== '') throw new Error('the last row of a tier is not whole');
    yield* this.#end(this.#number);
  }

  /** Closes the file that is open. It does no harm when there is none. */
  async close(): Promise<void> {
    await this.#closeFile();
  }

  async *#end(next: number): AsyncGenerator<Group> {
    await this.#closeFile();
    const group = { pieces: this.#pieces, count: this.#count };
    this.#pieces = [];
    this.#count = 0;
    this.#number = next;
    if (group.count > 0) yield group;
  }

  async #write(rows: string): Promise<void> {
    if (rows !== '') await this.#file?.write(Buffer.from(rows, 'latin1'));
  }

  async #closeFile(): Promise<void> {
    const file = this.#file;
    this.#file = null;
    if (file === null) return;
    await file.close();
    this.#pieces.push({ kind: 'csv', path: file.path, longestRow: file.longestRow });
  }
}

/** A file of cells for DuckDB to read. */
type CsvFile = {
  readonly path: string;
  /** The length of the longest row, in bytes. */
  longestRow: number;
  write(rows: Buffer): Promise<void>;
  close(): Promise<void>;
};

async function openCsvFile(path: string): Promise<CsvFile> {
  const file = await open(path, 'wx', 0o600);
  return {
    path,
    longestRow: 0,
    async write(rows) {
      await file.writeFile(rows);
    },
    close: () => file.close(),
  };
}
