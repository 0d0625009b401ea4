import { createHash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { testActor } from '../../../test/actor.ts';
import { useTestDatabase } from '../../../test/database.ts';
import type { AppError } from '../../kernel/errors.ts';
import { DuckDbError } from '../../platform/duckdb.ts';
import { numberedRecords } from '../ingest/testing/post-records.ts';
import type { ColdReader } from '../segments/segment.ts';
import { createColdTier } from './cold-parquet.ts';
import { createHotTier } from './hot-postgres.ts';
import { maxSegments } from './open-segments.ts';
import type { PageRequest } from './pages.ts';
import { measureSlice } from './sum-segments.ts';
import { useColdStore } from './testing/cold-store.ts';
import { compact, freeze } from './testing/freeze.ts';
import { bothTiers, ingest, page, pagesOf, walk } from './testing/walk.ts';
import { mergeTiers, usualLimits } from './tier.ts';

const db = useTestDatabase();
const cold = useColdStore();
const records = bothTiers(db, cold);

const some = (tenant: string, count: number, more: (n: number) => object = () => ({})) =>
  numberedRecords(tenant, count, (n) => ({
    store: `S${n % 3}`,
    event_id: `e${String(n).padStart(5, '0')}`,
    occurred_at: `2001-01-${String(1 + (n % 9)).padStart(2, '0')}T00:00:00Z`,
    ...more(n),
  }));

/** A segment of a tenant's records, all of them cold, and where its object lies. */
async function frozenTenant(tenant: string, count = 30): Promise<{ key: string; path: string }> {
  await ingest(db, cold, [some(tenant, count)]);
  await freeze(db, cold, { tenant, id: `seg_${tenant}` });
  const key = `records/tenant=${tenant}/2001-01-01_2001-01-09_seg_${tenant}.parquet`;
  return { key, path: join(cold.dir, key) };
}

/** The same reader, with something happening before each object is opened. */
function opening(before: (key: string) => Promise<void>): ColdReader {
  const { duckdb, objects } = cold;
  return {
    duckdb,
    objects: {
      ...objects,
      async open(ref, options) {
        await before(ref.key);
        return objects.open(ref, options);
      },
    },
  };
}

/** A reader that must not be asked for anything. */
function idle(): ColdReader {
  const refuse = () => Promise.reject(new Error('nothing is cold here'));
  return { duckdb: { ...cold.duckdb, run: refuse }, objects: { ...cold.objects, open: refuse } };
}

test('DuckDB and the objects are left alone where nothing is cold', async () => {
  await frozenTenant('elsewhere');
  await ingest(db, cold, [some('warm', 30)]);
  const alone = bothTiers(db, idle());
  expect((await page(alone, { tenant: 'warm' })).data).toHaveLength(30);
  expect((await page(alone, { tenant: 'warm', kind: 'none' })).data).toHaveLength(0);
  expect((await page(alone, { tenant: 'elsewhere', month: '2002-01' })).data).toHaveLength(0);
  const limited = { ...testActor, tenants: ['warm'] };
  expect((await page(alone, { limit: 500 }, limited)).data).toHaveLength(30);
  const key = ['warm', 'S0', '2001-01-01T00:00:00.000000Z', 'none'] as const;
  expect(await alone.find(key)).toBeUndefined();
  expect(await measureSlice(db, { tenant: 'warm', kind: 'x', tenants: null }, idle())).toEqual({
    count: 0,
    bytes: 0,
    digest: '0',
  });
});

test('a large part of hot records has ten minutes to be measured, of the server and of the client', async () => {
  const limits: unknown[] = [];
  const transaction: typeof db.transaction = (work, how) =>
    db.transaction((connection) => {
      const query: typeof connection.query = async (statement, options) => {
        if (statement.text.includes('from enrichment_records')) {
          const [set] = await connection.query(sql`show statement_timeout`);
          limits.push({ ...set, ...options });
        }
        return connection.query(statement, options);
      };
      return work({ ...connection, query });
    }, how);
  await measureSlice({ ...db, transaction }, { tenant: 'warm', kind: 'x', tenants: null }, idle());
  expect(limits).toEqual([expect.objectContaining({ statement_timeout: '10min', isLong: true })]);
});

test.each<[string, (path: string) => Promise<void>, string]>([
  ['is missing', async (path) => cold.store.remove(path.slice(cold.dir.length + 1)), 'is missing'],
  [
    'has a flipped byte',
    async (path) => {
      const bytes = await readFile(path);
      bytes[100] = (bytes[100] ?? 0) ^ 1;
      await writeFile(path, bytes);
    },
    'is not what was written (in the folder of the service)',
  ],
  [
    'was damaged before it was written',
    async (path) => {
      const bytes = Buffer.from('PAR1 is all that is left of it PAR1');
      await writeFile(path, bytes);
      const sha256 = createHash('sha256').update(bytes).digest();
      await db.pool.query(
        'update segments set size_bytes = $1, sha256 = $2 where object_key = $3',
        [bytes.length, sha256, path.slice(cold.dir.length + 1)],
      );
    },
    'cannot be read (in the folder of the service)',
  ],
])('every read fails loudly when an object %s', async (name, damage, what) => {
  const tenant = name.replaceAll(' ', '-');
  const { key, path } = await frozenTenant(tenant);
  const whole = await readFile(path);
  await damage(path);
  const first = ['S0', '2001-01-01T00:00:00.000000Z', 'e00000'] as const;
  const reads: (() => Promise<unknown>)[] = [
    () => page(records, { tenant }),
    () => page(records, { tenant, kind: 'any' }),
    () => page(records, { tenant, limit: 1, order: 'desc' }),
    () => records.find([tenant, ...first]),
    () => measureSlice(db, { tenant, kind: 'any', tenants: null }, cold),
  ];
  const told = `tenant ${tenant} from 2001-01-01 to 2001-01-09 cannot be read: the object ${key} ${what}.`;
  for (const read of reads) {
    const error = await read().catch((thrown: unknown) => thrown);
    const detail = expect.stringContaining(told);
    expect(error).toMatchObject({ code: 'segment_damaged', detail, cause: expect.any(Error) });
    // Where the service keeps its files is nobody's business.
    expect((error as AppError).detail).not.toContain(cold.dir);
  }
  if (!what.startsWith('is ')) return;
  // What was written, put back, mends it.
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, whole);
  expect((await page(records, { tenant })).data.length).toBeGreaterThan(0);
});

test('a lack of memory is no damage', async () => {
  await frozenTenant('short');
  const run = () =>
    Promise.reject(new DuckDbError('Out of Memory Error: could not allocate block'));
  const starved = bothTiers(db, { ...cold, duckdb: { ...cold.duckdb, run } });
  await expect(page(starved, { tenant: 'short' })).rejects.toMatchObject({
    code: 'cold_tier_unavailable',
  });
});

test('a filtered slice with cold records is not measured without a reader', async () => {
  await frozenTenant('unread');
  const slice = { tenant: 'unread', kind: 'any', tenants: null };
  await expect(measureSlice(db, slice)).rejects.toThrow('nothing to read them');
});

test('an object replaced between catalogue and opening is looked for again', async () => {
  await frozenTenant('merged');
  const before = await page(records, { tenant: 'merged' });
  let round = 0;
  const racing = bothTiers(
    db,
    opening(async () => {
      round += 1;
      if (round % 2 === 1) await compact(db, cold, { tenant: 'merged', id: `seg_${round}` });
    }),
  );
  expect((await page(racing, { tenant: 'merged' })).text).toBe(before.text);
  const key = ['merged', 'S0', '2001-01-01T00:00:00.000000Z', 'e00000'] as const;
  expect(await racing.find(key)).toMatchObject({ event_id: 'e00000' });
  expect(round).toBe(4);
});

test('records that move between the reading of the tiers are shown once', async () => {
  await ingest(db, cold, [some('moving', 90)]);
  const asHot = await walk(records, { tenant: 'moving', limit: 20 });
  const hot = createHotTier(db, usualLimits);
  let day = 0;
  const racing = mergeTiers(
    {
      ...hot,
      async scan(slice, options) {
        const scan = await hot.scan(slice, options);
        day += 1;
        await freeze(db, cold, {
          tenant: 'moving',
          lastDay: `2001-01-${String(day).padStart(2, '0')}`,
          id: `seg_moving_${day}`,
        });
        return scan;
      },
    },
    createColdTier(db, cold, usualLimits),
  );
  expect(await walk(racing, { tenant: 'moving', limit: 20 })).toEqual(asHot);
  expect(day).toBeGreaterThanOrEqual(9);
});

test('a walk during which the data moves between two pages shows each record once', async () => {
  await ingest(db, cold, [some('wander', 100)]);
  const seen: string[] = [];
  let cursor: string | undefined;
  for (let step = 1; step < 50; step++) {
    const request: PageRequest = { tenant: 'wander', limit: 7, ...(cursor && { cursor }) };
    const shown = await page(records, request);
    seen.push(...shown.data.map((row) => `${row.store} ${row.occurred_at} ${row.event_id}`));
    if (shown.next === null) break;
    cursor = shown.next;
    const lastDay = `2001-01-${String(step).padStart(2, '0')}`;
    if (step <= 9) await freeze(db, cold, { tenant: 'wander', lastDay, id: `seg_w_${step}` });
    if (step === 11) await compact(db, cold, { tenant: 'wander', id: 'seg_w_all' });
  }
  expect(seen).toHaveLength(100);
  expect([...new Set(seen)].sort()).toEqual(seen);
});

test('pages of very large records are cut alike in both tiers', async () => {
  const text = 'x'.repeat(250 * 1024);
  const large = some('large', 40, (n) => ({ enrichment: { n, text } }));
  await ingest(db, cold, [large]);
  const asHot = await walk(records, { tenant: 'large', limit: 500 });
  const [first, second, back] = asHot.map((page) => JSON.parse(page).data);
  const ids = [...first, ...second].map(({ store, event_id }) => `${store} ${event_id}`);
  expect(ids.sort()).toEqual(large.map(({ store, event_id }) => `${store} ${event_id}`).sort());
  expect(first.length).toBeLessThan(40);
  expect(back).toEqual(first);
  await freeze(db, cold, { tenant: 'large', id: 'seg_large_1', lastDay: '2001-01-04' });
  expect(await walk(records, { tenant: 'large', limit: 500 })).toEqual(asHot);
  await freeze(db, cold, { tenant: 'large', id: 'seg_large_2' });
  expect(await walk(records, { tenant: 'large', limit: 500 })).toEqual(asHot);
});

test('a huge day is read by its rows, of which a filter looks at 10,000', async () => {
  const huge = some('huge', 10_050, (n) => ({
    store: 'S',
    occurred_at: `2001-01-01T${String(Math.floor(n / 3600)).padStart(2, '0')}:00:00.${String(n % 997).padStart(6, '0')}Z`,
    kind: n % 1000 === 7 ? 'rare' : n === 10_049 ? 'last' : 'usual',
  }));
  await ingest(db, cold, [huge]);
  const requests: PageRequest[] = [
    { tenant: 'huge', limit: 4000 },
    { tenant: 'huge', limit: 4000, order: 'desc' },
    { tenant: 'huge', limit: 4, kind: 'rare' },
    { tenant: 'huge', limit: 500, kind: 'last' },
    { tenant: 'huge', limit: 500, kind: 'last', order: 'desc' },
    { tenant: 'huge', limit: 3, kind: 'none' },
  ];
  const all = async () => {
    const walks = [];
    for (const request of requests) walks.push(await walk(records, request));
    return walks;
  };
  const asHot = await all();
  await freeze(db, cold, { tenant: 'huge', id: 'seg_half', filter: 'hash(event_id) % 2 = 0' });
  await freeze(db, cold, { tenant: 'huge', id: 'seg_rest' });
  expect(await all()).toEqual(asHot);
  await compact(db, cold, { tenant: 'huge', id: 'seg_huge' });
  expect(await all()).toEqual(asHot);
  const first = await page(records, { tenant: 'huge', limit: 500, kind: 'none' });
  expect(first.data).toEqual([]);
  expect(first.next).not.toBeNull();
});

test('many tiny segments are opened a few at a time, and the page is full all the same', async () => {
  const names = Array.from({ length: 4 * maxSegments + 2 }, (_, n) => `tiny${n}`);
  for (const tenant of names) {
    await ingest(db, cold, [some(tenant, 2)]);
    await freeze(db, cold, { tenant, id: `seg_${tenant}` });
  }
  let opened = 0;
  let most = 0;
  const { objects, duckdb } = cold;
  const counting: ColdReader = {
    duckdb,
    objects: {
      ...objects,
      async open(ref) {
        const object = await objects.open(ref);
        opened += 1;
        most = Math.max(most, opened);
        return {
          path: object.path,
          async release() {
            opened -= 1;
            await object.release();
          },
        };
      },
    },
  };
  const limited = { ...testActor, tenants: names };
  const tiers = bothTiers(db, counting);
  expect((await page(tiers, { limit: 500 }, limited)).data).toHaveLength(132);
  expect((await page(tiers, { limit: 39 }, limited)).data).toHaveLength(39);
  // Without filters each of them may hold any event.
  await db.query(sql`update segments set event_filter = null where tenant = any(${names})`);
  for (const order of ['asc', 'desc'] as const) {
    for (const [eventId, limit, wanted] of [
      [String(some('tiny19', 2)[0]?.event_id), 500, 2],
      [String(some('tiny19', 2)[0]?.event_id), 5, 14],
      ['none', 500, 2],
    ] as const) {
      const pages = await pagesOf(tiers, { event_id: eventId, limit, order }, { actor: limited });
      const shown = pages.flatMap(({ data }) => data.map(({ tenant }) => tenant));
      expect(shown.sort()).toEqual(eventId === 'none' ? [] : names.toSorted());
      expect(pages).toHaveLength(wanted);
    }
  }
  expect([opened, most]).toEqual([0, maxSegments]);
});
