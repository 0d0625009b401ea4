import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import sql from 'sql-template-tag';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { testActor } from '../../../test/actor.ts';
import { untilLockWaits } from '../../../test/one-server.ts';
import { cutParts, measureSlice } from '../../records/index.ts';
import { freeze } from '../../records/read/testing/freeze.ts';

import type { ExportRequest } from '../contract.ts';
import { createFormat } from '../formats/create-format.ts';
import { toSelection } from '../select.ts';
import { startFile } from '../stream-file.ts';
import type { ExportFormat } from '../values.ts';
import { toFileOptions } from './create.ts';
import { lockQueue } from './queries.ts';
import { useTestExports } from './testing/test-exports.ts';

const exports = useTestExports();
beforeAll(() => exports.ingest('T', 100));
beforeEach(() => exports.db.query(sql`delete from exports`));

const tags = {
  training: [{ store: null, from: '2001-03-02', until: '2001-03-06' }],
  fine_tuning: [],
};
const slice = { tenant: 'T', dataset: 'training', tags, tenants: null } as const;

/** As `POST /enrichment/dataset-versions` freezes it. */
type More = { state?: string; change?: string; groupBy?: string };
async function insertVersion(id: string, more: More = {}) {
  const parts = await cutParts(exports.db, slice, { rows: 15, bytes: 2 ** 40 });
  const { count, bytes, digest } = await measureSlice(exports.db, slice, exports.cold);
  await exports.db.query(sql`
    insert into dataset_versions (tenant, id, dataset, name, train_share, validation_share, test_share,
      group_by, slices, tags, recorded_before, count, bytes, digest, parts, state, change, created_by)
    values ('T', ${id}, 'training', ${`v ${id}`}, 60, 20, 20, ${more.groupBy ?? null}, '[]', ${JSON.stringify(tags)}::json,
      clock_timestamp(), ${count}, ${bytes}, ${digest}::numeric, ${JSON.stringify(parts)}::json,
      ${more.state ?? 'ready'}, ${more.change ?? null}, 'test')`);
  return { count, digest, parts };
}
const completed = async (body: object, format: ExportFormat = 'csv') => {
  const { id } = await exports.create(format, { tenant: 'T', ...body });
  await exports.work();
  const job = await exports.job(id);
  expect(job, job.error ?? '').toMatchObject({ state: 'completed' });
  return { ...job, sha256: job.sha256?.toString('hex') };
};

test('an export of a version is the same bytes again, whatever arrived and moved since', async () => {
  const frozen = await insertVersion('ver_1');
  for (const format of ['csv', 'parquet'] as const) {
    const before = await completed({ version: 'ver_1' }, format);
    expect(before).toMatchObject({
      rows_done: frozen.count,
      digest: frozen.digest,
      parts_total: frozen.parts.length,
      version: { id: 'ver_1', dataset: 'training', shares: { train: 60 } },
      file_name: `T_v-ver_1.${format}`,
    });
    await exports.ingest('T', 30, `late-${format}`);
    await freeze(exports.db, exports.cold, {
      tenant: 'T',
      id: `seg_${format}`,
      filter: format === 'csv' ? `store = 'A'` : 'true',
    });
    const after = await completed({ version: 'ver_1' }, format);
    expect(after.sha256).toBe(before.sha256);
  }
});

test('a where picks among the records of a version, and of a split of it', async () => {
  await insertVersion('ver_w');
  const all = await completed({ version: 'ver_w', where: 'n < 50' });
  expect(all).toMatchObject({ file_name: 'T_v-ver_w_where.csv', manifest: { splits: null } });
  expect(all.rows_done).toBeGreaterThan(0);
  const each = [];
  for (const split of ['train', 'validation', 'test'] as const) {
    each.push(await completed({ version: 'ver_w', split, where: 'n < 50' }));
  }
  expect(each.reduce((sum, { rows_done }) => sum + rows_done, 0)).toBe(all.rows_done);
});

const files = [
  ['csv', { compression: 'none' }],
  ['csv', { compression: 'gzip', header: false }],
  ['csv', { compression: 'zstd', profile: 'spreadsheet' }],
  ['csv', { columns: ['split', 'event_id', 'enrichment.n'] }],
  ['ndjson', { compression: 'zstd', columns: ['enrichment.n', 'split'] }],
  ['parquet', {}],
  ['csv', { split: 'test' }],
  ['parquet', { split: 'validation' }],
] as const;

test('a group is in one split of an export, in either tier', async () => {
  await insertVersion('ver_g', { groupBy: 'store' });
  const splitsOf = async () => {
    const { id } = await exports.create('csv', {
      tenant: 'T',
      version: 'ver_g',
      columns: ['split', 'store'],
    });
    await exports.work();
    expect((await exports.job(id)).manifest).toMatchObject({ version: { group_by: 'store' } });
    return new Set((await exports.file(id)).toString().split('\n').slice(1, -1));
  };
  const hot = await splitsOf();
  expect(hot.size).toBe(2);
  await freeze(exports.db, exports.cold, { tenant: 'T', id: 'seg_g', filter: `store = 'B'` });
  expect(await splitsOf()).toEqual(hot);
});

test('a job’s file of a version is to the byte what is streamed of it', async () => {
  await insertVersion('ver_s');
  for (const [format, own] of files) {
    const body = { tenant: 'T', version: 'ver_s', ...own } as ExportRequest;
    const { id, file_name } = await completed(body, format);
    expect((await exports.file(id)).equals(await streamed(format, body)), file_name).toBe(true);
  }
});

test.each(['none', 'gzip', 'zstd'] as const)(
  'no rows and no header with %s are the same both ways too',
  async (compression) => {
    for (const [format, own] of [['csv', { header: false }] as const, ['ndjson', {}] as const]) {
      const body = { tenant: 'NOBODY', compression, ...own };
      const { id } = await exports.create(format, body);
      await exports.work();
      expect(await exports.job(id)).toMatchObject({ state: 'completed', rows_done: 0 });
      const file = await exports.file(id);
      expect(file.equals(await streamed(format, body))).toBe(true);
      expect(file.length > 0).toBe(compression !== 'none');
    }
  },
);

async function streamed(format: ExportFormat, body: ExportRequest): Promise<Buffer> {
  const { db, source } = exports.context();
  const { slice, version } = await toSelection(db, body, testActor, { place: '/' });
  const options = toFileOptions(format, body, slice);
  const file = startFile(source, {
    format: createFormat(options),
    compression: options.compression,
    slice,
    parts: version?.parts ?? null,
  });
  const pieces: Buffer[] = [];
  for await (const piece of file.chunks()) pieces.push(piece);
  await file.close();
  return Buffer.concat(pieces);
}

test('before its first byte a stream counts part by part, and no further once it is closed', async () => {
  const { parts } = await insertVersion('ver_6');
  const { db, source } = exports.context();
  const { slice, version } = await toSelection(db, { tenant: 'T', version: 'ver_6' }, testActor, {
    place: '/',
  });
  let counts = 0;
  const begin = (onCounted = async () => {}) => {
    const transaction: typeof db.transaction = async (...asked) => {
      counts += 1;
      const result = await db.transaction(...asked);
      await onCounted();
      return result;
    };
    const format = createFormat(toFileOptions('csv', { tenant: 'T' }, slice));
    const own = { ...source, db: { ...db, transaction } };
    return startFile(own, { format, compression: 'none', slice, parts: version?.parts ?? null });
  };
  const whole = begin();
  await whole.rowCount;
  expect(counts).toBe(parts.length);
  await whole.close();
  counts = 0;
  const cut = begin(() => cut.close());
  await expect(cut.rowCount).rejects.toThrow('the export was closed');
  expect(counts).toBe(1);
});

test('its splits are counted, and are all of it together', async () => {
  const { count } = await insertVersion('ver_2');
  let rows = 0;
  for (const split of ['train', 'validation', 'test'] as const) {
    const body = { tenant: 'T', version: 'ver_2', split };
    const { id, rows_total } = await exports.create('csv', body);
    expect(rows_total).toBeNull();
    await exports.work();
    const job = await exports.job(id);
    expect(job.state).toBe('completed');
    const text = (await exports.file(id)).toString();
    expect(text.match(/^"T",/gm)).toHaveLength(job.rows_done);
    expect(text).toContain(`"${split}"`);
    rows += job.rows_done;
  }
  expect(rows).toBe(count);
});

test('a version that is being counted anew is measured, and may be deleted meanwhile', async () => {
  const { count } = await insertVersion('ver_3', { state: 'counting', change: 'erased' });
  const { id, rows_total } = await exports.create('csv', { tenant: 'T', version: 'ver_3' });
  expect(rows_total).toBeNull();
  await exports.db.query(sql`delete from dataset_versions where id = 'ver_3'`);
  await exports.work();
  expect(await exports.job(id)).toMatchObject({ state: 'completed', rows_total: count });
});

test('a version that is being counted for the first time is what its counters said', async () => {
  const { count } = await insertVersion('ver_4', { state: 'counting' });
  const { rows_total } = await exports.create('csv', { tenant: 'T', version: 'ver_4' });
  expect(rows_total).toBe(count);
});

test('a version that loses records while a job of it is being made is measured', async () => {
  await insertVersion('ver_5');
  const made = await exports.db.transaction(async (connection) => {
    await lockQueue(connection, 'T');
    await connection.query(sql`
      update dataset_versions set state = 'counting', change = 'erased' where id = 'ver_5'`);
    const job = exports.create('csv', { tenant: 'T', version: 'ver_5' });
    await untilLockWaits(exports.db);
    return { job };
  });
  expect((await made.job).rows_total).toBeNull();
});

test('a damaged segment fails the job at once', async () => {
  await rm(join(exports.cold.dir, 'records', 'tenant=T'), { recursive: true });
  const { id } = await exports.create('csv', { tenant: 'T' });
  await exports.work();
  expect(await exports.job(id)).toMatchObject({
    state: 'failed',
    error_code: 'segment_damaged',
    attempts: 1,
  });
});
