import fc from 'fast-check';
import sql from 'sql-template-tag';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import { newId } from '../../kernel/ids.ts';
import { listDatasets } from '../datasets.ts';
import { type ColdStore, openColdStore } from '../read/testing/cold-store.ts';
import { freeze } from '../read/testing/freeze.ts';
import { everybody, ingest } from '../read/testing/walk.ts';
import { insertTag } from './queries.ts';
import { arbitraryTags, countTagged, type TestTag } from './testing/arbitrary-tags.ts';

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

let db: TestDatabase;
let cold: ColdStore;
beforeAll(async () => {
  db = await createTestDatabase();
  cold = await openColdStore();
  const texts = [...wide, ...many].map(({ tenant, store, day }) =>
    JSON.stringify({
      tenant,
      store,
      event_id: day,
      occurred_at: `${day}T12:00:00Z`,
      enrichment: {},
    }),
  );
  await ingest(db, cold, [texts]);
  await freeze(db, cold, { tenant: 'TX', lastDay: '2001-02-10', id: 'seg_1' });
});
afterAll(async () => {
  await cold.close();
  await db.drop();
});
beforeEach(() => db.query(sql`delete from tags`));

async function setTags(own: readonly string[], tags: readonly TestTag[]): Promise<void> {
  await db.query(sql`delete from tags`);
  for (const tenant of own) {
    for (const tag of tags) {
      await insertTag(db, { ...tag, tenant, id: newId('tag'), note: null, created_by: 'test' });
    }
  }
}

const cursorKey = Buffer.alloc(32);
const tagDays = [...days, '2001-01-01', '2001-02-09', '2001-03-01', '2001-03-31'];

test('stores that share their days are covered as counting says, whatever is hot or cold', async () => {
  const anyTags = arbitraryTags({ stores: ['S00', 'S01'], days: tagDays });
  const property = fc.asyncProperty(anyTags, async (tags) => {
    await setTags(['TX'], tags);
    const request = { level: 'store', tenant: 'TX', limit: 500 } as const;
    const { data } = await listDatasets(db, cursorKey, everybody, request);
    expect(data.map(({ covered, by_dataset }) => ({ covered, ...by_dataset }))).toEqual(
      stores.map((store) =>
        countTagged(
          wide.filter((record) => record.store === store),
          tags,
        ),
      ),
    );
  });
  await fc.assert(property, { numRuns: 40 });
}, 120_000);

test('tenants that are tagged the same are covered as counting says', async () => {
  const anyTags = arbitraryTags({ stores: ['A', 'B'], days: tagDays });
  const property = fc.asyncProperty(anyTags, async (tags) => {
    await setTags(tenants, tags);
    const { data } = await listDatasets(db, cursorKey, everybody, { level: 'tenant', limit: 500 });
    const found = data.filter(({ tenant }) => tenants.includes(tenant));
    expect(found.map(({ covered, by_dataset }) => ({ covered, ...by_dataset }))).toEqual(
      tenants.map((tenant) =>
        countTagged(
          many.filter((record) => record.tenant === tenant),
          tags,
        ),
      ),
    );
  });
  await fc.assert(property, { numRuns: 16 });
}, 120_000);
