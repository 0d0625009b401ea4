import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { useTestDatabase } from '../../../test/database.ts';
import { startS3 } from '../../../test/s3.ts';
import { use } from '../../../test/use.ts';
import { createLog } from '../../platform/log.ts';
import { createObjectReader } from '../../platform/objects/reader.ts';
import { createS3Store } from '../../platform/objects/s3.ts';
import type { SegmentPiece } from '../segments/pieces.ts';
import { useColdStore } from './testing/cold-store.ts';
import { freeze } from './testing/freeze.ts';
import { bothTiers, ingest, page, walk } from './testing/walk.ts';

/** Pages of segments in S3, of which only some row groups are fetched. */
const db = useTestDatabase();
const files = useColdStore();
const s3 = use(
  () => startS3(),
  (started) => started.close(),
);
const store = use(
  () => createS3Store(s3.urlOf('pieces')),
  (opened) => opened.close(),
);
const inFiles = bothTiers(db, files);
/** Reads the same segment in S3, and knows nothing of it before each test. */
const inS3 = use(
  async () => {
    const dir = join(files.spoolDir, `pieces-${randomBytes(4).toString('hex')}`);
    const log = createLog('silent');
    const objects = createObjectReader(store, { dir, maxBytes: 2 ** 28, log });
    s3.clear();
    return { ...bothTiers(db, { duckdb: files.duckdb, objects }), close: () => objects.close() };
  },
  (tiers) => tiers.close(),
  'each',
);

const tenant = 'TX';
const key = `records/tenant=${tenant}/2001-01-01_2001-01-05_seg_TX.parquet`;
const largeDay = 10_500;
const total = largeDay + 1000;

/** Three records have the same time, and a time may stand in two row groups. */
const timeOf = (day: number, n: number) =>
  new Date(Date.UTC(2001, 0, day) + Math.floor(n / 3) * 7000).toISOString();

beforeAll(async () => {
  const large = Array.from({ length: largeDay }, (_, n) => ({ store: 'A', n, day: 3 }));
  const small = ['A', 'B'].flatMap((name) =>
    Array.from({ length: 500 }, (_, n) => ({ store: name, n: largeDay + n, day: 1 + (n % 5) })),
  );
  const records = [...large, ...small].map(({ store: name, n, day }) => ({
    tenant,
    store: name,
    event_id: `e${n}`,
    occurred_at: timeOf(day, n),
    kind: n % 5000 === 0 ? 'rare' : 'usual',
    enrichment: { n },
  }));
  await ingest(db, files, [records]);
  await freeze(db, files, { tenant, id: 'seg_TX', hasSmallGroups: true });
  await store.put(key, join(files.dir, key));
});

/** The stretches that were fetched; undefined for the whole object. */
function fetched(): (string | undefined)[] {
  return s3.requests.filter(({ method }) => method === 'GET').map(({ headers }) => headers.range);
}

async function piecesOf(): Promise<SegmentPiece[]> {
  const { rows } = await db.pool.query<{ pieces: SegmentPiece[] }>('select pieces from segments');
  return rows[0]?.pieces ?? [];
}

test('a segment knows its row groups: together they are the object, and each has its times', async () => {
  const pieces = await piecesOf();
  const { length } = await readFile(join(files.dir, key));
  expect(pieces.length).toBeGreaterThan(5);
  expect(pieces.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(length);
  expect(pieces.reduce((sum, { rows }) => sum + rows, 0)).toBe(total);
  expect(pieces[0]).toMatchObject({
    rows: 2048,
    first_at: timeOf(1, largeDay).replace('Z', '000Z'),
  });
  expect(pieces.at(-1)).toMatchObject({ rows: 0, first_at: null, last_at: null });
});

test.each([
  ['in order', { tenant, limit: 3000 }],
  ['of one kind', { tenant, limit: 2, kind: 'rare' }],
  ['of a store, in reverse', { tenant, store: 'A', limit: 3000, order: 'desc' }],
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
    const found = await inS3.find([tenant, 'A', timeOf(3, n).replace('Z', '000Z'), `e${n}`]);
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
    db.pool.query('update segments set pieces = $1', [JSON.stringify(changed)]);
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
