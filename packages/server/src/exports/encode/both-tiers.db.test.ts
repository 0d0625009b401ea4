import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import sql from 'sql-template-tag';
import { beforeAll, expect, test } from 'vitest';
import { useTestDatabase } from '../../../test/database.ts';
import { runs } from '../../../test/runs.ts';
import { createGate } from '../../kernel/gate.ts';
import { openDatabase } from '../../platform/postgres/open-database.ts';
import { type CutOptions, type Slice, sumLeafDays } from '../../records/index.ts';
import { numberedRecords } from '../../records/ingest/testing/post-records.ts';
import { type ColdStore, useColdStore } from '../../records/read/testing/cold-store.ts';
import { compact, freeze } from '../../records/read/testing/freeze.ts';
import { ingest } from '../../records/read/testing/walk.ts';
import { usualCut } from '../../records/steps/cut-steps.ts';
import { createFormat } from '../formats/create-format.ts';
import type { FileOptions } from '../formats/format.ts';
import { awkwardRecord } from '../formats/testing/awkward.ts';
import { startFile } from '../stream-file.ts';
import { exportColumns } from '../values.ts';
import type { ExportSource } from './rows.ts';

// Whatever lies where, an export is the same bytes.

const db = useTestDatabase();
const cold = useColdStore();
let spoolDir: string;
beforeAll(async () => {
  spoolDir = await mkdtemp(join(cold.spoolDir, 'exports-'));
});

type Own = Omit<Slice, 'tenants'>;

const plain = exportColumns.filter((column) => column !== 'split');

function start(slice: Own, options: Partial<FileOptions> = {}, source: Partial<ExportSource> = {}) {
  const format = createFormat({
    format: 'csv',
    columns: plain,
    header: true,
    profile: 'machine',
    compression: 'none',
    ...options,
  });
  const dirs = { spillDir: spoolDir, spillBytes: 2 ** 26, spoolDir };
  const from = { db, cold, ...dirs, encoders: createGate(2), ...source };
  const own = { ...slice, tenants: null };
  return startFile(from, { format, compression: 'none', slice: own, parts: null });
}

async function exportCsv(
  slice: Own,
  options: Partial<FileOptions> = {},
  source: Partial<ExportSource> = {},
) {
  const csv = start(slice, options, source);
  try {
    const rowCount = await csv.rowCount;
    const chunks: Buffer[] = [];
    for await (const chunk of csv.chunks()) chunks.push(chunk);
    // A byte is a character: what differs in its bytes differs here.
    return { rowCount, text: Buffer.concat(chunks).toString('latin1') };
  } finally {
    await csv.close();
    expect(await readdir(spoolDir)).toEqual([]);
  }
}

const fine: CutOptions = { firstRows: 2, chunkRows: 5, chunkBytes: 2_000, smallRows: 3 };

const formats = [{}, { format: 'ndjson' }, { format: 'parquet', header: false }] as const;

test('any records in any places make the same bytes in each format, however cut', async () => {
  let run = 0;
  const exportFormats = async (tenant: string, source: Partial<ExportSource> = {}) => {
    const all = [];
    for (const shape of formats) all.push(await exportCsv({ tenant }, shape, source));
    return all;
  };
  const record = fc.record({ number: fc.nat({ max: 999 }), at: fc.nat({ max: 3 }) });
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(record, { selector: ({ number }) => number, minLength: 1, maxLength: 60 }),
      fc.constantFrom(fine, usualCut, { ...fine, smallRows: 50 }, { ...fine, chunkRows: 1 }),
      async (records, cut) => {
        run += 1;
        const tenant = `any-${run}`;
        const texts = records.map(({ number, at }) => {
          const text = awkwardRecord(tenant, number).text;
          return text.replace(
            '"enrichment":{',
            `"enrichment":{"at":${at}${text.endsWith('{}}') ? '' : ','}`,
          );
        });
        const unique = [...new Map(texts.map((text) => [keyOf(text), text])).values()];
        await ingest(db, cold, [unique]);
        const hot = await exportFormats(tenant, { groupBytes: 2_000 });
        for (const at of [1, 2, 3]) {
          const filter = `enrichment like '{"at":${at}%'`;
          await freeze(db, cold, { tenant, filter, id: `seg_${run}_${at}` });
          expect(await exportFormats(tenant, { cut, groupBytes: 2_000 })).toEqual(hot);
        }
      },
    ),
    { numRuns: runs(8) },
  );
});

function keyOf(text: string): string {
  const { store, occurred_at, event_id } = JSON.parse(text) as Record<string, string>;
  return [store, occurred_at, event_id].join('/');
}

const bulk = 12_000;

/** Enough that a few megabytes of it are still to come when the first bytes are there. */
async function makeBulk(tenant: string): Promise<void> {
  const enrichment = { filler: 'x'.repeat(600) };
  await ingest(db, cold, [numberedRecords(tenant, bulk, () => ({ enrichment }))]);
  await freeze(db, cold, { tenant, id: `seg_${tenant}` });
}

test('a cold export holds no connection while its reader rests, and no file once it hangs up', async () => {
  await makeBulk('BULK');
  const narrow = openDatabase({ url: db.url, maxConnections: 1, onError: () => {} });
  const opened: string[] = [];
  const objects = { ...cold.objects, open: watchedOpen(opened) };
  try {
    const csv = start({ tenant: 'BULK' }, {}, { db: narrow, cold: { ...cold, objects } });
    expect(await csv.rowCount).toBe(bulk);
    const chunks = csv.chunks();
    expect((await chunks.next()).done).toBe(false);
    // There is but one connection.
    expect(await sumLeafDays(narrow, { tenant: 'BULK', tenants: null })).toMatchObject({
      count: bulk,
      cold_count: bulk,
    });
    expect(opened).toHaveLength(1);
    await csv.close();
    await expect(chunks.next()).rejects.toThrow('closed');
    expect(await readdir(spoolDir)).toEqual([]);
    expect(opened).toEqual([]);
  } finally {
    await narrow.close();
  }
});

test('exports of one process encode together no more chunks than there are places', async () => {
  let running = 0;
  let most = 0;
  type Run = ColdStore['duckdb']['run'];
  const run: Run = async <R extends Record<string, unknown>>(...asked: Parameters<Run>) => {
    most = Math.max(most, ++running);
    try {
      return await cold.duckdb.run<R>(...asked);
    } finally {
      running -= 1;
    }
  };
  const source = {
    cold: { ...cold, duckdb: { ...cold.duckdb, run } },
    encoders: createGate(2),
    cut: { ...usualCut, firstRows: 1_000, chunkRows: 2_000 },
  };
  const texts = await Promise.all(
    [1, 2, 3, 4].map(async () => {
      const csv = start({ tenant: 'BULK' }, {}, source);
      const chunks: Buffer[] = [];
      for await (const chunk of csv.chunks()) chunks.push(chunk);
      await csv.close();
      return Buffer.concat(chunks).toString('latin1');
    }),
  );
  expect(new Set(texts).size).toBe(1);
  expect(texts[0]?.split('\n')).toHaveLength(bulk + 2);
  expect(most).toBe(2);
});

/** Opens objects, and keeps the paths of those that are not released. */
function watchedOpen(paths: string[]): ColdStore['objects']['open'] {
  return async (ref, options) => {
    const object = await cold.objects.open(ref, options);
    paths.push(object.path);
    return {
      path: object.path,
      async release() {
        paths.splice(paths.indexOf(object.path), 1);
        await object.release();
      },
    };
  };
}

test('a slice that is all hot does not start DuckDB', async () => {
  await ingest(db, cold, [[awkwardRecord('HOT', 1).text]]);
  const duckdb = { ...cold.duckdb, run: () => Promise.reject(new Error('DuckDB ran')) };
  const answer = await exportCsv({ tenant: 'HOT' }, {}, { cold: { ...cold, duckdb } });
  expect(answer.rowCount).toBe(1);
  const kinds = await exportCsv({ tenant: 'HOT', kind: 'none' }, {}, { cold: { ...cold, duckdb } });
  expect(kinds.rowCount).toBe(0);
});

test('a damaged segment fails before the first byte, and says whose data it is', async () => {
  await ingest(db, cold, [[awkwardRecord('BAD', 1).text, awkwardRecord('BAD', 2).text]]);
  await freeze(db, cold, { tenant: 'BAD', id: 'seg_bad' });
  const [segment] = await db.query<{ object_key: string }>(
    sql`select object_key from segments where tenant = 'BAD'`,
  );
  const path = join(cold.dir, segment?.object_key ?? '');
  const bytes = await readFile(path);
  const flipped = Buffer.from(bytes);
  flipped.writeUInt8(flipped.readUInt8(100) ^ 1, 100);
  await writeFile(path, flipped);
  const said = {
    code: 'segment_damaged',
    detail: expect.stringContaining('tenant BAD from 2001-01-30'),
  };
  await expect(exportCsv({ tenant: 'BAD' })).rejects.toMatchObject(said);
  await rm(path);
  await expect(exportCsv({ tenant: 'BAD' })).rejects.toMatchObject(said);
  // Days that lie elsewhere are not concerned.
  expect(
    (await exportCsv({ tenant: 'BAD', from: '2005-01-01', until: '2005-01-02' })).rowCount,
  ).toBe(0);
  await writeFile(path, bytes);
  expect((await exportCsv({ tenant: 'BAD' })).rowCount).toBe(2);
});

test('a segment that was replaced since the snapshot is no damage: the call may be repeated', async () => {
  await ingest(db, cold, [[awkwardRecord('NEW', 1).text]]);
  await freeze(db, cold, { tenant: 'NEW', id: 'seg_new1' });
  let isReplaced = false;
  const open: ColdStore['objects']['open'] = async (ref, options) => {
    if (!isReplaced) {
      isReplaced = true;
      await compact(db, cold, { tenant: 'NEW', id: 'seg_new2' });
    }
    return cold.objects.open(ref, options);
  };
  const source = { cold: { ...cold, objects: { ...cold.objects, open } } };
  await expect(exportCsv({ tenant: 'NEW' }, {}, source)).rejects.toMatchObject({
    code: 'cold_tier_unavailable',
  });
  expect((await exportCsv({ tenant: 'NEW' }, {}, source)).rowCount).toBe(1);
});

test('an export is never short: rows that the catalogue does not tell of are an error', async () => {
  await ingest(db, cold, [Array.from({ length: 30 }, (_, n) => awkwardRecord('WRONG', n).text)]);
  await freeze(db, cold, { tenant: 'WRONG', id: 'seg_wrong' });
  await db.pool.query(
    `update segment_days set count = count - 1 where tenant = 'WRONG' and first_row = 0`,
  );
  await expect(exportCsv({ tenant: 'WRONG' })).rejects.toMatchObject({ code: 'internal_error' });
});
