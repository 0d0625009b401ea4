import fc from 'fast-check';
import sql from 'sql-template-tag';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { testActor } from '../../../test/actor.ts';
import { useTestDatabase } from '../../../test/database.ts';
import { runs } from '../../../test/runs.ts';
import { listDatasets } from '../datasets.ts';
import * as queries from '../queries.ts';
import { useColdStore } from '../read/testing/cold-store.ts';
import { freeze } from '../read/testing/freeze.ts';
import { ingest } from '../read/testing/walk.ts';
import { readCoverage } from './coverage.ts';
import { arbitraryTags, countTagged, putTags, type TestTag } from './testing/arbitrary-tags.ts';

// More stores and tenants than it takes to read their counters in one pass.
const stores = Array.from({ length: 60 }, (_, n) => `S${String(n).padStart(2, '0')}`);
const tenants = stores.map((store) => `T${store}`);
const days = ['2001-01-03', '2001-01-31', '2001-02-10', '2001-02-27', '2001-03-20', '2001-04-30'];
const wide = stores.flatMap((store, s) =>
  days
    .filter((_, d) => (s + d) % 5 > 0 || d === 0 || d === 5)
    .map((day) => ({ tenant: 'TX', store, day })),
);
const many = tenants.flatMap((tenant) => days.map((day) => ({ tenant, store: 'A', day })));

const db = useTestDatabase();
const cold = useColdStore();
beforeAll(async () => {
  const records = [...wide, ...many].map(({ tenant, store, day }) => ({
    tenant,
    store,
    event_id: day,
    occurred_at: `${day}T12:00:00Z`,
    enrichment: {},
  }));
  await ingest(db, cold, [records]);
  await freeze(db, cold, { tenant: 'TX', lastDay: '2001-02-10', id: 'seg_1' });
});
beforeEach(() => db.query(sql`delete from tags`));

const setTags = (own: readonly string[], tags: readonly TestTag[]) =>
  putTags(db, Object.fromEntries(own.map((tenant) => [tenant, tags])));

type Of = (record: (typeof wide)[number]) => boolean;
const countIf = (records: typeof wide, of: Of, tags: readonly TestTag[]) =>
  countTagged(records.filter(of), tags);
const cursorKey = Buffer.alloc(32);
const tagDays = [...days, '2001-01-01', '2001-02-09', '2001-03-01', '2001-03-31'];

test('stores that share their days are covered as counting says, whatever is hot or cold', async () => {
  const anyTags = arbitraryTags({ stores: ['S00', 'S01'], days: tagDays });
  const property = fc.asyncProperty(anyTags, async (tags) => {
    await setTags(['TX'], tags);
    const request = { level: 'store', tenant: 'TX', limit: 500 } as const;
    const { data } = await listDatasets(db, cursorKey, testActor, request);
    expect(data.map(({ covered, by_dataset }) => ({ covered, ...by_dataset }))).toEqual(
      stores.map((store) => countIf(wide, (record) => record.store === store, tags)),
    );
  });
  await fc.assert(property, { numRuns: runs(40) });
});

test('tenants that are tagged the same are covered as counting says', async () => {
  const anyTags = arbitraryTags({ stores: ['A', 'B'], days: tagDays });
  const property = fc.asyncProperty(anyTags, async (tags) => {
    await setTags(tenants, tags);
    const { data } = await listDatasets(db, cursorKey, testActor, { level: 'tenant', limit: 500 });
    const found = data.filter(({ tenant }) => tenants.includes(tenant));
    expect(found.map(({ covered, by_dataset }) => ({ covered, ...by_dataset }))).toEqual(
      tenants.map((tenant) => countIf(many, (record) => record.tenant === tenant, tags)),
    );
  });
  await fc.assert(property, { numRuns: runs(16) });
});

test('tenants of one month, and tags of whole months, are read from counters of months alone', async () => {
  await setTags(
    [...tenants, 'TX'],
    [{ store: null, from: '2001-02-01', to: '2001-03-31', dataset: 'training' }],
  );
  const session = await db.openSession();
  await session.query(sql`begin isolation level repeatable read`);
  const blocks = async () =>
    session.query<{ name: string; blocks: number }>(sql`
      select relname as name, pg_stat_get_xact_blocks_fetched(oid)::int as blocks from pg_class
      where relname in ('leaf_days', 'leaf_months', 'leaf_stores', 'tenant_days') order by relname`);
  const before = await blocks();
  const page = { after: null, limit: 500 };
  for (const month of [undefined, '2001-02']) {
    const rows = await queries.listDatasets(session, 'tenant', { month, tenants: null }, page);
    expect(rows).toHaveLength(tenants.length + 1);
    const tagged = month === undefined ? 3 : 2;
    const coverage = await readCoverage(session, rows);
    // TX, which has other stores and days, comes after these.
    const expected = { covered: tagged, training: tagged, fine_tuning: 0 };
    expect(coverage.slice(0, tenants.length)).toEqual(tenants.map(() => expected));
  }
  expect(await blocks()).toEqual(before);
  await session.query(sql`rollback`);
  await session.close();
});
