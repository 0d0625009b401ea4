import sql from 'sql-template-tag';
import { beforeAll, expect, test } from 'vitest';
import { useTestDatabase } from '../../test/database.ts';
import { blocksOf, planOf, testOnOneServer } from '../../test/one-server.ts';
import { createPartitions } from './ingest/store-part.ts';
import { listRecords } from './queries.ts';
import { createHotTier } from './read/hot-postgres.ts';
import { listSegmentDays } from './read/queries.ts';
import { usualLimits } from './read/tier.ts';

const db = useTestDatabase();
beforeAll(() => createPartitions(db).ensure(['2001-01', '2001-02']));

const key = ['TX', 'DFW', '2001-01-01T00:00:00.000000Z', 'e'] as const;
const leaf = { tenant: 'TX', store: 'DFW', from: '2001-01-01', until: '2001-02-01', tenants: null };

testOnOneServer.each([
  ['a leaf', leaf],
  ['a store', { tenant: 'TX', store: 'DFW', tenants: null }],
  ['a tenant', { tenant: 'TX', tenants: null }],
  ['everything', { tenants: null }],
])(
  'a page of %s is read along the key in each tier, both ways, without a sort',
  async (_, slice) => {
    for (const after of [null, key]) {
      for (const descending of [false, true]) {
        const from = after && ([after[0], after[1], '2001-01-05'] as const);
        const hot = await planOf(db, (plain) =>
          listRecords(plain, slice, { after, descending, limit: 101 }),
        );
        const cold = await planOf(db, (plain) =>
          listSegmentDays(plain, slice, { from, to: null, descending, limit: 32 }),
        );
        expect(hot).toContain('pkey');
        expect(cold).toContain('segment_days_pkey');
        // What lies below the limit; above it, the rows that were found may be sorted. "Sort Key" of a Merge Append is
        // no sort.
        for (const plan of [hot, cold]) {
          expect(plan.slice(plan.indexOf('Limit'))).not.toMatch(/Sort$/m);
        }
      }
    }
  },
);

test('a page of a leaf touches its month only', async () => {
  const options = { after: key, descending: false, limit: 101 };
  const plan = await planOf(db, (plain) => listRecords(plain, leaf, options));
  expect(plan).toContain('2001_01');
  expect(plan).not.toContain('2001_02');
});

testOnOneServer.each([{ tenant: 'TX', tenants: null }, { tenants: null }])(
  'an event is found by few of many blocks: %o',
  async (slice) => {
    await storeMany('TX', 20_000);
    const options = { after: null, descending: false, limit: 101 };
    const [{ id }] = (await db.query<{ id: string }>(sql`select md5('12345') as id`)) as [
      { id: string },
    ];
    for (const [eventId, count] of [
      [id, 1],
      ['nobody', 0],
    ] as const) {
      let found = -1;
      const blocks = await blocksOf(db, async (counted) => {
        found = (await listRecords(counted, { ...slice, eventId }, options)).length;
      });
      expect(found).toBe(count);
      expect(sumOfRecords(blocks)).toBeLessThan(100);
    }
  },
);

testOnOneServer.each([
  ['where', { where: 'bytes >= 100' }],
  ['kind', { kind: 'scan' }],
])('a page with a %s that often fits looks at few of many blocks', async (_, filter) => {
  // All of so few would be read at once, and sorted.
  await storeMany('UA', 9000);
  let found = -1;
  const blocks = await blocksOf(db, async (counted) => {
    const options = { after: null, descending: false, limit: 101 };
    const slice = { tenant: 'UA', tenants: null, ...filter };
    found = (await createHotTier(counted, usualLimits).scan(slice, options)).rows.length;
  });
  expect(found).toBe(101);
  expect(sumOfRecords(blocks)).toBeLessThan(60);
});

/** Stores records: 20,000 are 300 blocks of the table, and 180 of the index of keys. */
async function storeMany(tenant: string, count: number): Promise<void> {
  await db.query(sql`
    insert into enrichment_records
      (tenant, store, occurred_at, event_id, recorded_at, kind, bytes, digest, enrichment)
    select ${tenant}, 'S' || n % 7, '2001-01-01T00:00Z'::timestamptz + n * interval '1 minute', md5(n::text),
      now(), 'scan', 100, 0, '{}'
    from generate_series(1, ${count}::int) n on conflict do nothing`);
  await db.query(sql`vacuum (analyze) enrichment_records`);
}

function sumOfRecords(blocks: Record<string, number>): number {
  const own = Object.entries(blocks).filter(([name]) => name.startsWith('enrichment_records_'));
  return own.reduce((sum, [, count]) => sum + count, 0);
}
