import { randomBytes } from 'node:crypto';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import pino from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestService, type TestService } from '../../test/service.ts';

let service: TestService;
const lines: { msg: string; err?: { code?: string } }[] = [];
const slice = { tenant: 'T', columns: ['event_id', 'enrichment'] };

beforeAll(async () => {
  const log = pino({ level: 'info' }, { write: (line: string) => lines.push(JSON.parse(line)) });
  service = await startTestService({}, log);
  // More than the sockets on the way take in.
  for (let n = 0; n < 10; n += 1) {
    const records = Array.from({ length: 20 }, (_, m) => ({
      ...{ tenant: 'T', store: 'S', event_id: `e${n}-${m}`, occurred_at: '2001-03-01T00:00:00Z' },
      enrichment: { noise: randomBytes(90_000).toString('base64') },
    }));
    await service.call('POST', '/enrichment/records', { body: { records } });
  }
});
afterAll(() => service.stop());

test('every download ends within seconds of its token, or of its session, and looks cut', async () => {
  const { id, token } = await service.makeToken({ preset: 'curator' });
  const other = await service.makeToken({ preset: 'curator' });
  const auth = { authorization: `Bearer ${token}` };
  const opened = await service.call('POST', '/session', {
    ...{ token: null, body: { token: other.token } },
  });
  const cookie = (opened.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
  const link = await service.call('POST', '/exports/csv', {
    ...{ token, body: { ...slice, delivery: 'link' } },
  });
  const made = await service.call('POST', '/exports/csv', {
    ...{ token, body: slice, headers: { prefer: 'respond-async' } },
  });
  await expect
    .poll(async () => (await service.call('GET', `/exports/${made.json.id}`)).json.state)
    .toBe('completed');

  const downloads = await Promise.all([
    open('POST', '/api/v1/exports/csv', auth),
    open('POST', '/api/v1/exports/csv', { ...auth, 'accept-encoding': 'gzip' }),
    open('GET', link.json.url, {}),
    open('GET', `/api/v1/exports/${made.json.id}/file`, auth),
    open('GET', `/api/v1/exports/${made.json.id}/file`, { cookie }),
  ]);
  expect((await service.call('DELETE', `/tokens/${id}`)).status).toBe(204);
  const signedOut = await service.call('DELETE', '/session', { token: null, headers: { cookie } });
  expect(signedOut.status).toBe(204);
  const refusals = () => lines.flatMap(({ err }) => (err?.code === undefined ? [] : [err.code]));
  await expect
    .poll(() => refusals().toSorted())
    .toEqual(['session_expired', ...Array.from({ length: 4 }, () => 'token_revoked')]);
  for (const download of downloads) {
    const read = async () => {
      for await (const _ of download);
    };
    await expect(read()).rejects.toThrow(/aborted|reset/i);
    expect(download.complete).toBe(false);
  }
});

/** Sends a request whose answer is not read yet. */
function open(method: string, path: string, headers: Record<string, string>) {
  return new Promise<IncomingMessage>((resolve, reject) => {
    const request = httpRequest(service.url + path, {
      ...{ method, agent: false },
      headers: { 'content-type': 'application/json', ...headers },
    });
    request.on('error', reject);
    request.on('response', (response) => {
      response.pause();
      response.on('error', () => {});
      if (response.statusCode === 200) resolve(response);
      else reject(new Error(`${path} answered ${response.statusCode}`));
    });
    request.end(method === 'POST' ? JSON.stringify(slice) : undefined);
  });
}
