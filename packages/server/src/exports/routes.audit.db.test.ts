import sql from 'sql-template-tag';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestService, type TestService } from '../../test/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
  const records = ['e1', 'e2', 'e3'].map((event_id) => ({
    tenant: 'T',
    store: 'S',
    event_id,
    occurred_at: '2001-03-05T00:00:00Z',
    enrichment: {},
  }));
  await service.call('POST', '/enrichment/records', { body: { records } });
});
afterAll(() => service.stop());

const entries = async (token = service.adminToken) =>
  (await service.call('GET', '/audit?action=export.', { token })).json.data;
const exportCsv = (body: object, token = service.adminToken) =>
  service.call('POST', '/exports/csv', { token, body });
const download = (url: string) =>
  service.call('GET', url.replace('/api/v1', ''), {
    token: null,
    headers: { 'user-agent': 'browser' },
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
  const file = await exportCsv({ tenant: 'T', month: '2001-03', columns: ['event_id'] }, token);
  expect(file.text).toBe('event_id\n"e1"\n"e2"\n"e3"\n');
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
      row_count: 3,
    },
  });
});

test('a link is told when it is made and when it is used, as its token', async () => {
  const { id, token } = await service.makeToken({ preset: 'support-readonly' });
  const link = (await exportCsv({ tenant: 'T', store: 'S', delivery: 'link' }, token)).json;
  const [made] = await entries();
  expect(made).toMatchObject({
    actor: { token_id: id },
    action: 'export.link',
    tenant: 'T',
    after: { tenant: 'T', store: 'S', row_count: 3, expires_at: link.expires_at },
  });
  expect(JSON.stringify(made)).not.toContain(link.url.split('/').at(-1));
  expect((await download(link.url)).status).toBe(200);
  const [used] = await entries();
  expect(used).toMatchObject({
    actor: { token_id: id },
    action: 'export.csv',
    user_agent: 'browser',
    after: { store: 'S', delivery: 'link', row_count: 3 },
  });
  const rows = await service.db.query(sql`select audit_log::text as row from audit_log`);
  expect(JSON.stringify(rows)).not.toContain(link.url.split('/').at(-1));
});

test('a token limited to tenants sees the exports of those alone', async () => {
  await exportCsv({ tenant: 'other' });
  const { token } = await service.makeToken({ preset: 'admin', tenants: ['other'] });
  const seen = await entries(token);
  expect(seen).toHaveLength(1);
  expect(seen[0]).toMatchObject({ tenant: 'other', after: { row_count: 0 } });
});
