import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { useTestDatabase } from '../../../test/database.ts';
import { blocksOf } from '../../../test/one-server.ts';
import { listRows } from './read-queries.ts';
import { seedDeliveries, seedEndpoint } from './testing/seed.ts';

const db = useTestDatabase();

test.each([
  ['of any tenant', null],
  ['of one', ['T']],
])('a page of what a replay made reads only that page, for a reader %s', async (_who, tenants) => {
  const endpoint = await seedEndpoint(db);
  await seedDeliveries(db, endpoint, 3000, { status: 'queued', secondsAgo: 60 });
  const made = await seedDeliveries(db, endpoint, 3000, { status: 'queued', secondsAgo: 5000 });
  const replayId = `rpl_${endpoint.id}`;
  await db.query(sql`update deliveries set replay_id = ${replayId} where id = any(${made})`);
  await db.query(sql`analyze deliveries`);
  const source = { orderedBy: 'created_at', tenants, jobId: replayId } as const;
  const scan = { after: null, limit: 20, scanLimit: null, descending: true };
  let ids: string[] = [];
  const blocks = await blocksOf(db, async (counted) => {
    ids = (await listRows(counted, source, {}, scan)).map(({ id }) => id);
  });
  expect(ids).toEqual(made.slice(0, 20));
  expect(blocks.deliveries, JSON.stringify(blocks)).toBeLessThan(60);
});
