import { afterAll, beforeAll, expect } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import { planOf, testOnOneServer } from '../../../test/one-server.ts';
import { listSegmentDays } from './queries.ts';

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

testOnOneServer.each([
  [
    'a leaf',
    { tenant: 'TX', store: 'DFW', from: '2001-01-01', until: '2001-02-01', tenants: null },
  ],
  ['a store', { tenant: 'TX', store: 'DFW', tenants: null }],
  ['a tenant', { tenant: 'TX', tenants: null }],
  ['everything', { tenants: null }],
])(
  'the cold days of %s are read along the key, both ways, no more than asked for',
  async (_name, slice) => {
    for (const from of [null, ['TX', 'DFW', '2001-01-05'] as const]) {
      for (const descending of [false, true]) {
        const plan = await planOf(db, (plain) =>
          listSegmentDays(plain, slice, { from, to: null, descending, limit: 32 }),
        );
        expect(plan).toContain('segment_days_pkey');
        // What lies below the limit; above it, the few days found may be sorted.
        expect(plan.slice(plan.indexOf('Limit'))).not.toMatch(/Sort$/m);
      }
    }
  },
);
