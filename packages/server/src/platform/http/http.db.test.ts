import { once } from 'node:events';
import { METHODS } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import pino from 'pino';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { untilLockWaits } from '../../../test/one-server.ts';
import { startTestService, type TestService } from '../../../test/service.ts';
import { apiContract } from '../../contract.ts';

let service: TestService;
let logged: (line: string) => void = () => {};
beforeAll(async () => {
  const log = pino({ level: 'warn' }, { write: (line: string) => logged(line) });
  service = await startTestService({}, log);
});
beforeEach(() => {
  logged = () => {};
});
afterAll(() => service.stop());

async function open(): Promise<Socket> {
  const { hostname, port } = new URL(service.url);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  return socket;
}

/** Sends bytes as they are, and answers all that comes back. */
async function sendRaw(request: string): Promise<string> {
  const socket = await open();
  socket.write(request);
  return text(socket);
}

const authorization = (token = service.adminToken) => `authorization: Bearer ${token}`;

test.each([
  ['a second question mark', '/enrichment/records?tenant=TX?store=DFW', 200],
  ['a parameter behind it', '/enrichment/datasets?tenant=TX?x&level=day', 400],
  ['a tenant that nobody may be called any more', '/enrichment/records?tenant=.&store=*', 200],
  ['__proto__', '/me?__proto__=x', 400],
  ['month 9999-12', '/enrichment/datasets?month=9999-12', 400],
  ['a year 0000', '/enrichment/records?from=0000-01-01&to=2001-01-01', 400],
  ['a year 9999', '/enrichment/records?from=2001-01-01&to=9999-12-31', 400],
  ['NUL in q', '/enrichment/datasets?q=a%00', 400],
  ['NUL in kind', '/enrichment/records?kind=%00', 400],
  [
    'NUL in an event id',
    '/enrichment/records/one?tenant=a&store=b&occurred_at=2001-01-01T00:00:00Z&event_id=%00',
    400,
  ],
  ['an id of 5,000 characters', `/enrichment/dataset-versions/${'x'.repeat(5000)}`, 404],
])('%s is part of the input, and never a 500', async (_name, path, status) => {
  const answer = await service.call('GET', path);
  expect(answer.status, answer.text).toBe(status);
  if (status === 200) expect(answer.json.data).toEqual([]);
});

test.each([
  ['DELETE', '/tokens/%00', undefined, 404],
  ['DELETE', '/tokens/%00', {}, 404],
  ['DELETE', '/tokens/%00', { force: true }, 400],
  ['DELETE', '/sessions/%00', undefined, 404],
  ['DELETE', '/notify/targets/%00', undefined, 404],
  ['PATCH', '/notify/targets/%00', { enabled: false }, 404],
  ['POST', '/notify/targets/%00/test', undefined, 404],
  ['POST', '/exports/csv', { tenant: 'T', kind: '\u0000' }, 400],
  ['POST', '/exports/csv', { tenant: '\ud800' }, 400],
  ['POST', '/tokens', { name: 'a\ud800', preset: 'pipeline' }, 400],
  ['POST', '/tokens', { name: 'a', preset: 'pipeline', expires_at: '2199-01-01 00:00:00Z' }, 400],
])('%s %s with %j answers a clear error', async (method, path, body, status) => {
  expect((await service.call(method, path, { body })).status).toBe(status);
});

test('a megabyte of faults is answered with twenty at most', async () => {
  const columns = Array.from({ length: 100_000 }, () => 'nothing');
  const answer = await service.call('POST', '/exports/csv', { body: { tenant: 'T', columns } });
  expect(answer.status).toBe(400);
  expect(answer.text.length).toBeLessThan(10_000);
});

test('a value that does not fit is told what would', async () => {
  const answer = await service.call('GET', '/enrichment/datasets?month=2026-13');
  expect(answer.json.detail).toBe('month: must be a month such as 2026-03, from 1970-01 on');
});

test.each([
  [{ tenant: '' }, 'must not be empty'],
  [{ tenant: 'x'.repeat(200) }, 'must have at most 128 characters'],
  [{ columns: [] }, 'must not be empty'],
  [{ columns: ['kind', 'kind'] }, 'must not name anything twice'],
])('%j is told in words what fits', async (change, message) => {
  const body = { tenant: 'T', ...change };
  const answer = await service.call('POST', '/exports/csv', { body });
  expect(answer.json.errors).toMatchObject([{ message }]);
});

test.each([
  ['tenant=%ff', '?tenant'],
  ['tenant=%', '?tenant'],
  ['%ff=x', '?'],
])('GET /enrichment/records?%s is no UTF-8, and refused', async (query, path) => {
  const answer = await service.call('GET', `/enrichment/records?${query}`);
  expect(answer.json).toMatchObject({ code: 'request_invalid', errors: [{ path }] });
});

test.each(
  Object.values(apiContract).filter(
    (route) => !('streamedBody' in route) && route.method !== 'GET',
  ),
)(
  '$method $path answers 400 to null, [], bytes that are no text, and a field twice',
  async (route) => {
    const path = route.path.replace(/:\w+/g, 'x');
    const bodies = [
      'null',
      '[]',
      Buffer.from('{"tenant":"\xff"}', 'latin1'),
      '{"a":1,"\\u0061":2}',
    ];
    for (const [index, body] of bodies.entries()) {
      const answer = await service.call(route.method, path, {
        body,
        headers: { 'content-type': 'application/json' },
      });
      expect(answer.json, answer.text).toMatchObject({
        status: 400,
        code: index === 2 ? 'json_invalid' : 'request_invalid',
      });
      if (index === 3)
        expect(answer.json.errors).toMatchObject([{ path: '/a', code: 'field_repeated' }]);
    }
  },
);

test('a field twice is only refused where the body itself has it', async () => {
  const send = (body: string) =>
    service.call('POST', '/exports/csv', { body, headers: { 'content-type': 'application/json' } });
  const faults = [
    '{"tenant":"T","tenant":"U"}',
    '{"tenant":"a\\\\\\"","columns":["kind"],"tenant":"a"}',
    '{"columns":[{"tenant":1}],"tenant":"T","tenant":"T"}',
  ];
  for (const body of faults) {
    expect((await send(body)).json.errors).toMatchObject([
      { path: '/tenant', code: 'field_repeated', message: 'is given more than once' },
    ]);
  }
  expect((await send('{"tenant":"tenant","store":"\\"tenant"}')).status).toBe(200);
});

test.each(METHODS.filter((method) => method !== 'CONNECT'))(
  '%s of a path that it is not for is refused in words and logs nothing',
  async (method) => {
    const lines: string[] = [];
    logged = (line) => lines.push(line);
    const path = method === 'GET' || method === 'HEAD' ? '/nothing' : '/healthz';
    for (const extra of ['', 'content-type: application/json\r\ncontent-length: 3\r\n']) {
      const answer = await sendRaw(
        `${method} ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n${extra}\r\n${extra && '{x}'}`,
      );
      expect(answer).toMatch(
        path === '/healthz'
          ? /^HTTP\/1.1 405 .*allow: GET, HEAD\r.*method_not_allowed/is
          : /^HTTP\/1.1 404 /,
      );
      expect(answer).toContain('application/problem+json');
    }
    expect(lines).toEqual([]);
  },
);

test('a path of the API without its beginning is told with it', async () => {
  const ask = (path: string) =>
    sendRaw(`GET ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`);
  expect(await ask('/webhook/endpoints/ep_1?a=b')).toContain(
    'There is no GET /webhook/endpoints/ep_1. Did you mean /api/v1/webhook/endpoints/ep_1?',
  );
  expect(await ask('/nothing')).toContain('There is no GET /nothing. See /docs.');
});

test('CONNECT is answered', async () => {
  expect(await sendRaw('CONNECT example.com:443 HTTP/1.1\r\nhost: x\r\n\r\n')).toMatch(
    /^HTTP\/1.1 404 .*route_not_found/s,
  );
});

test.each([
  '/~/healthz',
  '/~/readyz',
  '/~/docs',
  '/~/docs/style.css',
  '/openapi.json',
  '/me',
  '/enrichment/datasets',
  '/audit?limit=5',
  '/enrichment/records?month=2026-13',
  '/nothing',
])('HEAD %s answers what GET does, without the body', async (path) => {
  const got = await service.call('GET', path);
  const asked = await service.call('HEAD', path);
  expect(asked.status).toBe(got.status);
  expect(asked.text).toBe('');
  for (const name of [
    'content-type',
    'content-length',
    'cache-control',
    'x-content-type-options',
  ]) {
    if (got.status === 200) expect(asked.headers.get(name), name).toBe(got.headers.get(name));
  }
});

test.each([
  ['an answer', '/me', 'no-store'],
  ['an error', '/enrichment/records?month=x', 'no-store'],
  ['a path that is not there', '/nothing', 'no-store'],
  ['a path that is no URL', '/tokens/%ff', 'no-store'],
  ['health', '/~/healthz', 'no-store'],
  ['the reference', '/~/docs', 'no-store'],
  ['its style', '/~/docs/style.css', 'no-store'],
  ['the console', '/~/', 'no-cache'],
])('%s says nosniff and how long it may be kept', async (_name, path, caching) => {
  const { headers } = await service.call('GET', path);
  expect(headers.get('x-content-type-options')).toBe('nosniff');
  expect(headers.get('cache-control')).toBe(caching);
});

test('an export is not kept by anybody', async () => {
  const { headers } = await service.call('POST', '/exports/csv', { body: { tenant: 'T' } });
  expect(headers.get('cache-control')).toBe('no-store');
  expect(headers.get('x-content-type-options')).toBe('nosniff');
});

test('two Host headers are refused', async () => {
  const answer = await sendRaw(
    'GET /healthz HTTP/1.1\r\nhost: a\r\nHost: b\r\nconnection: close\r\n\r\n',
  );
  expect(answer).toMatch(/^HTTP\/1.1 400 .*more than one Host/s);
});

test.each([
  ['a token that is not known', '100-continue', 'svc_nonsense', /^HTTP\/1.1 401 /],
  ['an expectation that nobody knows', '200-ok', '', /^HTTP\/1.1 417 .*expectation_unknown/s],
])('a body that is announced with %s is not asked for', async (_name, expect_, token, status) => {
  const answer = await sendRaw(
    `POST /api/v1/enrichment/records HTTP/1.1\r\nhost: x\r\nexpect: ${expect_}\r\ncontent-type: application/x-ndjson\r\ncontent-length: 1000\r\n${authorization(token || service.adminToken)}\r\n\r\n`,
  );
  expect(answer).toMatch(status);
  expect(answer).toContain('connection: close');
});

test('a body that is announced is asked for once its token is known', async () => {
  const socket = await open();
  socket.write(
    `POST /api/v1/tokens HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: 2\r\n${authorization()}\r\n\r\n`,
  );
  const [first] = await once(socket, 'data');
  expect(String(first)).toBe('HTTP/1.1 100 Continue\r\n\r\n');
  socket.write('{}');
  expect(await text(socket)).toContain('name: is required');
});

test.each([
  ['what is not HTTP', 'hello\r\n\r\n', '400 .*not valid HTTP'],
  ['a bad header', 'GET / HTTP/1.1\r\nhost: x\r\nbad header\r\n\r\n', '400 .*not valid HTTP'],
  [
    '20 KiB of header',
    `GET / HTTP/1.1\r\nhost: x\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`,
    '431 .*more than 16 KiB',
  ],
])('%s is answered with a problem document', async (_name, request, told) => {
  const answer = await sendRaw(request);
  expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${told}`, 's'));
  expect(answer).toContain('application/problem+json');
  expect(answer).toMatch(/x-request-id: req_\w+/);
});

const post = (path: string, fields: string) =>
  `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n${fields}\r\n\r\n`;

test.each([
  [
    'an open route is told at once that it is too large',
    '/api/v1/session',
    'content-length: 4097',
    413,
  ],
  ['an open route that counts as it comes', '/api/v1/session', 'transfer-encoding: chunked', 413],
  ['an unknown token is not waited for', '/api/v1/tokens', 'content-length: 1000000', 401],
  [
    'an unknown token is not asked for a stream',
    '/api/v1/enrichment/records',
    'content-length: 10',
    401,
  ],
  ['a path that is not there is not read', '/api/v1/nothing', 'content-length: 1000000', 404],
])('a body for %s', async (_name, path, length, status) => {
  const socket = await open();
  socket.write(post(path, length));
  if (length.startsWith('transfer')) socket.write(`1001\r\n"${'x'.repeat(4096)}\r\n`);
  const [answer] = await once(socket, 'data');
  expect(String(answer)).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  socket.destroy();
});

test.each([
  ['TRACE', '/api/v1/me', 'GET, HEAD'],
  ['PUT', '/api/v1/tokens?limit=1', 'GET, HEAD, POST'],
  ['POST', '/api/v1/webhook/endpoints/ep_1', 'DELETE, GET, HEAD, PATCH'],
])('%s %s is told which methods the path has', async (method, path, allowed) => {
  const answer = await sendRaw(
    `${method} ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n${authorization()}\r\n\r\n`,
  );
  expect(answer).toMatch(/^HTTP\/1.1 405 .*method_not_allowed/s);
  expect(answer.split('\r\n')).toContain(`allow: ${allowed}`);
  expect(answer).not.toContain(service.adminToken);
});

test('a body of 4 KiB for an open route is read', async () => {
  const body = JSON.stringify({ token: 'x'.repeat(4084) });
  expect(body).toHaveLength(4096);
  const answer = await service.call('POST', '/session', { token: null, body: JSON.parse(body) });
  expect(answer.json).toMatchObject({ code: 'request_invalid', errors: [{ path: '/token' }] });
});

test('unfinished bodies are ended, and the service answers beside them', async () => {
  const own = await startTestService({ SVC_CONNECTIONS: '40', SVC_BODY_SECONDS: '1' });
  const { hostname, port } = new URL(own.url);
  const flood = Array.from({ length: 120 }, () => {
    const socket = connect(Number(port), hostname).on('error', () => {});
    socket.write(`${post('/api/v1/session', 'content-length: 4096')}${'x'.repeat(4000)}`);
    return socket;
  });
  const endings = Promise.all(flood.map((socket) => once(socket.resume(), 'close')));
  expect((await own.call('GET', '/~/healthz')).status).toBe(200);
  await endings;
  await own.stop();
});

test('an export over HTTP/1.0 is refused in words: a cut one could look whole', async () => {
  const body = '{"tenant":"T"}';
  const answer = await sendRaw(
    `POST /api/v1/exports/csv HTTP/1.0\r\nauthorization: Bearer ${service.adminToken}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  expect(answer).toContain('http_version_unsupported');
  // A link is not used up by what was refused.
  const link = await service.call('POST', '/exports/csv', {
    body: { tenant: 'T', delivery: 'link' },
  });
  const path = new URL(link.json.url, service.url).pathname;
  expect(await sendRaw(`GET ${path} HTTP/1.0\r\n\r\n`)).toContain('http_version_unsupported');
  const download = () => service.call('GET', `/~${path}`, { token: null });
  expect((await download()).status).toBe(200);
  expect((await download()).status).toBe(404);
});

test('a caller with very many requests under way keeps no other from the database', async () => {
  const own = await startTestService({ SVC_DATABASE_CONNECTIONS: '6' });
  const [greedy, other] = [
    await own.makeToken({ preset: 'support-readonly' }),
    await own.makeToken({ preset: 'support-readonly' }),
  ];
  const path = '/enrichment/datasets?level=tenant';
  const lock = await own.db.pool.connect();
  await lock.query('begin; lock table leaf_tenants in access exclusive mode');
  let answered = 0;
  const crowd = Array.from({ length: 200 }, async () => {
    const { status } = await own.call('GET', path, greedy);
    answered += 1;
    return status;
  });
  await untilLockWaits(own.db, 6);
  const asked = own.call('GET', path, other).then(({ status }) => ({ status, answered }));
  await own.call('GET', '/~/healthz');
  await lock.query('commit');
  lock.release();
  const first = await asked;
  expect(first.status).toBe(200);
  expect(first.answered).toBeLessThan(60);
  expect(new Set(await Promise.all(crowd))).toEqual(new Set([200]));
  await own.stop();
});

test('a token that is revoked while the body arrives is refused', async () => {
  const { id, token } = await service.makeToken({ preset: 'admin' });
  const body = JSON.stringify({ tenant: 'late', dataset: 'training' });
  const socket = await open();
  const answer = text(socket);
  socket.write(
    `POST /api/v1/enrichment/tags HTTP/1.1\r\nhost: x\r\nconnection: close\r\n${authorization(token)}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body.slice(0, 9)}`,
  );
  // Its use is noted when the token is looked up.
  await expect
    .poll(async () => (await service.call('GET', '/tokens')).json.data)
    .toContainEqual(expect.objectContaining({ id, last_used_at: expect.any(String) }));
  expect((await service.call('DELETE', `/tokens/${id}`)).status).toBe(204);
  socket.write(body.slice(9));
  expect(await answer).toContain('"code":"token_revoked"');
});
