import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { expect, test } from 'vitest';
import { madeFolder } from '../../../test/folder.ts';
import { useTestService } from '../../../test/service.ts';
import { schedulesOf } from './testing/schedules-of.ts';

const root = madeFolder();
const service = useTestService({ SVC_EXPORT_ROOTS: root });

const { read, run, ask } = schedulesOf(() => service);
const make = (tenant: string, more: object) =>
  ask({ tenant, to: `${root}/${tenant}`, format: 'parquet', ...more });
let stored = 0;
async function store(tenant: string, enrichments: readonly object[]) {
  const records = enrichments.map((enrichment) => ({
    tenant,
    store: 'A',
    event_id: `e${++stored}`,
    occurred_at: '2001-03-01T00:00:00Z',
    enrichment,
  }));
  const { json } = await service.call('POST', '/enrichment/records', { body: { records } });
  expect(json.accepted).toBe(enrichments.length);
}
const manifestOf = async (folder: string) =>
  JSON.parse(await readFile(join(folder, 'manifest.json'), 'utf8'));
async function rowsOf(folder: string): Promise<unknown[]> {
  const duckdb = await (await DuckDBInstance.create()).connect();
  const result = await duckdb.runAndReadAll(
    `select label, score, typeof(score) as type, _rest from read_parquet('${folder}/part-*.parquet') order by event_id`,
  );
  return result.getRowObjectsJson();
}

test('all runs of a typed schedule have its columns, and what does not fit them is counted', async () => {
  await store('T', [
    { label: 'plane', score: 0.5 },
    { label: 'bird', score: 1.25 },
  ]);
  const made = await make('T', { typed: true });
  expect(made.status, made.text).toBe(201);
  const { id, schema } = made.json;
  expect(schema).toMatchObject({ sampled: 2, count: 2, left_out: 0 });
  expect(schema.columns.map(({ field }: { field: string }) => field)).toEqual(['label', 'score']);
  const one = await run(id);
  expect(one).toMatchObject({ rows: 2, misfits: 0, skipped: null });
  expect(await rowsOf(one.delivered_to)).toEqual([
    { label: 'plane', score: 0.5, type: 'DOUBLE', _rest: null },
    { label: 'bird', score: 1.25, type: 'DOUBLE', _rest: null },
  ]);
  await store('T', [
    { label: 'kite', score: 'high' },
    { label: 'drone', score: 2, altitude: 90 },
    { label: 'crane', score: 3 },
  ]);
  const two = await run(id);
  expect(two).toMatchObject({ rows: 3, misfits: 2 });
  expect(await rowsOf(two.delivered_to)).toMatchObject([
    { label: 'kite', score: null, _rest: '{"enrichment":{"score":"high"}}' },
    { label: 'drone', score: 2, _rest: '{"enrichment":{"altitude":90}}' },
    { label: 'crane', score: 3, _rest: null },
  ]);
  const manifest = await manifestOf(two.delivered_to);
  expect(manifest).toMatchObject({ rows: 3, schema, misfits: { rows: 2, fields: { score: 1 } } });
  expect((await read(id)).schema).toEqual(schema);
  const [listed] = await service.all('/exports/schedules?tenant=T&limit=5');
  expect(listed).toMatchObject({ id, request: { typed: true } });
  expect(listed).not.toHaveProperty('schema');
});

test('a schedule delivers lines by a template, and counts the records that have none', async () => {
  await store('L', [{ prompt: 'a?', completion: 'b' }, { prompt: 'c?' }]);
  const made = await make('L', { format: 'ndjson', template: 'prompt-completion' });
  expect(made.json.request).toMatchObject({ template: 'prompt-completion', missing: 'skip' });
  const one = await run(made.json.id);
  expect(one).toMatchObject({ rows: 2, skipped: 1, misfits: null });
  expect(await readFile(join(one.delivered_to, 'part-00001.ndjson'), 'utf8')).toBe(
    '{"prompt":"a?","completion":"b"}\n',
  );
  expect(await manifestOf(one.delivered_to)).toMatchObject({
    rows: 1,
    files: [{ rows: 1 }],
    skipped: { rows: 1, fields: { completion: 1 } },
  });
  // Without a line there is no file.
  await store('L', [{ other: 1 }]);
  const two = await run(made.json.id);
  expect(two).toMatchObject({ rows: 1, skipped: 1 });
  expect((await readdir(two.delivered_to)).sort()).toEqual(['_SUCCESS', 'manifest.json']);
  const strict = { format: 'ndjson', template: 'prompt-completion', missing: 'refuse' };
  const refusing = await make('L', { ...strict, to: `${root}/strict` });
  const failed = await run(refusing.json.id);
  expect(failed).toMatchObject({
    state: 'failed',
    error: expect.stringContaining('{{completion}}'),
  });
});

test.each([
  [{ typed: true, format: 'csv' }, '/typed', /Parquet alone/],
  [{ typed: true, columns: ['event_id'] }, '/columns', /enrichment/],
  [{ typed: true, tenant: 'nothing' }, '/typed', /no fields in the 0 records/],
  [{ template: 'openai-chat' }, '/template', /NDJSON alone/],
  [{ format: 'ndjson', template: { a: 'b' } }, '/template', /no reference/],
  [{ format: 'ndjson', template: 'openai-chat', columns: ['kind'] }, '/columns', /without/],
  [{ format: 'ndjson', missing: 'skip' }, '/missing', /template/],
  [{ format: 'csv', missing: 'skip' }, '/missing', /template/],
])('a schedule with %j is refused', async (body, path, message) => {
  const answer = await make('T', body);
  const [error] = answer.json.errors;
  expect([answer.status, error.path]).toEqual([400, path]);
  expect(error.message).toMatch(message);
});
