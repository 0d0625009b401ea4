import { createHash } from 'node:crypto';
import { mkdtemp, open, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { gunzipSync } from 'node:zlib';
import { from as copyFrom } from 'pg-copy-streams';
import sql from 'sql-template-tag';
import { beforeAll, describe, expect, test } from 'vitest';
import { useTestDatabase } from '../../../test/database.ts';
import { outlast } from '../../../test/outlast.ts';
import { createGate } from '../../kernel/gate.ts';
import { literal } from '../../platform/duckdb.ts';
import {
  type CutOptions,
  cutParts,
  type KeyRange,
  measureSlice,
  type Slice,
} from '../../records/index.ts';
import { useColdStore } from '../../records/read/testing/cold-store.ts';
import { freeze } from '../../records/read/testing/freeze.ts';
import { ingest } from '../../records/read/testing/walk.ts';
import type { Snapshot } from '../encode/both-tiers.ts';
import { bytesOf } from '../encode/chunk-files.ts';
import { pickField } from '../encode/re-encode.ts';
import type { ExportSource } from '../encode/rows.ts';
import { startFile } from '../stream-file.ts';
import { type ExportColumn, exportColumns, recordColumns } from '../values.ts';
import { createFormat } from './create-format.ts';
import type { FileOptions } from './format.ts';
import { parseLayout } from './parquet/parquet.ts';
import { readThrift, type ThriftValue } from './parquet/thrift.ts';
import { startBody } from './start-body.ts';
import { awkwardRecord, inKeyOrder } from './testing/awkward.ts';
import { type Row, readCsv, readNdjson, readParquet } from './testing/read-file.ts';
import { unpackFrame } from './testing/zstd.ts';

// The same records are the same file, wherever they lie; and whoever reads it finds them to the letter.

const sent = inKeyOrder(Array.from({ length: 330 }, (_, n) => awkwardRecord('T', n)));
const shares = { train: 60, validation: 30, test: 10 };
const slice: Slice = { tenant: 'T', tenants: null, shares };

const moves = {
  'some days cold': { lastDay: '2001-01-31', id: 'seg_1' },
  'days with both': { filter: 'bytes % 2 = 0', id: 'seg_2' },
  'days in several segments': { filter: `store = 'b' or store = '"q"'`, id: 'seg_3' },
  'all cold': { id: 'seg_4' },
};
/** Where rows of one day are hot, and in several segments. */
const mixed: keyof typeof moves = 'days in several segments';

const base = { header: false, profile: 'machine', compression: 'none' } as const;
const absent = ['model', 'split', 'kind'];
const paths = ['enrichment.a.b.0', 'event_id', 'enrichment.f', 'bytes', 'enrichment.a'];
const shapes: Record<string, FileOptions> = {
  csv: { ...base, format: 'csv', columns: exportColumns },
  'csv of paths': { ...base, format: 'csv', columns: paths },
  'csv of some column': { ...base, format: 'csv', columns: ['model'] },
  'csv for some spreadsheet': {
    ...base,
    format: 'csv',
    columns: exportColumns,
    profile: 'spreadsheet',
  },
  'csv as gzip': { ...base, format: 'csv', columns: exportColumns, compression: 'gzip' },
  ndjson: { ...base, format: 'ndjson', columns: recordColumns },
  'ndjson of all columns': { ...base, format: 'ndjson', columns: exportColumns },
  'ndjson of what may be absent': { ...base, format: 'ndjson', columns: absent },
  'ndjson of paths': { ...base, format: 'ndjson', columns: paths },
  'ndjson as zstd': { ...base, format: 'ndjson', columns: recordColumns, compression: 'zstd' },
  parquet: { ...base, format: 'parquet', columns: exportColumns },
  'parquet of some columns': { ...base, format: 'parquet', columns: ['kind', 'occurred_at'] },
  'parquet of paths': { ...base, format: 'parquet', columns: paths },
};
const slices: Partial<Slice>[] = [
  { store: 'b' },
  { from: '2001-02-01', until: '2001-03-01' },
  { from: '2001-01-31', until: '2001-02-02', store: 'A' },
  { kind: '' },
  { kind: '\u{FEFF}marked', store: 'A' },
  { source: '=1+1' },
  { from: '2010-01-01', until: '2011-01-01' },
];
/** Every file as it was when all was hot. */
const files = new Map<string, Buffer>();

const db = useTestDatabase();
const cold = useColdStore();
let spoolDir: string;
let parts: KeyRange[];
let expected: Row[];
beforeAll(async () => {
  spoolDir = await mkdtemp(join(cold.spoolDir, 'formats-'));
  await ingest(db, cold, [sent.map(({ text }) => text)]);
  await db.pool.query(`insert into tags (tenant, id, store, first_day, last_day, dataset, created_by)
    values ('T', 'tag_1', null, '2001-01-31', '2001-02-01', 'training', 'x'),
      ('T', 'tag_2', '"q"', null, '2001-02-01', 'fine_tuning', 'x'),
      ('T', 'tag_3', 'b', '2001-02-02', null, 'training', 'x')`);
  parts = await cutParts(db, slice, { rows: 60, bytes: 2 ** 40 });
  expect(parts.length).toBeGreaterThan(3);
  expected = await expectedRows();
  for (const [name, shape] of Object.entries(shapes)) files.set(name, await write(shape));
});

function source(cut?: CutOptions, dir = spoolDir): ExportSource {
  const spillBytes = 2 ** 26;
  const encoders = createGate(2);
  const dirs = { spillDir: dir, spoolDir: dir };
  const own = { db, cold, ...dirs, spillBytes, encoders, groupBytes: 9_000 };
  return cut === undefined ? own : { ...own, cut };
}

type Way = { parts?: readonly KeyRange[]; own?: Slice; cut?: CutOptions };

async function write(options: FileOptions, way: Way = {}): Promise<Buffer> {
  const { compression } = options;
  const format = createFormat(options);
  const request = { format, compression, slice: way.own ?? slice, parts: way.parts ?? null };
  const dir = await mkdtemp(join(spoolDir, 'file-'));
  const file = startFile(source(way.cut, dir), request);
  try {
    const pieces: Buffer[] = [];
    for await (const piece of file.chunks()) pieces.push(piece);
    const bytes = Buffer.concat(pieces);
    expect(file.sha256()).toEqual(createHash('sha256').update(bytes).digest());
    return bytes;
  } finally {
    await file.close();
    expect(await readdir(dir)).toEqual([]);
  }
}

async function expectedRows(): Promise<Row[]> {
  const { rows } = await db.pool.query<{ event_id: string; at: string }>(
    `select event_id, to_char(recorded_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at
    from enrichment_records where tenant = 'T'`,
  );
  const recordedAt = new Map(rows.map(({ event_id, at }) => [event_id, at]));
  return sent.map(({ cells }) => {
    const id = String(cells.event_id);
    const row: Row = { ...cells, recorded_at: recordedAt.get(id) ?? '' };
    const place = Math.floor(
      (Number.parseInt(createHash('md5').update(id).digest('hex').slice(0, 8), 16) * 100) / 2 ** 32,
    );
    row.split = place < 60 ? 'train' : place < 90 ? 'validation' : 'test';
    row.datasets = datasetsOf(String(cells.store), String(cells.occurred_at).slice(0, 10));
    for (const path of paths.filter((name) => name.startsWith('enrichment.'))) {
      row[path] = pickField(cells.enrichment, path.split('.').slice(1))?.text ?? null;
    }
    return row;
  });
}

function datasetsOf(store: string, day: string): string | null {
  const isTraining =
    (day >= '2001-01-31' && day <= '2001-02-01') || (store === 'b' && day >= '2001-02-02');
  const isFineTuning = store === '"q"' && day <= '2001-02-01';
  const names = [...(isTraining ? ['training'] : []), ...(isFineTuning ? ['fine_tuning'] : [])];
  return names.length === 0 ? null : names.join(';');
}

function only(columns: readonly string[], rows: readonly Row[]): Row[] {
  return rows.map((row) => Object.fromEntries(columns.map((name) => [name, row[name] ?? null])));
}

function fileOf(name: string): Buffer {
  return files.get(name) ?? Buffer.alloc(0);
}

describe('while all is hot', () => {
  test('a CSV reader finds the records', () => {
    expect(readCsv(fileOf('csv'), exportColumns)).toEqual(only(exportColumns, expected));
    expect(readCsv(fileOf('csv of paths'), paths)).toEqual(only(paths, expected));
  });

  test('PostgreSQL finds the records in CSV', async () => {
    const names = exportColumns.map((name) => `"${name}"`);
    const rows = await db.transaction(async ({ client }) => {
      const columns = names.map((name) => `${name} text`).join(', ');
      await client.query(`create temporary table read (place serial, ${columns}) on commit drop`);
      const copy = copyFrom(`copy read (${names.join(', ')}) from stdin with (format csv)`);
      await pipeline(Readable.from([fileOf('csv')]), client.query(copy));
      return (await client.query<Row>(`select ${names.join(', ')} from read order by place`)).rows;
    });
    expect(rows).toEqual(only(exportColumns, expected));
  });

  test('each line of NDJSON is the record as it was sent, and as long as it was measured', () => {
    const lines = fileOf('ndjson').toString().split('\n');
    expect(lines.pop()).toBe('');
    expect(lines).toEqual(sent.map(({ text }) => text));
    expect(lines.map((line) => String(Buffer.byteLength(line)))).toEqual(
      sent.map(({ cells }) => cells.bytes),
    );
  });

  test('JSON.parse finds the columns asked for, in their order', () => {
    const rows = readNdjson(fileOf('ndjson of all columns'), exportColumns);
    const asJson = (rows: readonly Row[]) =>
      rows.map((row) => ({
        ...row,
        confidence: row.confidence == null ? null : JSON.stringify(Number(row.confidence)),
        enrichment: JSON.stringify(JSON.parse(row.enrichment ?? '')),
      }));
    expect(rows).toEqual(asJson(only(exportColumns, expected)));
    const keys = Object.keys(
      JSON.parse(fileOf('ndjson of all columns').toString().split('\n')[1] ?? ''),
    );
    expect(keys).toEqual(exportColumns.filter((name) => keys.includes(name)));
    expect(readNdjson(fileOf('ndjson of what may be absent'), absent)).toEqual(
      only(absent, expected),
    );
  });

  test('a field path is its JSON as it is spelled', () => {
    const [line] = fileOf('ndjson of paths')
      .toString()
      .split('\n')
      .filter((text) => text.includes('"enrichment.f":1.0'));
    expect(line).toMatch(
      /^\{"enrichment\.a\.b\.0":"=x","event_id":".*","enrichment\.f":1\.0,"bytes":\d+,"enrichment\.a":\{"b":\["=x"\]\}\}$/,
    );
  });

  test('a Parquet reader in JavaScript finds the records', async () => {
    expect(await readParquet(fileOf('parquet'))).toEqual(only(exportColumns, expected));
    expect(await readParquet(fileOf('parquet of paths'))).toEqual(only(paths, expected));
  });

  test('DuckDB finds the records in Parquet, with types', async () => {
    const path = join(cold.spoolDir, 'read.parquet');
    await writeFile(path, fileOf('parquet'));
    const types = await cold.duckdb.run<{ column_name: string; column_type: string }>(
      `describe select * from ${literal(path)}`,
    );
    const told = Object.fromEntries(types.map((one) => [one.column_name, one.column_type]));
    expect(Object.keys(told)).toEqual([...exportColumns]);
    expect(told).toMatchObject({
      occurred_at: 'TIMESTAMP WITH TIME ZONE',
      bytes: 'INTEGER',
      confidence: 'VARCHAR',
      enrichment: 'VARCHAR',
    });
    const rows = await cold.duckdb.run<{ id: string; enrichment: string }>(
      `select to_json(event_id)::varchar as id, enrichment from ${literal(path)}`,
    );
    expect(rows.map(({ id, enrichment }) => [JSON.parse(id) as string, enrichment])).toEqual(
      expected.map((row) => [row.event_id, row.enrichment]),
    );
    const groups = await cold.duckdb.run<{ count: string; id: string }>(
      `select row_group_id as id, max(row_group_num_rows) as count
      from parquet_metadata(${literal(path)}) group by 1 order by row_group_id`,
    );
    expect(groups.length).toBeGreaterThan(5);
    expect(groups.reduce((sum, { count }) => sum + Number(count), 0)).toBe(sent.length);
    // Bloom filters and statistics stand where the footer says.
    for (const row of expected.slice(0, 5)) {
      const [found] = await cold.duckdb.run<{ count: string }>(
        `select count(*) as count from ${literal(path)}
        where event_id = ${literal(row.event_id ?? '')} and store = ${literal(row.store ?? '')}`,
      );
      expect(found?.count).toBe('1');
    }
  });

  test('what is compressed unpacks to what is not', () => {
    expect(gunzipSync(fileOf('csv as gzip')).equals(fileOf('csv'))).toBe(true);
    expect(unpackFrame(fileOf('ndjson as zstd')).equals(fileOf('ndjson'))).toBe(true);
  });
});

test('a snapshot awaits the answers to long statements', async () => {
  const openRows = async ({ connection }: Snapshot) => {
    await outlast(connection);
    throw new Error('answered');
  };
  const body = startBody(source(), slice, { openRows });
  await expect(body.rowCount).rejects.toThrow('answered');
  await body.close();
});

test('a body takes none of the connections of its caller', async () => {
  const ask = (caller: string) => db.as(caller, () => db.query(sql`select 1 as n`));
  const openRows = async () => {
    await ask('another');
    await ask('its caller');
    throw new Error('answered');
  };
  const body = db.as('its caller', () => startBody(source(), slice, { openRows }));
  await expect(body.rowCount).rejects.toThrow('answered');
  await body.close();
});

test.each(Object.entries(shapes))('%s of no rows reads back', async (_name, shape) => {
  const format = createFormat(shape);
  const body = format.startBody(source(), { ...slice, kind: 'of no record' });
  const dir = await mkdtemp(join(cold.spoolDir, 'none-'));
  const path = join(dir, 'body');
  const pieces: Buffer[] = [];
  for await (const chunk of bytesOf(body.chunks())) pieces.push(chunk);
  await writeFile(path, Buffer.concat(pieces));
  const signal = AbortSignal.timeout(60_000);
  const written = { path, layout: body.layout(), rows: 0, dir, signal };
  await body.close();
  expect(await format.prove(cold.duckdb, written)).toEqual({
    rows: 0,
    digest: format.proof === 'content' ? '0' : null,
  });
});

test('no rows are a whole file', async () => {
  const own = { ...slice, tenant: 'NOBODY' };
  expect(await write({ ...base, format: 'ndjson', columns: recordColumns }, { own })).toHaveLength(
    0,
  );
  const parquet = await write({ ...base, format: 'parquet', columns: exportColumns }, { own });
  expect(await readParquet(parquet)).toEqual([]);
  const path = join(cold.spoolDir, 'none.parquet');
  await writeFile(path, parquet);
  const types = await cold.duckdb.run<{ column_name: string }>(
    `describe select * from ${literal(path)}`,
  );
  expect(types.map(({ column_name }) => column_name)).toEqual([...exportColumns]);
});

/** Tells by its rows what a file holds, however it is cut. */
async function rowsOf(options: FileOptions, bytes: Buffer): Promise<unknown> {
  return options.format === 'parquet' ? readParquet(bytes) : bytes.toString('latin1');
}

const uncompressed = Object.entries(shapes).filter(([, { compression }]) => compression === 'none');

const isPlain = (name: string) => ['csv', 'ndjson', 'parquet'].includes(name);
const plain = uncompressed.filter(([name]) => isPlain(name));

test.each(uncompressed)('%s has the same rows whatever its parts are', async (name, shape) => {
  const whole = await rowsOf(shape, fileOf(name));
  for (const rows of isPlain(name) ? [1, 20, 60, 150, 1_000] : [60]) {
    const parts = await cutParts(db, slice, { rows, bytes: 2 ** 40 });
    expect(await rowsOf(shape, await write(shape, { parts })), `of ${rows} rows`).toEqual(whole);
  }
});

test.each(uncompressed)('%s reads back, and tells when a byte was changed', async (name, shape) => {
  await proveParts(name, shape, false);
});

/** `isSummed` says that the digest is known where the rows are encoded, too. */
async function proveParts(name: string, shape: FileOptions, isSummed: boolean): Promise<void> {
  const hasContent = !['paths', 'absent', 'some'].some((word) => name.includes(word));
  const format = createFormat(shape);
  expect(format.proof).toBe(hasContent ? 'content' : 'rows');
  for (const range of [parts[1], parts.at(-1)]) {
    const own = { ...slice, range };
    const body = format.startBody(source(), own, { countsFirst: false, sumsDigest: true });
    const dir = await mkdtemp(join(cold.spoolDir, 'prove-'));
    const path = join(dir, 'body');
    const file = await open(path, 'wx');
    for await (const chunk of bytesOf(body.chunks())) await file.writeFile(chunk);
    await file.close();
    const rows = await body.rowCount;
    const written = { path, layout: body.layout(), rows, dir, signal: AbortSignal.timeout(60_000) };
    await body.close();
    const { count, digest } = await measureSlice(db, own, cold);
    expect(body.digest()).toBe(isSummed ? digest : null);
    const proved = await format.prove(cold.duckdb, written);
    expect(proved).toEqual({ rows: count, digest: hasContent ? digest : null });
    expect(rows).toBe(count);
    expect(await readdir(dir)).toEqual(['body']);
    if (hasContent) await expectRed(shape, { ...written, digest });
  }
}

/** Changes bytes of the written body one by one. */
async function expectRed(
  shape: FileOptions,
  written: Parameters<ReturnType<typeof createFormat>['prove']>[1] & { digest: string },
): Promise<void> {
  const format = createFormat(shape);
  const bytes = await readFile(written.path);
  const at =
    shape.format === 'parquet'
      ? [pageOf(written.layout, 'event_id') + 45, pageOf(written.layout, 'enrichment') + 60]
      : // A name, a time, and what stands at the end of the enrichment.
        [bytes.indexOf('2001-0') + 9, bytes.lastIndexOf('=1+1') + 1, bytes.lastIndexOf('":')];
  for (const place of at) {
    const changed = Buffer.from(bytes);
    changed.writeUInt8(changed.readUInt8(place) ^ 1, place);
    await writeFile(written.path, changed);
    const proved = await format.prove(cold.duckdb, written).catch(() => null);
    expect(proved?.digest ?? null, `byte ${place}`).not.toBe(written.digest);
  }
}

/** Where the first page of a column begins: its dictionary, if it has one. */
function pageOf(layout: unknown, column: ExportColumn): number {
  const [group] = parseLayout(layout).groups;
  const { fields } = readThrift(Buffer.from(group ?? '', 'base64'));
  const columns = fields.get(1);
  const at = exportColumns.indexOf(column);
  const chunk = columns?.type === 'list' ? columns.items[at] : undefined;
  const meta = chunk?.type === 'struct' ? chunk.fields.get(3) : undefined;
  const offsets = meta?.type === 'struct' ? meta.fields : new Map<number, ThriftValue>();
  const offset = offsets.get(11) ?? offsets.get(9);
  if (offset?.type !== 'i64') throw new Error('there is no such page');
  return Number(offset.value);
}

const fine: CutOptions = { firstRows: 2, chunkRows: 17, chunkBytes: 6_000, smallRows: 3 };

test('every file is the same bytes while its records move from tier to tier', async () => {
  const someAtOnce = createGate(3);
  const writeAll = async (named: readonly [string, FileOptions][], way: Way = {}) => {
    const writing = named.map(async ([name, shape]) => {
      const bytes = await someAtOnce.run(() => write(shape, way));
      return [name, bytes] as const;
    });
    return Promise.all(writing);
  };
  const byParts = new Map(await writeAll(uncompressed, { parts }));
  const expectSame = async (
    named: readonly [string, FileOptions][],
    { way, how, are = files }: { way?: Way; how: string; are?: ReadonlyMap<string, Buffer> },
  ) => {
    for (const [name, bytes] of await writeAll(named, way)) {
      expect(bytes.equals(are.get(name) ?? Buffer.alloc(0)), `${name} ${how}`).toBe(true);
    }
  };
  const csv: FileOptions = { ...base, format: 'csv', columns: exportColumns };
  const writeSlices = () =>
    Promise.all(slices.map(async (own) => String(await write(csv, { own: { ...slice, ...own } }))));
  const asHot = await writeSlices();
  expect(new Set(asHot).size).toBe(slices.length);
  for (const [place, move] of Object.entries(moves)) {
    expect(await freeze(db, cold, { tenant: 'T', ...move }), place).toBe(true);
    expect(await writeSlices(), place).toEqual(asHot);
    await expectSame(Object.entries(shapes), { how: place });
    await expectSame(plain, { way: { cut: fine }, how: `cut finely, ${place}` });
    // How the shapes differ does not depend on where the parts lie: all are tried where a part has every kind of row.
    const some = place === mixed ? uncompressed : plain;
    await expectSame(some, { way: { parts }, how: `by parts, ${place}`, are: byParts });
  }
});

test.each(uncompressed)('%s reads back when all is cold', async (name, shape) => {
  await proveParts(name, shape, shape.format !== 'parquet');
});
