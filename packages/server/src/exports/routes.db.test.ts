import sql from 'sql-template-tag';
import { beforeAll, expect, test } from 'vitest';
import { useTestService } from '../../test/service.ts';
import { numberedRecords, storeRecords } from '../records/ingest/testing/post-records.ts';

// Exports as streams and as links, and what the audit log has of them.

const service = useTestService();
beforeAll(() =>
  storeRecords(
    service,
    numberedRecords('T', 7, (n) => ({ occurred_at: `2001-03-0${n + 1}T00:00:00Z` })),
  ),
);

const entries = async () => (await service.call('GET', '/audit?action=export.')).json.data;
const exportCsv = (body: object, token = service.adminToken) =>
  service.call('POST', '/exports/csv', { token, body: { columns: ['event_id'], ...body } });

async function makeLink(body: object, token = service.adminToken) {
  const answer = await exportCsv({ delivery: 'link', ...body }, token);
  expect(answer.status, answer.text).toBe(201);
  return answer.json as { url: string; expires_at: string; row_count: number };
}

const download = (url: string, method = 'GET') =>
  service.call(method, url.replace('/api/v1', ''), {
    token: null,
    headers: { 'user-agent': 'browser' },
  });

test('a template shows its first line, and which of a few records have no value for it', async () => {
  const preview = async (body: object, token = service.adminToken) =>
    service.call('POST', '/exports/ndjson/preview', { token, body: { tenant: 'T', ...body } });
  const template = { id: '{{event_id}}', n: '{{n|json}}', at: 'on {{occurred_at}} in {{store}}' };
  const { json } = await preview({ template });
  expect(json).toEqual({
    line: '{"id":"e0","n":0,"at":"on 2001-03-01T00:00:00.000000Z in S"}',
    record: { store: 'S', occurred_at: '2001-03-01T00:00:00.000000Z', event_id: 'e0' },
    looked: 7,
    skipped: { rows: 0, fields: {} },
  });
  expect((await preview({ template, where: 'n = 5' })).json).toMatchObject({
    line: '{"id":"e5","n":5,"at":"on 2001-03-06T00:00:00.000000Z in S"}',
    looked: 1,
  });
  const none = { line: null, record: null };
  expect((await preview({ template: 'openai-chat' })).json).toEqual({
    ...none,
    looked: 7,
    skipped: { rows: 7, fields: { prompt: 7 } },
  });
  const { token } = await service.makeToken({ scopes: ['analytics:read'], tenants: ['U'] });
  expect((await preview({ template }, token)).json).toMatchObject({ ...none, looked: 0 });
  const refused = await preview({ template: { a: '{{}}' } });
  expect(refused.json).toMatchObject({ code: 'request_invalid', errors: [{ path: '/template' }] });
  expect(await entries()).toEqual([]);
});

test('an export that is refused leaves no entry, and an estimate is none', async () => {
  const { token } = await service.makeToken({ preset: 'pipeline' });
  expect((await exportCsv({ tenant: 'T' }, token)).status).toBe(403);
  expect((await exportCsv({ tenant: 'T', from: '2001-03-01' })).status).toBe(400);
  expect((await service.call('GET', '/exports/estimate?tenant=T')).status).toBe(200);
  expect((await download('/api/v1/exports/links/nothing')).status).toBe(404);
  expect(await entries()).toEqual([]);
});

test('an export that cannot be told sends nothing', async () => {
  await service.db.query(
    sql`alter table audit_log add constraint closed check (action not like 'export%') not valid`,
  );
  const answer = await exportCsv({ tenant: 'T' });
  expect(answer.json).toMatchObject({ status: 500, code: 'internal_error' });
  expect((await exportCsv({ tenant: 'T', delivery: 'link' })).status).toBe(500);
  expect(await service.db.query(sql`select token_id from export_links`)).toEqual([]);
  await service.db.query(sql`alter table audit_log drop constraint closed`);
  expect(await entries()).toEqual([]);
});

test('an export is told with its slice and how many rows it has', async () => {
  const { id, token } = await service.makeToken({ name: 'support', preset: 'support-readonly' });
  const file = await exportCsv({ tenant: 'T', month: '2001-03' }, token);
  const [entry] = await entries();
  expect(entry).toMatchObject({
    actor: { token_id: id, name: 'support' },
    action: 'export.csv',
    target: null,
    tenant: 'T',
    request_id: file.headers.get('x-request-id'),
    before: null,
    after: {
      tenant: 'T',
      month: '2001-03',
      columns: ['event_id'],
      delivery: 'stream',
      row_count: 7,
    },
  });
});

test('a link downloads the export once, without a token, and both are told as its own', async () => {
  const { id, token } = await service.makeToken({ preset: 'support-readonly' });
  const slice = { tenant: 'T', from: '2001-03-02', to: '2001-03-03' };
  const link = await makeLink(slice, token);
  expect(link.row_count).toBe(2);
  expect(Date.parse(link.expires_at)).toBeGreaterThan(Date.now());
  const told = { actor: { token_id: id }, tenant: 'T' };
  expect((await entries())[0]).toMatchObject({
    ...told,
    action: 'export.link',
    after: { ...slice, row_count: 2, expires_at: link.expires_at },
  });
  const file = await download(link.url);
  expect(file.text).toBe('event_id\n"e1"\n"e2"\n');
  expect(file.headers.get('content-disposition')).toContain('T_2001-03-02_2001-03-03.csv');
  expect((await entries())[0]).toMatchObject({
    ...told,
    action: 'export.csv',
    user_agent: 'browser',
    after: { ...slice, delivery: 'link', row_count: 2 },
  });
  expect((await download(link.url)).json).toMatchObject({ status: 404, code: 'link_not_found' });
  const rows = await service.db.query(sql`select audit_log::text as row from audit_log`);
  expect(JSON.stringify(rows)).not.toContain(link.url.split('/').at(-1));
});

test('HEAD of a link says what it downloads, and does not use it up', async () => {
  const { url } = await makeLink({ tenant: 'T' });
  const asked = await download(url, 'HEAD');
  const file = await download(url);
  expect([asked.status, file.status]).toEqual([200, 200]);
  for (const name of ['content-type', 'content-disposition', 'cache-control']) {
    expect(asked.headers.get(name)).toBe(file.headers.get(name));
  }
  expect((await download(url, 'HEAD')).status).toBe(404);
});

test('a link that has expired answers 404', async () => {
  const link = await makeLink({ tenant: 'T' });
  await service.db.query(sql`update export_links set expires_at = now() - interval '1 second'`);
  expect((await download(link.url)).json.code).toBe('link_not_found');
});

test('a link is dead with the token it was made with', async () => {
  const made = await service.makeToken({ preset: 'curator' });
  const link = await makeLink({ tenant: 'T' }, made.token);
  await service.call('DELETE', `/tokens/${made.id}`);
  expect((await download(link.url)).json.code).toBe('token_revoked');
});

test('a link shows no more than its token may see', async () => {
  const { token } = await service.makeToken({ preset: 'curator', tenants: ['other'] });
  const link = await makeLink({ tenant: 'T' }, token);
  expect(link.row_count).toBe(0);
  expect((await download(link.url)).text).toBe('event_id\n');
});

test('a where goes with a job alone, and is checked as it is everywhere', async () => {
  const [where, tenant] = ['n > 5', 'T'];
  for (const body of [
    { tenant, where },
    { tenant, where, delivery: 'link' },
  ]) {
    const answer = await exportCsv(body);
    expect(answer.json.errors).toMatchObject([
      { path: '/where', message: expect.stringContaining('Prefer') },
    ]);
  }
  const estimate = await service.call('GET', '/exports/estimate?tenant=T&where=n');
  expect(estimate.json.errors).toMatchObject([{ path: '?where', code: 'field_unknown' }]);
  const job = (text: string) =>
    service.call('POST', '/exports/csv', {
      body: { tenant, where: text },
      headers: { prefer: 'respond-async' },
    });
  expect((await job('n >')).json).toMatchObject({
    code: 'request_invalid',
    errors: [{ path: '/where', code: 'where_invalid', at: 4 }],
  });
  expect((await job(where)).status).toBe(202);
});

test('typed columns are told beforehand, and go with a job', async () => {
  const schema = await service.call('GET', '/exports/schema?tenant=T&month=2001-03');
  expect(schema.json).toEqual({
    columns: [{ name: 'n', field: 'n', type: 'bigint' }],
    sampled: 7,
    count: 7,
    left_out: 0,
    misfits: { rows: 0, fields: {} },
  });
  const records = [1, 2, 3, '4', null].map((n, at) => ({
    tenant: 'ODD',
    store: 'S',
    event_id: `e-${at}`,
    occurred_at: '2001-03-01T00:00:00Z',
    enrichment: { n },
  }));
  await service.call('POST', '/enrichment/records', { body: { records } });
  const odd = await service.call('GET', '/exports/schema?tenant=ODD');
  expect(odd.json).toMatchObject({ sampled: 5, misfits: { rows: 1, nulls: 1, fields: { n: 1 } } });
  const post = (body: object, headers = {}) =>
    service.call('POST', '/exports/parquet', { body: { tenant: 'T', ...body }, headers });
  expect((await post({ typed: true })).json.errors).toMatchObject([{ path: '/typed' }]);
  expect((await exportCsv({ tenant: 'T', typed: true })).status).toBe(400);
  const asJob = { prefer: 'respond-async' };
  const refused = await post({ typed: true, columns: ['enrichment.n'] }, asJob);
  expect(refused.json.errors).toMatchObject([{ path: '/columns' }]);
  const { status, json } = await post({ typed: true }, asJob);
  expect(status).toBe(202);
  // What did not fit is told of the file, once that is made.
  const { misfits: _, ...kept } = schema.json;
  expect(json.schema).toEqual(kept);
  expect((await service.call('GET', `/exports/${json.id}`)).json.schema).toEqual(kept);
  const { data } = (await service.call('GET', '/exports')).json;
  const listed = data.find(({ id }: { id: string }) => id === json.id);
  expect(listed).toMatchObject({ format: 'parquet' });
  expect(listed).not.toHaveProperty('schema');
});

test('a preview is how the file begins, to the letter, in each format and with any columns', async () => {
  for (const dataset of ['training', 'fine_tuning']) {
    await service.call('POST', '/enrichment/tags', { body: { tenant: 'T', dataset } });
  }
  const path = { columns: ['event_id', 'store', 'enrichment.n', 'datasets', 'month'] };
  const sheet = { profile: 'spreadsheet' };
  for (const [format, body] of [
    ...([{}, path, sheet, { ...path, ...sheet }, { header: false }] as object[]).map(
      (each) => ['csv', each] as const,
    ),
    ...([{}, path] as object[]).map((each) => ['ndjson', each] as const),
  ]) {
    const asked = { tenant: 'T', ...body };
    const { json } = await service.call('POST', '/exports/preview', { body: { ...asked, format } });
    const { text } = await service.call('POST', `/exports/${format}`, { body: asked });
    // Whoever decodes the answer takes the byte order mark off.
    const begin = `${json.head}${json.lines.join('')}`.replace(/^\ufeff/, '');
    expect(text.slice(0, begin.length), JSON.stringify(asked)).toBe(begin);
    expect(json.head.startsWith('\ufeff')).toBe('profile' in body);
    expect(json.lines).toHaveLength(3);
  }
  const preview = async (body: object, token = service.adminToken) =>
    (await service.call('POST', '/exports/preview', { token, body })).json;
  const parquet = { tenant: 'T', format: 'parquet', where: 'n = 5', columns: ['event_id'] };
  expect(await preview(parquet)).toEqual({ head: '', lines: ['{"event_id":"e5"}\n'] });
  const { token } = await service.makeToken({ scopes: ['analytics:read'], tenants: ['U'] });
  expect((await preview({ tenant: 'T', format: 'csv' }, token)).lines).toEqual([]);
  const wrong = { tenant: 'T', format: 'csv', columns: ['password'] };
  expect(await preview(wrong)).toMatchObject({ code: 'request_invalid' });
});
