import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { testActor } from '../../../test/actor.ts';
import { useTestDatabase } from '../../../test/database.ts';
import { startS3 } from '../../../test/s3.ts';
import { use } from '../../../test/use.ts';
import { createLog } from '../../platform/log.ts';
import { createObjectReader } from '../../platform/objects/reader.ts';
import { createS3Store } from '../../platform/objects/s3.ts';
import { useColdStore } from '../read/testing/cold-store.ts';
import { freeze } from '../read/testing/freeze.ts';
import { ingest } from '../read/testing/walk.ts';
import { readSample } from './read-sample.ts';

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
/** Reads segments in S3, and knows nothing of them. */
const remote = use(
  async () => {
    const dir = join(files.spoolDir, `sample-${randomBytes(4).toString('hex')}`);
    return createObjectReader(store, { dir, maxBytes: 2 ** 28, log: createLog('silent') });
  },
  (reader) => reader.close(),
);

const tenant = 'TX';
const key = `records/tenant=${tenant}/2001-01-01_2001-01-08_seg_TX.parquet`;
const records = 24_000;

beforeAll(async () => {
  const all = Array.from({ length: records }, (_, n) => ({
    tenant,
    store: 'A',
    event_id: `e${n}`,
    enrichment: { n },
    occurred_at: new Date(Date.UTC(2001, 0, 1 + Math.floor(n / 3000)) + (n % 3000) * 7000),
  }));
  await ingest(db, files, [all]);
  await freeze(db, files, { tenant, id: 'seg_TX', hasSmallGroups: true });
  await store.put(key, join(files.dir, key));
});

test('a sample fetches the row groups of its days, and no others', async () => {
  const size = { records: 300, places: 3, mostPlaces: 3, keysEach: 1 };
  const options = { size, textBytes: 2 ** 20 };
  const read = (
    cold: typeof files | { duckdb: (typeof files)['duckdb']; objects: typeof remote },
  ) => readSample({ db, cold }, testActor, { tenant }, options);
  const here = await read(files);
  const there = await read({ duckdb: files.duckdb, objects: remote });
  expect(there).toEqual(here);
  expect(there.records).toHaveLength(300);
  expect(there.reach).toBeLessThan(0.5);
  const ranges = s3.requests
    .filter(({ method }) => method === 'GET')
    .map(({ headers }) => headers.range);
  expect(ranges).not.toContain(undefined);
  const [segment] = (await db.pool.query<{ size_bytes: string }>('select size_bytes from segments'))
    .rows;
  const fetched = ranges.reduce((sum, range) => {
    const [from = 0, to = 0] = (/(\d+)-(\d+)/.exec(range ?? '') ?? []).slice(1).map(Number);
    return sum + to - from + 1;
  }, 0);
  expect(fetched).toBeLessThan(0.7 * Number(segment?.size_bytes));
});
