import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import { startS3, type TestS3 } from '../../../test/s3.ts';
import { createLog } from '../../platform/log.ts';
import type { ObjectReader, ObjectStore } from '../../platform/objects/objects.ts';
import { createObjectReader } from '../../platform/objects/reader.ts';
import { createS3Store } from '../../platform/objects/s3.ts';
import type { SegmentPiece } from '../segments/pieces.ts';
import { type ColdStore, openColdStore } from './testing/cold-store.ts';
import { freeze } from './testing/freeze.ts';
import { bothTiers, ingest, page, type TestTier, walk } from './testing/walk.ts';

/** Pages of segments in S3, of which only some row groups are fetched. */
let db: TestDatabase;
let files: ColdStore;
let s3: TestS3;
let store: ObjectStore;
let objects: ObjectReader;
let inFiles: TestTier;
let inS3: TestTier;

const tenant = 'TX';
const key = `records/tenant=${tenant}/2001-01-01_2001-01-05_seg_TX.parquet`;
const largeDay = 12_000;
const total = largeDay + 2000;

beforeAll(async () => {
  [db, files, s3] = await Promise.all([createTestDatabase(), openColdStore(), startS3()]);
  const large = Array.from({ length: largeDay }, (_, n) => ({ store: 'A', n, day: 3 }));
  const small = ['A', 'B'].flatMap((name) =>
    Array.from({ length: 1000 }, (_, n) => ({ store: name, n: largeDay + n, day: 1 + (n % 5) })),
  );
  const texts = [...large, ...small].map(({ store: name, n, day }) =>
    JSON.stringify({
      tenant,
      store: name,
      event_id: `e${n}`,
      // Three records have the same time, and a time may stand in two row groups.
      occurred_at: new Date(Date.UTC(2001, 0, day) + Math.floor(n / 3) * 7000).toISOString(),
      kind: n % 5000 === 0 ? 'rare' : 'usual',
      enrichment: { n },
    }),
  );
  await ingest(db, files, [texts]);
  await freeze(db, files, { tenant, id: 'seg_TX', hasSmallGroups: true });
  store = await createS3Store(s3.urlOf('pieces'));
  await store.put(key, join(files.dir, key));
  inFiles = bothTiers(db, files);
}, 120_000);

beforeEach(async () => {
  await objects?.close();
  objects = createObjectReader(store, {
    dir: join(files.spoolDir, `pieces-${randomBytes(4).toString('hex')}`),
    maxBytes: 2 ** 28,
    log: createLog('silent'),
  });
  inS3 = bothTiers(db, { duckdb: files.duckdb, objects });
  s3.clear();
});

afterAll(async () => {
  await objects.close();
  await store.close();
  await Promise.all([files.close(), s3.close()]);
  await db.drop();
});

/** The stretches that were fetched; undefined for the whole object. */
function fetched(): (string | undefined)[] {
  return s3.requests.filter(({ method }) => method === 'GET').map(({ headers }) => headers.range);
}

async function piecesOf(): Promise<SegmentPiece[]> {
  const { rows } = await db.pool.query<{ pieces: SegmentPiece[] }>(
    'select pieces from segments where id = $1',
    ['seg_TX'],
  );
  return rows[0]?.pieces ?? [];
}

test('a segment knows its row groups: together they are the object, and each has its times', async () => {
  const pieces = await piecesOf();
  const { length } = await readFile(join(files.dir, key));
  expect(pieces.length).toBeGreaterThan(5);
  expect(pieces.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(length);
  expect(pieces.reduce((sum, { rows }) => sum + rows, 0)).toBe(total);
  expect(pieces[0]).toMatchObject({ rows: 2048, first_at: '2001-01-01T07:46:40.000000Z' });
  expect(pieces.at(-1)).toMatchObject({ rows: 0, first_at: null, last_at: null });
});

test.each([
  ['in order', { tenant, limit: 3000 }],
  ['in reverse', { tenant, limit: 3000, order: 'desc' }],
  ['of one kind', { tenant, limit: 2, kind: 'rare' }],
  ['of a store', { tenant, store: 'B', limit: 300, order: 'desc' }],
] as const)('pages %s are the same as of a store of files', async (_, request) => {
  expect(await walk(inS3, request)).toEqual(await walk(inFiles, request));
  expect(fetched()).not.toContain(undefined);
});

test.each(['asc', 'desc'] as const)(
  'a page fetches the row groups that it shows, and those at its cursor (%s)',
  async (order) => {
    const first = await page(inS3, { tenant, limit: 100, order });
    expect(fetched()).toHaveLength(2);
    let cursor = first.next ?? '';
    // Into the middle of the large day, where the cursor must be located first.
    for (let n = 0; n < 2; n += 1) {
      cursor = (await page(inFiles, { tenant, limit: 3000, order, cursor })).next ?? '';
    }
    s3.clear();
    await page(inS3, { tenant, limit: 100, order, cursor });
    expect(fetched().length).toBeLessThanOrEqual(2);
    s3.clear();
    await page(inS3, { tenant, limit: 100, order, cursor });
    expect(fetched()).toEqual([]);
  },
);

test('a single record fetches the row groups of its time', async () => {
  for (const n of [0, 2047, 9000, largeDay - 1]) {
    const at = new Date(Date.UTC(2001, 0, 3) + Math.floor(n / 3) * 7000).toISOString();
    const found = await inS3.find([tenant, 'A', at.replace('Z', '000Z'), `e${n}`]);
    expect(found).toMatchObject({ event_id: `e${n}`, enrichment: `{"n":${n}}` });
  }
  expect(fetched().length).toBeLessThanOrEqual(1 + 4 * 3);
  expect(fetched()).not.toContain(undefined);
  expect(await inS3.find([tenant, 'A', '2001-01-03T00:00:00.000001Z', 'e0'])).toBeUndefined();
});

test('a row group that was changed in the store is never shown, and the others are', async () => {
  const content = await readFile(join(files.dir, key));
  const [first] = await piecesOf();
  content.writeUInt8(content.readUInt8(100) ^ 1, 100);
  await s3.seed('pieces', [key], content);
  await expect(page(inS3, { tenant, limit: 10 })).rejects.toMatchObject({
    code: 'segment_damaged',
    detail: expect.stringContaining(`the object ${key} is not what was written`),
  });
  expect(first?.bytes).toBeGreaterThan(100);
  const last = await page(inS3, { tenant, limit: 10, order: 'desc' });
  expect(last.data).toHaveLength(10);
  await store.put(key, join(files.dir, key));
  expect((await page(inS3, { tenant, limit: 10 })).data).toHaveLength(10);
});

test('where the catalogue has other row groups than the file, the object is read whole', async () => {
  const pieces = await piecesOf();
  const change = (changed: readonly SegmentPiece[]) =>
    db.pool.query('update segments set pieces = $1 where id = $2', [
      JSON.stringify(changed),
      'seg_TX',
    ]);
  // By this, all rows stand in the first row group, and so no other is fetched.
  await change(pieces.map((piece, n) => (n === 0 ? { ...piece, rows: 100_000 } : piece)));
  const request = { tenant, limit: 2000, store: 'B' };
  expect(await walk(inS3, request)).toEqual(await walk(inFiles, request));
  expect(fetched()).toContain(undefined);
  await change(pieces);
});

test('a segment without row groups in the catalogue is read whole', async () => {
  const pieces = await piecesOf();
  await db.pool.query('update segments set pieces = null');
  const request = { tenant, limit: 2000 };
  expect((await page(inS3, request)).text).toBe((await page(inFiles, request)).text);
  expect(fetched()).toEqual([undefined]);
  await db.pool.query('update segments set pieces = $1', [JSON.stringify(pieces)]);
});
