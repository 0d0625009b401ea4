import { dirname, join } from 'node:path';
import sql from 'sql-template-tag';
import { beforeAll, expect, test } from 'vitest';
import { testActor } from '../../test/actor.ts';
import { literal } from '../platform/duckdb.ts';
import { addRecords, makeRecords, useTestMover } from './mover/testing/test-mover.ts';
import { listOrphans, listSegments } from './objects.ts';
import type { RetentionOptions } from './store.ts';

// Whoever reads the store without us finds the live objects in this list, and each record once.

/** The folder of such a name was cut inside of a character, and no reader of Hive-style data sets could decode it. */
const long = `a${'漢'.repeat(100)}`;
const day = '2001-03-30';
const key = Buffer.alloc(32, 7);

const mover = useTestMover();
beforeAll(async () => {
  for (const tenant of [long, 'TX', 'ZZ']) {
    await addRecords(mover.db, makeRecords(tenant, { days: [day] }));
    await mover.move(tenant, day);
  }
  // Small segments are merged, and the old ones stay for the time of grace.
  for (let late = 1; late < 8; late++) {
    await addRecords(
      mover.db,
      makeRecords('TX', { days: [day], prefix: `late-${late}`, perDay: 1 }),
    );
    await mover.move('TX', day, { graceSeconds: 3600 });
  }
});

const list = (query: Parameters<typeof listSegments>[3], actor = testActor) =>
  listSegments(mover.db, key, actor, query);

async function countIn(paths: string, options: string): Promise<number> {
  const [row] = await mover.duckdb.run<{ count: string }>(
    `select count(*) as count from read_parquet(${paths}${options})`,
  );
  return Number(row?.count);
}

test('a cursor of other filters is refused, and a foreign tenant looks as if it had nothing', async () => {
  const { next_cursor } = await list({ limit: 1 });
  await expect(list({ state: 'live', cursor: next_cursor ?? '' })).rejects.toMatchObject({
    code: 'cursor_invalid',
  });
  const limited = { ...testActor, tenants: ['ZZ'] };
  expect(await list({ tenant: 'TX' }, limited)).toEqual({ data: [], next_cursor: null });
  expect((await list({}, limited)).data.map(({ tenant }) => tenant)).toEqual(['ZZ']);
});

test('the live objects hold each record once, and the replaced ones say when they go', async () => {
  const all = await list({});
  const live = await list({ state: 'live' });
  const replaced = await list({ state: 'replaced' });
  expect([...new Set(live.data.map(({ tenant }) => tenant))]).toEqual(['TX', 'ZZ', long]);
  expect(replaced.data[0]).toMatchObject({ tenant: 'TX', count: null, sha256: null });
  expect(replaced.data[0]?.remove_after).toMatch(/Z$/);
  const keys = (rows: typeof all.data) => rows.map((row) => row.object_key).sort();
  expect(keys(all.data)).toEqual(keys([...live.data, ...replaced.data]));
  const files = live.data.map((row) => literal(mover.store.pathOf(row.object_key) ?? ''));
  const count = live.data.reduce((sum, row) => sum + (row.count ?? 0), 0);
  expect(await countIn(`[${files.join(', ')}]`, ', hive_partitioning = false')).toBe(count);
});

test('no live object is taken for one that nobody knows, however long the name of its tenant is', async () => {
  const store = { store: mover.store };
  const options = { store, graceSeconds: 0 } as RetentionOptions;
  await mover.db.query(sql`delete from object_removals`);
  const { data } = await listOrphans(mover.db, options, testActor);
  const live = (await list({ state: 'live' })).data.map(({ object_key }) => object_key);
  expect(live.some((key) => key.includes('~'))).toBe(true);
  expect(data.filter(({ object_key }) => live.includes(object_key))).toEqual([]);
});

test('pages go on where they ended', async () => {
  const seen = [];
  for (let cursor: string | undefined; ; ) {
    const page = await list({ limit: 1, ...(cursor === undefined ? {} : { cursor }) });
    seen.push(...page.data);
    if (page.next_cursor === null) break;
    cursor = page.next_cursor;
  }
  expect(seen).toEqual((await list({})).data);
});

test('readers of Hive-style data sets take the whole store, whatever its tenants are called', async () => {
  const { data } = await list({});
  const [first] = data;
  const folder = dirname(dirname(mover.store.pathOf(first?.object_key ?? '') ?? ''));
  const rows = await mover.duckdb.run<{ tenant: string }>(
    `select distinct tenant from read_parquet(${literal(join(folder, '**', '*.parquet'))},
      hive_partitioning = true) order by tenant`,
  );
  expect(rows.map(({ tenant }) => tenant.slice(0, 10))).toEqual(['TX', 'ZZ', long.slice(0, 10)]);
});
