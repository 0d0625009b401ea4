import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../test/database.ts';
import { planOf, testOnOneServer } from '../../test/one-server.ts';
import { createPartitions } from './ingest/store-part.ts';
import * as queries from './queries.ts';

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
  await createPartitions(db).ensure(['2001-01', '2001-02']);
});
afterAll(() => db.drop());

const key = ['TX', 'DFW', '2001-01-01T00:00:00.000000Z', 'e'] as const;
const month = { from: '2001-01-01', until: '2001-02-01', tenants: null };

testOnOneServer.each([
  ['a leaf', { tenant: 'TX', store: 'DFW', ...month }],
  ['a store', { tenant: 'TX', store: 'DFW', tenants: null }],
  ['a tenant', { tenant: 'TX', tenants: null }],
  ['everything', { tenants: null }],
])('a page of %s is read along the key, both ways, without a sort', async (_name, slice) => {
  for (const after of [null, key]) {
    for (const descending of [false, true]) {
      const plan = await planOf(db, (plain) =>
        queries.listRecords(plain, slice, { after, descending, limit: 101, scanLimit: null }),
      );
      expect(plan).toContain('pkey');
      // What lies below the limit; above it, the rows of the page may be sorted. "Sort Key" of a Merge
      // Append is no sort.
      expect(plan.slice(plan.indexOf('Limit'))).not.toMatch(/Sort$/m);
    }
  }
});

test('a page of a leaf touches its month only', async () => {
  const plan = await planOf(db, (plain) =>
    queries.listRecords(
      plain,
      { tenant: 'TX', store: 'DFW', ...month },
      { after: key, descending: false, limit: 101, scanLimit: null },
    ),
  );
  expect(plan).toContain('2001_01');
  expect(plan).not.toContain('2001_02');
});
