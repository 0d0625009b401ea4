import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import pino from 'pino';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { startTestService, type TestService } from '../../test/service.ts';
import { createFileStore } from '../platform/objects/file-system.ts';
import { type ColdStore, openColdStore } from '../records/read/testing/cold-store.ts';
import { freeze } from '../records/read/testing/freeze.ts';
import { askForExport, openExport } from './testing/open-export.ts';

let service: TestService;
let cold: ColdStore;
const logged: string[] = [];
beforeAll(async () => {
  const log = pino({ level: 'info' }, { write: (line) => void logged.push(line) });
  service = await startTestService({ SVC_RETENTION_SCHEDULE: 'off' }, log);
  const dir = join(service.dataDir, 'cold');
  cold = { ...(await openColdStore()), dir, store: createFileStore(dir) };
  await ingest('T', 300, 'early');
});
afterAll(async () => {
  await cold.close();
  await service.stop();
});

async function ingest(tenant: string, count: number, kind: string, filler = ''): Promise<void> {
  const records = Array.from({ length: count }, (_, n) => ({
    tenant,
    store: n % 2 === 0 ? 'A' : 'B',
    event_id: `${kind}-${n}`,
    occurred_at: `2001-03-0${(n % 7) + 1}T00:00:00Z`,
    kind,
    enrichment: { n, filler },
  }));
  const answer = await service.call('POST', '/enrichment/records', { body: { records } });
  expect(answer.json.accepted).toBe(count);
}

const open = (body: object) => openExport(service, body);

async function download(body: object) {
  const response = await open(body);
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

test('who hangs up leaves no file behind', async () => {
  await ingest('BIG', 9_000, 'big', 'x'.repeat(2_000));
  await freeze(service.db, cold, { tenant: 'BIG', id: 'seg_big' });
  const response = await open({ tenant: 'BIG' });
  await once(response, 'readable');
  response.destroy();
  await vi.waitUntil(async () => (await exportFolders()).length === 0, { timeout: 120_000 });
});

test('who hangs up before the first byte is no error of the service', async () => {
  // A kind is counted in the cold rows before the first byte.
  const sent = askForExport(service, { tenant: 'BIG', kind: 'big' });
  sent.on('error', () => {});
  await vi.waitUntil(async () => (await exportFolders()).length > 0, { interval: 1 });
  sent.destroy();
  const ended = () => logged.filter((line) => line.includes('export ended early'));
  await vi.waitUntil(() => ended().length > 0, { timeout: 120_000 });
  expect(ended().map((line) => JSON.parse(line).level)).toEqual([30]);
  await vi.waitUntil(async () => (await exportFolders()).length === 0, { timeout: 120_000 });
});

test('a missing segment answers 500 and names the days', async () => {
  await rm(join(cold.dir, 'records', 'tenant=BIG'), { recursive: true });
  const answer = await service.call('POST', '/exports/csv', { body: { tenant: 'BIG' } });
  expect(answer.json).toMatchObject({ status: 500, code: 'segment_damaged' });
  expect(answer.json.detail).toContain('tenant BIG from 2001-03-01 to 2001-03-07');
});

async function exportFolders(): Promise<string[]> {
  const spool = join(service.dataDir, 'spool');
  // Level by level: one that looks into folders would fail on those that go meanwhile.
  const names = await Promise.all((await readdir(spool)).map((name) => readdir(join(spool, name))));
  return names.flat().filter((name) => name.startsWith('export-'));
}
