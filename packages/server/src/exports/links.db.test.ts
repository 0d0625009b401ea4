import sql from 'sql-template-tag';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestService, type TestService } from '../../test/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
  const records = Array.from({ length: 7 }, (_, n) => ({
    tenant: 'T',
    store: 'S',
    event_id: `e${n}`,
    occurred_at: `2001-03-0${n + 1}T00:00:00Z`,
    kind: n < 2 ? 'early' : 'late',
    enrichment: {},
  }));
  await service.call('POST', '/enrichment/records', { body: { records } });
});
afterAll(() => service.stop());

async function makeLink(body: object, token = service.adminToken) {
  const answer = await service.call('POST', '/exports/csv', {
    token,
    body: { delivery: 'link', ...body },
  });
  expect(answer.status, answer.text).toBe(201);
  return answer.json as { url: string; expires_at: string; row_count: number };
}

const download = (url: string) => service.call('GET', url.replace('/api/v1', ''), { token: null });

test('a link downloads the export once, without a token', async () => {
  const link = await makeLink({
    tenant: 'T',
    columns: ['event_id'],
    from: '2001-03-02',
    to: '2001-03-03',
  });
  expect(link.row_count).toBe(2);
  expect(Date.parse(link.expires_at)).toBeGreaterThan(Date.now());
  const file = await download(link.url);
  expect(file.text).toBe('event_id\n"e1"\n"e2"\n');
  expect(file.headers.get('content-disposition')).toContain('T_2001-03-02_2001-03-03.csv');
  expect((await download(link.url)).json).toMatchObject({ status: 404, code: 'link_not_found' });
});

test('HEAD of a link says what it downloads, and does not use it up', async () => {
  const { url } = await makeLink({ tenant: 'T', columns: ['event_id'] });
  const asked = await service.call('HEAD', url.replace('/api/v1', ''), { token: null });
  expect(asked.status).toBe(200);
  const file = await download(url);
  expect(file.status).toBe(200);
  for (const name of ['content-type', 'content-disposition', 'cache-control']) {
    expect(asked.headers.get(name)).toBe(file.headers.get(name));
  }
  const gone = await service.call('HEAD', url.replace('/api/v1', ''), { token: null });
  expect(gone.status).toBe(404);
});

test('an unknown and an expired link answer 404', async () => {
  expect((await download('/api/v1/exports/links/nothing')).status).toBe(404);
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
  const link = await makeLink({ tenant: 'T', columns: ['event_id'] }, token);
  expect(link.row_count).toBe(0);
  expect((await download(link.url)).text).toBe('event_id\n');
});
