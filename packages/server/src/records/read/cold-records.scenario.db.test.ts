import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestService, type TestService } from '../../../test/service.ts';
import { type ColdStore, openColdStore } from './testing/cold-store.ts';
import { freeze } from './testing/freeze.ts';

let service: TestService;
let cold: ColdStore;
beforeAll(async () => {
  service = await startTestService();
  cold = await openColdStore(join(service.dataDir, 'cold'));
  for (const tenant of ['TX', 'CA']) {
    const records = Array.from({ length: 30 }, (_, n) => ({
      tenant,
      store: 'S',
      event_id: `e${n}`,
      occurred_at: `2001-01-${String(1 + (n % 5)).padStart(2, '0')}T00:00:00Z`,
      kind: n % 2 === 0 ? 'even' : 'odd',
      confidence: 1,
      enrichment: { n },
    }));
    await service.call('POST', '/enrichment/records', { body: { records } });
  }
});
afterAll(async () => {
  await cold.close();
  await service.stop();
});

const paths = [
  '/enrichment/records?tenant=TX&limit=7',
  '/enrichment/records?limit=500&order=desc',
  '/enrichment/records?tenant=TX&kind=odd',
  '/enrichment/records/one?tenant=TX&store=S&occurred_at=2001-01-01T00:00:00Z&event_id=e5',
];

const read = (path: string, token?: string) =>
  service.call('GET', path, token === undefined ? {} : { token });

test('a token limited to tenants sees nothing of foreign cold records', async () => {
  await freeze(service.db, cold, { tenant: 'CA', id: 'seg_ca' });
  const { token } = await service.makeToken({ preset: 'curator', tenants: ['TX'] });
  expect((await read('/enrichment/records?tenant=CA', token)).text).toBe(
    (await read('/enrichment/records?tenant=never', token)).text,
  );
  const { data } = (await read('/enrichment/records?limit=500', token)).json;
  expect(new Set(data.map((row: { tenant: string }) => row.tenant))).toEqual(new Set(['TX']));
  const one =
    '/enrichment/records/one?tenant=CA&store=S&occurred_at=2001-01-01T00:00:00Z&event_id=e5';
  expect((await read(one)).status).toBe(200);
  expect((await read(one, token)).json).toMatchObject({ status: 404, code: 'record_not_found' });
});

test('answers the same text before and after the records went cold', async () => {
  const hot = await Promise.all(paths.map((path) => read(path)));
  await freeze(service.db, cold, { tenant: 'TX', id: 'seg_tx' });
  const after = await Promise.all(paths.map((path) => read(path)));
  expect(after.map(({ text }) => text)).toEqual(hot.map(({ text }) => text));
  expect(after.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
});

test('answers 500 segment_damaged, and which days of which tenant are affected', async () => {
  const key = 'records/tenant=TX/2001-01-01_2001-01-05_seg_tx.parquet';
  const path = join(cold.dir, key);
  const whole = await readFile(path);
  const bent = Buffer.from(whole);
  bent[50] = (bent[50] ?? 0) ^ 255;
  await writeFile(path, bent);
  for (const each of paths) {
    const { json } = await read(each);
    expect(json).toMatchObject({ status: 500, code: 'segment_damaged' });
    for (const told of ['TX', '2001-01-01', '2001-01-05', key]) expect(json.detail).toContain(told);
    // Where the service keeps its files is nobody's business.
    expect(JSON.stringify(json)).not.toContain(service.dataDir);
  }
  expect((await read('/enrichment/records?tenant=CA')).status).toBe(200);
  expect((await read('/enrichment/datasets')).status).toBe(200);
  await writeFile(path, whole);
  expect((await read(paths[0] ?? '')).status).toBe(200);
});
