import { request as openRequest } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { useTestService } from '../../../test/service.ts';
import { apiContract, type RouteContract } from '../../contract.ts';
import { acceptsCoding } from './compress-answer.ts';

const service = useTestService();

/** An answer as it came: fetch would undo its coding. */
async function get(path: string, coding: string, fields: Record<string, string> = {}) {
  const headers = {
    authorization: `Bearer ${service.adminToken}`,
    'accept-encoding': coding,
    ...fields,
  };
  return new Promise<{ status?: number; headers: Record<string, unknown>; body: Buffer }>(
    (resolve, reject) => {
      openRequest(service.url + path, { headers }, (answer) => {
        const { statusCode: status = 0, headers } = answer;
        buffer(answer).then((body) => resolve({ status, headers, body }), reject);
      })
        .once('error', reject)
        .end();
    },
  );
}

async function scriptPath(): Promise<string> {
  const page = (await get('/', 'identity')).body.toString();
  return /src="(\/assets\/[^"]+\.js)"/.exec(page)?.[1] ?? '';
}

test('a script is sent as brotli or gzip to who takes it, each under an ETag of its own', async () => {
  const path = await scriptPath();
  const plain = await get(path, 'identity');
  const brotli = await get(path, 'gzip, deflate, br');
  const gzip = await get(path, 'gzip');
  expect([brotli, gzip, plain].map(({ headers }) => headers['content-encoding'])).toEqual([
    'br',
    'gzip',
    undefined,
  ]);
  expect(brotliDecompressSync(brotli.body).equals(plain.body)).toBe(true);
  expect(gunzipSync(gzip.body).equals(plain.body)).toBe(true);
  expect(brotli.body.length).toBeLessThan(gzip.body.length);
  expect(gzip.body.length).toBeLessThan(plain.body.length / 2);
  expect(new Set([brotli, gzip, plain].map(({ headers }) => headers.etag)).size).toBe(3);
  for (const { headers } of [brotli, gzip, plain]) {
    expect(headers).toMatchObject({
      vary: 'accept-encoding',
      'content-type': expect.stringContaining('javascript; charset=utf-8'),
      'cache-control': 'public, max-age=31536000, immutable',
      'x-content-type-options': 'nosniff',
    });
  }
  const again = await get(path, 'br', { 'if-none-match': String(brotli.headers.etag) });
  expect(again.status).toBe(304);
});

test('what the build made beside a file has no address of its own', async () => {
  expect((await get(`${await scriptPath()}.br`, 'identity')).status).toBe(404);
  expect((await get('/.built', 'identity')).status).toBe(404);
});

test('an answer of more than 1 KiB is sent as gzip to who takes it', async () => {
  const plain = await get('/api/v1/openapi.json', 'identity');
  const gzip = await get('/api/v1/openapi.json', 'gzip');
  expect(plain.headers).not.toHaveProperty('content-encoding');
  expect(gzip.headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'accept-encoding' });
  expect(Number(gzip.headers['content-length'])).toBe(gzip.body.length);
  expect(gunzipSync(gzip.body).equals(plain.body)).toBe(true);
  const small = await get('/api/v1/me', 'gzip');
  expect(small.headers).not.toHaveProperty('content-encoding');
  expect(small.headers.vary).toBe('accept-encoding');
});

test('an answer to a call that may change something is never compressed', async () => {
  const answer = await service.call('POST', '/enrichment/records', {
    body: { records: Array.from({ length: 50 }, () => ({})) },
    headers: { 'accept-encoding': 'gzip' },
  });
  expect(answer.text.length).toBeGreaterThan(1024);
  expect(answer.headers.has('content-encoding')).toBe(false);
});

test('no call that may be compressed reveals a secret', () => {
  for (const { method, id, responses } of Object.values<RouteContract>(apiContract)) {
    if (method !== 'GET') continue;
    expect(JSON.stringify(responses), id).not.toMatch(
      /"(token|secret|url)":\{[^}]*(svc_|whsec_|once)/,
    );
  }
});

test.each([
  [undefined, false],
  ['', false],
  ['gzip', true],
  ['GZIP;q=0.5', true],
  ['br, gzip;q=0', false],
  ['gzip; q=0.000', false],
  ['*', true],
  ['*, gzip;q=0', false],
  ['identity', false],
  ['x-gzip', false],
])('Accept-Encoding %j takes gzip: %j', (header, isTaken) => {
  expect(acceptsCoding(header, 'gzip')).toBe(isTaken);
});
