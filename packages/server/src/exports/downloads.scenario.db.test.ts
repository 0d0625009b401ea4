import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdir, rm } from 'node:fs/promises';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import pino from 'pino';
import sql from 'sql-template-tag';
import { beforeAll, expect, test, vi } from 'vitest';
import { untilLockWaits } from '../../test/one-server.ts';
import { useTestService } from '../../test/service.ts';
import { numberedRecords, storeRecords } from '../records/ingest/testing/post-records.ts';
import { useColdStore } from '../records/read/testing/cold-store.ts';
import { freeze } from '../records/read/testing/freeze.ts';
import { addTag, freezeVersion } from '../records/versions/testing/freeze-version.ts';
import { askForExport, openExport } from './testing/open-export.ts';

// Downloads of both tiers: whole, and cut off from either side.

const logged: { level: number; msg: string; err?: { code?: string } }[] = [];
const log = pino({ level: 'info' }, { write: (line: string) => logged.push(JSON.parse(line)) });
const service = useTestService({}, log);
const cold = useColdStore(service);

const ingest = (tenant: string, count: number, kind: string, noiseBytes = 0) =>
  storeRecords(
    service,
    numberedRecords(tenant, count, (n) => ({
      store: n % 2 === 0 ? 'A' : 'B',
      event_id: `${kind}-${n}`,
      kind,
      occurred_at: `2001-03-0${(n % 7) + 1}T00:00:00Z`,
      enrichment: { n, noise: randomBytes(noiseBytes).toString('base64') },
    })),
  );

beforeAll(async () => {
  await ingest('T', 300, 'early');
  // More than the sockets on the way take in, also as gzip.
  await ingest('BIG', 9_000, 'big', 1_500);
});

async function download(body: object) {
  const response = await openExport(service, body);
  const bytes = await buffer(response);
  const sha256 = createHash('sha256').update(bytes).digest('base64');
  return {
    count: response.headers['x-record-count'],
    isProved: response.trailers['repr-digest'] === `sha-256=:${sha256}:`,
    text: bytes.toString(),
  };
}

test('a download is the same bytes hot, cold and mixed, and its trailer proves them', async () => {
  const hot = await download({ tenant: 'T' });
  expect(hot).toMatchObject({ count: '300', isProved: true });
  await freeze(service.db, cold, { tenant: 'T', id: 'seg_1', filter: `store = 'A'` });
  expect(await download({ tenant: 'T' })).toEqual(hot);
  await freeze(service.db, cold, { tenant: 'T', id: 'seg_2' });
  expect(await download({ tenant: 'T' })).toEqual(hot);
});

test('estimates and links count both tiers, by kind as well', async () => {
  await ingest('T', 14, 'late');
  for (const [kind, rows] of [
    ['early', 300],
    ['late', 14],
  ] as const) {
    const estimate = await service.call('GET', `/exports/estimate?tenant=T&kind=${kind}`);
    expect(estimate.json.rows).toBe(rows);
    const body = { tenant: 'T', kind, delivery: 'link' };
    const link = await service.call('POST', '/exports/csv', { body });
    expect(link.json.row_count).toBe(rows);
    const file = await service.call('GET', link.json.url.replace('/api/v1', ''), { token: null });
    expect(file.text.split('\n')).toHaveLength(rows + 2);
  }
});

const slice = { tenant: 'BIG', columns: ['event_id', 'enrichment'] };

test('every download ends within seconds of its token, or of its session, and looks cut', async () => {
  const { id, token } = await service.makeToken({ preset: 'curator' });
  const other = await service.makeToken({ preset: 'curator' });
  const auth = { authorization: `Bearer ${token}` };
  const { headers } = await service.signIn({ token: other.token });
  const ask = (more: object) => service.call('POST', '/exports/csv', { token, ...more });
  const link = await ask({ body: { ...slice, delivery: 'link' } });
  const made = await ask({ body: slice, headers: { prefer: 'respond-async' } });
  const path = `/exports/${made.json.id}`;
  await expect.poll(async () => (await service.call('GET', path)).json.state).toBe('completed');

  const downloads = await Promise.all([
    open('POST', '/api/v1/exports/csv', auth),
    open('POST', '/api/v1/exports/csv', { ...auth, 'accept-encoding': 'gzip' }),
    open('GET', link.json.url, {}),
    open('GET', `/api/v1${path}/file`, auth),
    open('GET', `/api/v1${path}/file`, headers),
  ]);
  expect((await service.call('DELETE', `/tokens/${id}`)).status).toBe(204);
  expect((await service.call('DELETE', '/session', { token: null, headers })).status).toBe(204);
  const refusals = () => logged.flatMap(({ err }) => (err?.code === undefined ? [] : [err.code]));
  await expect
    .poll(() => refusals().toSorted())
    .toEqual(['session_expired', ...Array.from({ length: 4 }, () => 'token_revoked')]);
  for (const response of downloads) {
    await expect(buffer(response)).rejects.toThrow(/aborted|reset/i);
    expect(response.complete).toBe(false);
  }
});

/** Sends a request whose answer is not read yet. */
function open(method: string, path: string, headers: Record<string, string>) {
  return new Promise<IncomingMessage>((resolve, reject) => {
    const request = httpRequest(service.url + path, {
      method,
      agent: false,
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

test('who hangs up leaves no file behind', async () => {
  await freeze(service.db, cold, { tenant: 'BIG', id: 'seg_big' });
  const response = await openExport(service, { tenant: 'BIG' });
  await once(response, 'readable');
  response.destroy();
  await untilFolders((count) => count === 0);
});

test('who hangs up before the first byte is no error of the service', async () => {
  logged.splice(0);
  // A kind is counted in the cold rows before the first byte.
  const sent = askForExport(service, { tenant: 'BIG', kind: 'big' });
  sent.on('error', () => {});
  await untilFolders((count) => count > 0);
  sent.destroy();
  const ended = () => logged.filter(({ msg }) => msg.includes('export ended early'));
  await vi.waitUntil(() => ended().length > 0, { timeout: 120_000 });
  expect(ended().map(({ level }) => level)).toEqual([30]);
  await untilFolders((count) => count === 0);
});

test('who hangs up while a version is counted has taken nothing that is put on record', async () => {
  logged.splice(0);
  await addTag(service.db, 'T');
  const { id: version } = await freezeVersion(service.db, 'T');
  const lock = await service.db.pool.connect();
  await lock.query('begin; lock table enrichment_records in access exclusive mode');
  const sent = askForExport(service, { tenant: 'T', version });
  sent.on('error', () => {});
  await untilLockWaits(service.db);
  sent.destroy();
  await service.call('GET', '/~/healthz');
  const ended = () => logged.some(({ msg }) => msg.includes('export ended early'));
  await vi.waitUntil(ended, { timeout: 120_000 });
  await lock.query('commit');
  lock.release();
  const noted = await service.db.query(sql`
    select from audit_log where action = 'export.csv' and after ->> 'version' = ${version}`);
  expect(noted).toEqual([]);
});

test('a missing segment answers 500 and names the days', async () => {
  await rm(join(cold.dir, 'records', 'tenant=BIG'), { recursive: true });
  const answer = await service.call('POST', '/exports/csv', { body: { tenant: 'BIG' } });
  expect(answer.json).toMatchObject({ status: 500, code: 'segment_damaged' });
  expect(answer.json.detail).toContain('tenant BIG from 2001-03-01 to 2001-03-07');
});

/** Waits until the exports under way have so many folders for their files. */
async function untilFolders(fits: (count: number) => boolean): Promise<void> {
  const spool = join(service.dataDir, 'spool');
  const count = async () => {
    // Level by level: one that looks into folders would fail on those that go meanwhile.
    const names = await Promise.all(
      (await readdir(spool)).map((name) => readdir(join(spool, name))),
    );
    return names.flat().filter((name) => name.startsWith('export-')).length;
  };
  await vi.waitUntil(async () => fits(await count()), { timeout: 120_000, interval: 1 });
}
