import { buffer } from 'node:stream/consumers';
import sql from 'sql-template-tag';
import { beforeAll, expect, test } from 'vitest';
import { useTestService } from '../../test/service.ts';
import { storeRecords } from '../records/ingest/testing/post-records.ts';
import { useColdStore } from '../records/read/testing/cold-store.ts';
import { freeze } from '../records/read/testing/freeze.ts';
import { openExport } from './testing/open-export.ts';

const service = useTestService();
const cold = useColdStore(service);
beforeAll(async () => {
  const records = Array.from({ length: 600 }, (_, n) => ({
    tenant: 'T',
    store: n % 2 === 0 ? 'A' : 'B',
    event_id: `event ${n}`,
    occurred_at: `2001-03-0${1 + (n % 6)}T00:00:00Z`,
    ...(n % 3 === 0 ? { kind: 'a "quoted" kind', model: 'm', confidence: 0.25 } : {}),
    enrichment: { n, text: `é "${'x'.repeat(n % 100)}"`, list: [1, 2, 3] },
  }));
  await storeRecords(service, records);
  await service.db.query(sql`
    insert into tags (tenant, id, store, first_day, last_day, dataset, created_by)
    values ('T', '1', 'A', '2001-03-01', '2001-03-03', 'training', 'test')`);
});

async function download(format: string, body: object): Promise<Buffer> {
  return buffer(await openExport(service, body, { format }));
}

const estimate = (query: string) => service.call('GET', `/exports/estimate?${query}`);

test('asks for a tenant, and days and a split that make sense', async () => {
  expect((await estimate('store=A')).status).toBe(400);
  expect((await estimate('tenant=T&from=2001-03-01')).status).toBe(400);
  expect((await estimate('tenant=T&split=train')).status).toBe(400);
  expect((await estimate('tenant=T&version=none')).json).toMatchObject({
    status: 404,
    code: 'version_not_found',
  });
});

test('what is empty is nothing', async () => {
  const files = { csv: 0, ndjson: 0, parquet: 0 };
  const nothing = { rows: 0, bytes: 0, files, long_records: null };
  expect((await estimate('tenant=T&dataset=fine_tuning')).json).toEqual(nothing);
});

test.each(['', '&store=A', '&kind=a%20%22quoted%22%20kind', '&dataset=training'])(
  'of tenant=T%s the NDJSON is exact and the CSV about right',
  async (filter) => {
    const query = `tenant=T${filter}`;
    const { rows, bytes, files } = (await estimate(query)).json;
    const body = Object.fromEntries(new URLSearchParams(query));
    const ndjson = await download('ndjson', body);
    expect(ndjson.length).toBe(files.ndjson);
    expect(ndjson.filter((byte) => byte === 0x0a)).toHaveLength(rows);
    expect(files.ndjson).toBe(bytes + rows);
    const csv = await download('csv', body);
    expect(files.csv / csv.length).toBeGreaterThan(0.9);
    expect(files.csv / csv.length).toBeLessThan(1.1);
  },
);

test('the Parquet is a twentieth, and as cold records take once there are some', async () => {
  const hot = (await estimate('tenant=T')).json;
  expect(hot.files.parquet).toBe(Math.round(hot.bytes / 20));
  await freeze(service.db, cold, { tenant: 'T', id: 'seg_1', lastDay: '2001-03-03' });
  await freeze(service.db, cold, { tenant: 'T', id: 'seg_2' });
  const [stored] = await service.db.query<{ bytes: number }>(
    sql`select sum(size_bytes)::bigint as bytes from segments`,
  );
  const { files, ...sizes } = (await estimate('tenant=T')).json;
  expect(sizes).toEqual({ rows: hot.rows, bytes: hot.bytes, long_records: null });
  expect(files).toEqual({ ...hot.files, parquet: stored?.bytes });
});

test('for a spreadsheet it tells how many records may not fit into a cell, in both tiers', async () => {
  const record = (event_id: string, length: number) => ({
    tenant: 'L',
    store: 'A',
    event_id,
    occurred_at: '2001-03-01T00:00:00Z',
    enrichment: { text: 'x'.repeat(length) },
  });
  const sent = [record('short', 1000), record('long', 33_000), record('longer', 50_000)];
  await storeRecords(service, sent);
  const long = async (query: string) => (await estimate(`tenant=L${query}`)).json.long_records;
  for (const tier of ['hot', 'cold']) {
    if (tier === 'cold') {
      await freeze(service.db, cold, { tenant: 'L', filter: `event_id = 'long'`, id: 'seg_l' });
    }
    expect(await long('&profile=spreadsheet')).toBe(2);
    expect(await long('&profile=spreadsheet&store=B')).toBe(0);
    expect(await long('&profile=machine')).toBeNull();
  }
});
