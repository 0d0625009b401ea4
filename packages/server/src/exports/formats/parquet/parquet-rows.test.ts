import { createHash } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createGate } from '../../../kernel/gate.ts';
import { randomText } from '../../../kernel/ids.ts';
import { literal } from '../../../platform/duckdb.ts';
import { useColdStore } from '../../../records/read/testing/cold-store.ts';
import type { ColdPiece, Snapshot } from '../../encode/both-tiers.ts';
import { bytesOf } from '../../encode/chunk-files.ts';
import { dialects } from '../../encode/csv-cells.ts';
import type { TierRows } from '../../encode/rows.ts';
import { joinGroups, magic, writeFooter } from './footer.ts';
import { openParquetRows } from './parquet-rows.ts';

// A group is made of pieces of either tier. Whatever these are, the file has the rows in their order and in the same
// bytes: DuckDB, with one thread, wrote a piece of half a group or more before the smaller ones that precede it.

const columns = ['event_id', 'bytes', 'enrichment'];
/** As many rows as DuckDB puts into a group by default. */
const most = 122_880;

/** Its DuckDB has one thread, as that of a service. */
const cold = useColdStore();
const sourceOf = ({ sizeBytes }: Source) => join(cold.spoolDir, `${sizeBytes}.parquet`);

type Source = { rows: number; sizeBytes: number };

/** Row n has the event id n. */
async function makeSource(made: Source): Promise<void> {
  const { rows, sizeBytes } = made;
  await cold.duckdb.run(`copy (select 'T' as tenant, 'S' as store, n::varchar as event_id,
      make_timestamptz(n) as occurred_at, ${sizeBytes} as bytes,
      repeat('x', ${Math.max(0, sizeBytes - 60)}) as enrichment from range(${rows}) r(n))
    to ${literal(sourceOf(made))} (format parquet, compression zstd, row_group_size 61440)`);
}

/** Rows from one place up to another: of a file, of a file and to be sorted, or out of the database. */
type Cut = { kind: 'cold' | 'sorted' | 'hot'; first: number; until: number };

function pieceOf({ kind, first, until }: Cut, made: Source): Buffer | ColdPiece {
  const { sizeBytes } = made;
  if (kind === 'hot') {
    const filler = 'x'.repeat(Math.max(0, sizeBytes - 60));
    const text = (cell: string) => dialects.cells.encode({ text: cell, isText: true });
    const lines = Array.from(
      { length: until - first },
      (_, n) => `${sizeBytes},${text(String(first + n))},${text(filler)}\n`,
    );
    return Buffer.from(lines.join(''));
  }
  const half = Math.floor((first + until) / 2);
  const ends = kind === 'cold' ? [first, until] : [first, half, until];
  const runs = ends.slice(1).map((end, index) => {
    const firstRow = ends[index] ?? 0;
    return { segmentId: kind === 'cold' ? 'a' : String(index), firstRow, count: end - firstRow };
  });
  return { chunk: { runs, count: until - first }, pathOf: () => sourceOf(made) };
}

async function write(cuts: readonly Cut[], made: Source): Promise<Buffer> {
  const pieces: TierRows<Buffer | ColdPiece> = {
    async *whileConnected() {
      for (const cut of cuts) yield pieceOf(cut, made);
    },
    async *afterwards() {},
    rowCount: 0,
    digest: null,
    close: async () => {},
  };
  const snapshot = {
    slice: { tenant: 'T', tenants: null },
    cold,
    spoolDir: cold.spoolDir,
    encoders: createGate(2),
    signal: AbortSignal.timeout(120_000),
  };
  const rows = await openParquetRows(snapshot as unknown as Snapshot, pieces, { columns });
  try {
    const bytes: Buffer[] = [magic];
    for await (const chunk of bytesOf(rows.whileConnected())) bytes.push(chunk);
    for await (const chunk of bytesOf(rows.afterwards())) bytes.push(chunk);
    expect(rows.rowCount).toBe(made.rows);
    return Buffer.concat([...bytes, writeFooter(joinGroups(rows.groups), { columns })]);
  } finally {
    await rows.close();
  }
}

/** The number of rows, and of those that do not stand where they belong. */
async function orderOf(file: Buffer) {
  const path = join(cold.spoolDir, `read-${randomText(8)}.parquet`);
  await writeFile(path, file);
  const [told] = await cold.duckdb.run<{ rows: string; astray: string }>(
    `select count(*) as rows, count(*) filter (event_id <> file_row_number::varchar) as astray
    from read_parquet(${literal(path)}, file_row_number = true)`,
  );
  await rm(path);
  return { rows: Number(told?.rows), astray: Number(told?.astray) };
}

/** Cuts the rows as chunks are, at every 61,440th, behind a beginning of some other length. */
function cutAll(rows: number, begin: number, kind: Cut['kind']): Cut[] {
  const ends = [0, Math.min(begin, rows)];
  while ((ends.at(-1) ?? rows) < rows) ends.push(Math.min((ends.at(-1) ?? 0) + 61_440, rows));
  return ends
    .slice(1)
    .map((until, index) => ({ kind: index === 0 ? kind : 'cold', first: ends[index] ?? 0, until }));
}

const sizes: Source[] = [
  { sizeBytes: 60, rows: most + 1 },
  { sizeBytes: 137, rows: most - 1 },
  { sizeBytes: 138, rows: most + 5_000 },
  { sizeBytes: 200, rows: 82_517 },
  { sizeBytes: 4096, rows: 9_000 },
  { sizeBytes: 256 * 1024, rows: 70 },
];

test.each(sizes)('$rows records of $sizeBytes bytes are in order however cut', async (made) => {
  await makeSource(made);
  const { rows } = made;
  const hashes = new Set<string>();
  for (const cuts of [
    cutAll(rows, rows, 'hot'),
    cutAll(rows, rows, 'cold'),
    cutAll(rows, 61_440, 'cold'),
    cutAll(rows, Math.floor(rows / 4), 'hot'),
    cutAll(rows, Math.floor(rows / 3), 'sorted'),
  ]) {
    const file = await write(cuts, made);
    expect(await orderOf(file), JSON.stringify(cuts)).toEqual({ rows, astray: 0 });
    hashes.add(createHash('sha256').update(file).digest('hex'));
  }
  expect(hashes.size).toBe(1);
});
