import { mkdir, readFile, rm, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { randomText } from '../../../kernel/ids.ts';
import type { ColdPiece, Snapshot } from '../../encode/both-tiers.ts';
import type { TierRows } from '../../encode/rows.ts';
import { magic, type PlacedGroups, readFooter } from './footer.ts';
import { type Group, GroupCutter } from './group-rows.ts';
import { writeGroupSql } from './group-sql.ts';

/** How many row groups are encoded while the one before them is read. */
const groupsAhead = 2;
/** The time limit for encoding one row group. */
const groupMillis = 600_000;

/** A row group as bytes of the file, and what the footer says of it. */
type Encoded = { readonly bytes: Buffer; readonly groups: PlacedGroups };

/** The rows of a slice as Parquet. */
export type ParquetRows = TierRows & {
  /** The row groups that were written so far. */
  readonly groups: readonly PlacedGroups[];
};

/**
 * Turns the rows of a slice into Parquet row groups. DuckDB writes each into a file of its own, whose bytes are taken
 * over as they are; only their offsets change, which are in the footer.
 */
export async function openParquetRows(
  snapshot: Snapshot,
  source: TierRows<Buffer | ColdPiece>,
  options: { columns: readonly string[] },
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
    const target = { columns: options.columns, path: nextPath() };
    const made = snapshot.encoders.run(() => encodeGroup(group, snapshot, target));
    // Whoever waits for the group gets this error; until then nobody may be waiting.
    made.catch(() => {});
    ahead.push(made);
  };
  const take = async function* (left: number): AsyncGenerator<Buffer> {
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
  ): AsyncGenerator<Buffer> {
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
  target: { columns: readonly string[]; path: string },
): Promise<Encoded> {
  const { slice, signal, cold } = snapshot;
  const { columns, path } = target;
  await cold.duckdb.run(writeGroupSql(pieces, { slice, columns, path }), {
    signal,
    timeoutMillis: groupMillis,
  });
  for (const piece of pieces) if (piece.kind === 'csv') await unlink(piece.path);
  const file = await readFile(path);
  await unlink(path);
  const end = file.length - 2 * magic.length;
  const start = end - file.readUInt32LE(end);
  const groups = readFooter(file.subarray(start, end), columns);
  // Only of several pieces is the order in doubt when DuckDB has made several row groups of them.
  if (groups.rows !== count || (pieces.length > 1 && groups.groups.length > 1)) {
    throw new Error(
      `DuckDB wrote ${groups.rows} rows in ${groups.groups.length} groups, not ${count}`,
    );
  }
  const bytes = file.subarray(magic.length, start);
  return { bytes, groups: { ...groups, sizeBytes: bytes.length } };
}
