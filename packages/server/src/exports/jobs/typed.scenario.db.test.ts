import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import sql from 'sql-template-tag';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { measureSlice } from '../../records/index.ts';
import { freeze } from '../../records/read/testing/freeze.ts';
import { ingest } from '../../records/read/testing/walk.ts';
import type { ExportRequest } from '../contract.ts';
import { keepVersionSchema } from '../queries.ts';
import { createSchemaFinder } from '../typed/find-schema.ts';
import { putTogether } from '../typed/testing/put-together.ts';
import { fieldTypeText } from '../values.ts';
import { verifyFile } from '../verify-file.ts';
import { manifestOf } from './list.ts';
import { useTestExports } from './testing/test-exports.ts';

const exports = useTestExports();
/** Of the records every tenth has a label that is no text, and one has a number beyond all others. */
const enrichmentOf = (n: number) =>
  `{"score":${n / 8},"model":"m${n % 3}","label":${n % 10 === 0 ? n : `"l${n}"`},` +
  `"origin":{"iata":"DFW","gate":${n === 77 ? '1e300' : n}},"tags":["a","b${n}"],"ok":${n % 2 === 0}}`;
const recordText = (n: number, tenant = 'T') =>
  `{"tenant":"${tenant}","store":"${n % 2 === 0 ? 'A' : 'B'}","event_id":"e${n}",` +
  `"occurred_at":"2001-03-0${(n % 7) + 1}T00:00:00Z","confidence":0.5,"enrichment":${enrichmentOf(n)}}`;

beforeAll(() =>
  ingest(exports.db, exports.cold, [Array.from({ length: 100 }, (_, n) => recordText(n))]),
);
beforeEach(() => exports.db.query(sql`delete from exports`));

const columns = [
  ...['label VARCHAR', 'enrichment.model VARCHAR', 'ok BOOLEAN'],
  // Of the one number and the integers beside it, only a double takes both.
  ...['origin STRUCT("gate" DOUBLE, "iata" VARCHAR)', 'score DOUBLE', 'tags VARCHAR[]'],
];

async function create(body: Partial<ExportRequest> = {}) {
  return exports.create('parquet', { tenant: 'T', typed: true, ...body });
}

/** Reads the file of a job: each row as JSON text. */
async function rowsOf(id: string): Promise<string[]> {
  const dir = await mkdtemp(join(exports.cold.spoolDir, 'read-'));
  const path = join(dir, 'file.parquet');
  await writeFile(path, await exports.file(id));
  const rows = await exports.cold.duckdb.run<{ row: string }>(
    `select to_json(r)::varchar as row from read_parquet('${path}') r`,
  );
  await rm(dir, { recursive: true });
  return rows.map(({ row }) => row);
}

/** Verifies the file of a job against its manifest, as `svcctl exports verify` does. */
async function verify(id: string) {
  const file = await exports.file(id);
  const dir = await mkdtemp(join(exports.cold.spoolDir, 'verify-'));
  const source = {
    sizeBytes: file.length,
    read: async ({ start, end }: { start: number; end: number }, write: (b: Buffer) => unknown) => {
      await write(file.subarray(start, end));
      return null;
    },
  };
  const tools = { duckdb: exports.cold.duckdb, dir, onBytes: () => {} };
  const signal = new AbortController().signal;
  const manifest = manifestOf(await exports.job(id));
  const verdict = await verifyFile(manifest, source, { ...tools, signal });
  await rm(dir, { recursive: true });
  return verdict;
}

test('a typed file has the fields as columns, every record whole, and says what did not fit', async () => {
  const { id, schema } = await create();
  expect(schema).toMatchObject({ sampled: 100, count: 100, left_out: 0 });
  // A process of the previous release would make a file of text, and takes no job that is not before infinity.
  const later = sql`select from exports where id = ${id} and not_before = 'infinity'`;
  expect(await exports.db.query(later)).toHaveLength(1);
  expect(schema?.columns.map(({ name, type }) => `${name} ${fieldTypeText(type)}`)).toEqual(
    columns,
  );
  await exports.work();
  const job = await exports.job(id);
  expect(job, job.error ?? '').toMatchObject({
    state: 'completed',
    rows_done: 100,
    manifest: { rows: 100, proof: 'rows', misfits: { rows: 10, fields: { label: 10 } } },
  });
  expect(job.parts_total).toBeGreaterThan(2);
  const rows = await rowsOf(id);
  expect(rows).toHaveLength(100);
  for (const row of rows) {
    const { event_id, confidence } = JSON.parse(row) as { event_id: string; confidence: number };
    const n = Number(event_id.slice(1));
    const whole = putTogether(row, schema?.columns ?? []);
    expect(JSON.parse(whole.enrichment)).toEqual(JSON.parse(enrichmentOf(n)));
    expect(confidence).toBe(0.5);
  }
  expect(await verify(id)).toMatchObject({ ok: true, rows: 100, proof: 'rows' });
});

test('has the same bytes from either tier, and after attempts that broke off', async () => {
  const whole = await create();
  await exports.work();
  await freeze(exports.db, exports.cold, { tenant: 'T', id: 'seg_a', filter: `store = 'A'` });
  const cold = await create();
  let puts = 0;
  const broken = exports.storeWith(() => {
    puts += 1;
    if (puts > 3) throw new Error('the process ends');
  });
  await exports.work(broken);
  expect(await exports.job(cold.id)).toMatchObject({ state: 'queued' });
  await exports.work();
  const [before, after] = [await exports.job(whole.id), await exports.job(cold.id)];
  expect(after).toMatchObject({ state: 'completed', attempts: 2 });
  expect(after.sha256?.toString('hex')).toBe(before.sha256?.toString('hex'));
  expect(after.manifest?.misfits).toEqual({ rows: 10, fields: { label: 10 } });
});

test('a version keeps the columns of its first typed export', async () => {
  const tags = {
    training: [{ store: null, from: '2001-03-01', until: '2001-03-08' }],
    fine_tuning: [],
  };
  const slice = { tenant: 'T', dataset: 'training', tags, tenants: null } as const;
  const { count, bytes, digest } = await measureSlice(exports.db, slice, exports.cold);
  const parts = [
    {
      first: { store: 'A', day: '2001-03-01' },
      last: { store: 'B', day: '2001-03-07' },
      minDay: '2001-03-01',
      maxDay: '2001-03-07',
    },
  ];
  await exports.db.query(sql`
    insert into dataset_versions (tenant, id, dataset, name, train_share, validation_share, test_share,
      slices, tags, recorded_before, count, bytes, digest, parts, state, created_by)
    values ('T', 'ver_1', 'training', 'v1', 60, 20, 20, '[]', ${JSON.stringify(tags)}::json,
      clock_timestamp(), ${count}, ${bytes}, ${digest}::numeric, ${JSON.stringify(parts)}::json,
      'ready', 'test')`);
  const train = await create({ version: 'ver_1', split: 'train' });
  await ingest(exports.db, exports.cold, [
    Array.from({ length: 50 }, (_, n) =>
      recordText(n + 1000).replace('"score":', '"late":1,"score":"x","was":'),
    ),
  ]);
  const other = await create();
  expect(other.schema?.columns.map(({ field }) => field)).toContain('late');
  const rest = await Promise.all(
    (['validation', 'test'] as const).map((split) => create({ version: 'ver_1', split })),
  );
  for (const { schema } of rest) expect(schema).toEqual(train.schema);
  // Whoever inferred them at the same time takes those of the first one.
  const late = { columns: [], sampled: 0, count: 0, left_out: 0 };
  const kept = await exports.db.transaction((connection) =>
    keepVersionSchema(connection, { tenant: 'T', id: 'ver_1' }, late),
  );
  expect(kept).toEqual(train.schema);
  await exports.work();
  await exports.work();
  await exports.work();
  await exports.work();
  const done = await Promise.all([train, ...rest].map(({ id }) => exports.job(id)));
  expect(done.map(({ state }) => state)).toEqual(['completed', 'completed', 'completed']);
  expect(done.reduce((sum, { rows_done }) => sum + rows_done, 0)).toBe(100);
});

test('a slice without records has the columns of the records and the rest', async () => {
  const { id, schema } = await exports.create('parquet', { tenant: 'NONE', typed: true });
  expect(schema).toEqual({ columns: [], sampled: 0, count: 0, left_out: 0 });
  await exports.work();
  expect(await exports.job(id)).toMatchObject({ state: 'completed', manifest: { rows: 0 } });
  expect(await rowsOf(id)).toEqual([]);
});

test.each([[['event_id']], [['enrichment', 'enrichment.score']]])(
  'refuses the columns %j',
  async (names) => {
    await expect(create({ columns: names })).rejects.toMatchObject({
      code: 'request_invalid',
      errors: [{ path: '/columns' }],
    });
  },
);

test('takes the columns in their order, and fewer of them', async () => {
  const { id } = await create({ columns: ['enrichment', 'event_id'] });
  await exports.work();
  const [row = ''] = await rowsOf(id);
  expect(Object.keys(JSON.parse(row))).toEqual([
    ...['label', 'late', 'enrichment.model', 'ok', 'origin', 'score', 'tags', 'was'],
    ...['_rest', 'event_id'],
  ]);
});

const linesOf = async (id: string) =>
  (await exports.file(id))
    .toString()
    .trim()
    .split('\n')
    .filter((line) => line !== '');

test('lines by a template skip what lacks a value, and count it', async () => {
  const template = { text: '{{label}}: {{origin.iata}}', n: '{{late|json}}' };
  const { id } = await exports.create('ndjson', { tenant: 'T', template, missing: 'skip' });
  await exports.work();
  const job = await exports.job(id);
  expect(job, job.error ?? '').toMatchObject({
    state: 'completed',
    rows_total: 150,
    rows_done: 150,
  });
  const { rows, skipped, proof, parts } = manifestOf(job);
  expect({ rows, skipped, proof }).toEqual({
    rows: 50,
    skipped: { rows: 100, fields: { late: 100 } },
    proof: 'rows',
  });
  expect(parts.reduce((sum, part) => sum + part.rows, 0)).toBe(50);
  const lines = await linesOf(id);
  expect(lines).toHaveLength(50);
  expect(lines).toContain('{"text":"l1003: DFW","n":1}');
  expect(await verify(id)).toMatchObject({ ok: true, rows: 50 });
});

test.each(['none', 'gzip'] as const)(
  'a template that fits no record makes no line, %s',
  async (compression) => {
    const template = { a: '{{nothing}}' };
    const { id } = await exports.create('ndjson', {
      tenant: 'T',
      template,
      missing: 'skip',
      compression,
    });
    await exports.work();
    expect(await exports.job(id)).toMatchObject({
      state: 'completed',
      manifest: { rows: 0, skipped: { rows: 150, fields: { nothing: 150 } } },
    });
    expect(await verify(id)).toMatchObject({ ok: true, rows: 0 });
  },
);

test('columns are found in a sample of no more records than it may have', async () => {
  const small = { records: 20, places: 4, mostPlaces: 4, keysEach: 100 };
  const find = createSchemaFinder(exports, small);
  const sampled: number[] = [];
  for (const tenant of ['H', 'I', 'J']) {
    const records = Array.from({ length: 100 }, (_, n) => recordText(n, tenant));
    await ingest(exports.db, exports.cold, [records]);
    const slice = { tenant, tenants: null };
    sampled.push((await find({ slice, version: null })).sampled);
  }
  expect(sampled).toEqual([20, 20, 19]);
});

test('a record without a value fails the job, which names both and is not tried again', async () => {
  const { id } = await exports.create('ndjson', { tenant: 'T', template: { a: '{{late}}' } });
  await exports.work();
  const job = await exports.job(id);
  expect(job).toMatchObject({ state: 'failed', error_code: 'template_unfilled', attempts: 1 });
  expect(job.error).toMatch(/^The record A 2001-03-0.* e\d+ has no value for \{\{late\}\}/);
});

test.each([
  [{ template: { a: '{{}}' } }, '/template'],
  [{ template: { a: '{{a}}' }, columns: ['kind'] }, '/columns'],
  [{ missing: 'skip' }, '/missing'],
] as const)('refuses %j', async (body, path) => {
  const refused = exports.create('ndjson', { tenant: 'T', ...body } as ExportRequest);
  await expect(refused).rejects.toMatchObject({ code: 'request_invalid', errors: [{ path }] });
});
