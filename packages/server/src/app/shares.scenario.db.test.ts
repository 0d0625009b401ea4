import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, beforeAll, expect, test } from 'vitest';
import { useTestService } from '../../test/service.ts';
import { newAccessToken } from '../kernel/ids.ts';

const service = useTestService({
  SVC_RATE_LIMIT: '1000',
  SVC_TENANT_RATE_LIMIT: '2000',
  SVC_REQUESTS: '5',
  SVC_REQUESTS_PER_CALLER: '3',
  // A stream takes 768 KiB at once.
  SVC_INGEST_IN_FLIGHT_BYTES: '2MiB',
  SVC_INGEST_IN_FLIGHT_BYTES_PER_CALLER: '1MiB',
  SVC_EXPORT_MAX_CONCURRENT: '2',
  SVC_EXPORT_MAX_PER_CALLER: '1',
  SVC_EXPORT_STALL_SECONDS: '3600',
  SVC_SHUTDOWN_SECONDS: '3',
});
/** Two tokens of one tenant, and one of another. */
let [own, same, other]: string[] = [];
const sockets = new Set<Socket>();

beforeAll(async () => {
  const tokens = ['T', 'T', 'U'].map((tenant) =>
    service.makeToken({ preset: 'admin', tenants: [tenant] }),
  );
  [own, same, other] = (await Promise.all(tokens)).map(({ token }) => token);
});
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  sockets.clear();
  // What they held comes back once the service has noticed.
  await expect.poll(async () => (await me(own)).status).toBe(200);
});

const me = (token: string | undefined) => service.call('GET', '/me', { token: token ?? null });

/** Sends a request by hand, and keeps the connection. */
function send(token: string | undefined, path: string, headers: string[], body: string): Socket {
  const { hostname, port } = new URL(service.url);
  const socket = connect(Number(port), hostname).on('error', () => {});
  sockets.add(socket);
  const head = [`POST /api/v1${path} HTTP/1.1`, 'host: x', `authorization: Bearer ${token}`];
  socket.write(`${[...head, ...headers].join('\r\n')}\r\n\r\n${body}`);
  return socket;
}

/** A request that is under way until its connection ends: its body never comes. */
async function hold(token: string | undefined): Promise<void> {
  const headers = ['content-type: application/json', 'content-length: 9', 'expect: 100-continue'];
  // The service asks for the body once it has let the caller in.
  await once(send(token, '/exports/csv', headers, ''), 'data');
}

test('a caller that has as many requests under way as it may have leaves the others their place', async () => {
  for (const token of [own, same, own]) await hold(token);
  for (const token of [own, same]) {
    const answer = await me(token);
    expect(answer).toMatchObject({ status: 429, json: { code: 'requests_busy' } });
    expect(answer.headers.get('retry-after')).toBe('1');
  }
  expect((await me(other)).status).toBe(200);
  expect((await me(service.adminToken)).status).toBe(200);
});

test('a process with too much to do says so to everybody, and answers for its health', async () => {
  for (const token of [own, own, own, other, service.adminToken]) await hold(token);
  for (const token of [own, other, service.adminToken, newAccessToken()]) {
    const answer = await me(token);
    expect(answer).toMatchObject({ status: 503, json: { code: 'overloaded' } });
    expect(answer.headers.get('retry-after')).toBe('1');
  }
  expect((await service.call('GET', '/~/healthz')).status).toBe(200);
  expect((await service.call('GET', '/~/readyz')).status).toBe(200);
});

test('a caller that is ingesting as much as it may leaves the others their bytes', async () => {
  const headers = ['content-type: application/x-ndjson', 'transfer-encoding: chunked'];
  send(own, '/enrichment/records', headers, '1\r\n\n\r\n');
  const ingest = (token: string | undefined) =>
    service.call('POST', '/enrichment/records', {
      token: token ?? null,
      body: '\n',
      headers: { 'content-type': 'application/x-ndjson' },
    });
  await expect
    .poll(async () => (await ingest(same)).json)
    .toMatchObject({ status: 429, code: 'ingest_busy' });
  expect((await ingest(other)).status).toBe(200);
});

test('a caller that has as many exports under way as it may have leaves the others their place', async () => {
  // More than the buffers between the service and its reader hold.
  const records = Array.from({ length: 240 }, (_, n) => ({
    tenant: 'T',
    store: 'S',
    event_id: `e${n}`,
    occurred_at: '2001-01-01T00:00:00Z',
    enrichment: { text: 'x'.repeat(60_000) },
  }));
  for (let n = 0; n < records.length; n += 12) {
    const body = { records: records.slice(n, n + 12) };
    expect((await service.call('POST', '/enrichment/records', { body })).status).toBe(200);
  }
  const body = '{"tenant":"T"}';
  const headers = ['content-type: application/json', `content-length: ${body.length}`];
  const reader = send(own, '/exports/csv', headers, body);
  await once(reader, 'readable');
  const exportAs = async (token: string | undefined) => {
    const options = { token: token ?? null, body: { tenant: 'U' } };
    return service.call('POST', '/exports/csv', options);
  };
  const refused = await exportAs(same);
  expect(refused).toMatchObject({ status: 429, json: { code: 'exports_busy' } });
  expect(refused.headers.get('retry-after')).toBe('5');
  expect((await exportAs(other)).status).toBe(200);
  reader.destroy();
  await expect.poll(async () => (await exportAs(same)).status).toBe(200);
});

test('each answer to a token tells its policies, and what is left of them', async () => {
  const limitsOf = async (token: string | undefined) => {
    const { headers } = await me(token);
    return [headers.get('ratelimit-policy'), headers.get('ratelimit')];
  };
  const { token } = await service.makeToken({ preset: 'curator' });
  expect(await limitsOf(token)).toEqual(['"token";q=1000;w=60', '"token";r=999;t=1']);
  expect(await limitsOf(token)).toEqual([
    '"token";q=1000;w=60',
    expect.stringMatching(/^"token";r=99[89];t=1$/),
  ]);
  const limited = await service.makeToken({ preset: 'curator', tenants: ['V'] });
  const twin = await service.makeToken({ preset: 'curator', tenants: ['V'] });
  expect(await limitsOf(limited.token)).toEqual([
    '"token";q=1000;w=60, "tenants";q=2000;w=60',
    '"token";r=999;t=1, "tenants";r=1999;t=1',
  ]);
  expect((await limitsOf(twin.token))[1]).toMatch(/^"token";r=999;t=1, "tenants";r=199[89];t=1$/);
  expect(await limitsOf(undefined)).toEqual([null, null]);
});
