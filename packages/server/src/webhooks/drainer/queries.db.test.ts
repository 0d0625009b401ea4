import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { useTestDatabase } from '../../../test/database.ts';
import { blocksOf } from '../../../test/one-server.ts';
import type { Queryable, Row } from '../../platform/postgres/database.ts';
import { seedDeliveries, seedEndpoint } from '../dead-letters/testing/seed.ts';
import { laneOf } from '../lanes.ts';
import { claimDeliveries, followDueIndex } from './queries.ts';

const db = useTestDatabase();

test('a claim reads the body of an incident once, however many endpoints get it, and each row has it', async () => {
  const claims = [];
  for (let n = 0; n < 3; n += 1) {
    const endpoint = await seedEndpoint(db);
    for (const incidentId of ['inc_a', 'inc_b']) {
      await seedDeliveries(db, endpoint, 1, { status: 'queued', incidentId });
    }
    claims.push({ lane: laneOf(endpoint.id), endpointId: endpoint.id, count: 2, isFresh: true });
  }
  await db.query(sql`update incidents set body = '{"id":"' || id || '"}'`);
  await db.query(sql`update lanes set keeper = 7`);
  const read: Row[] = [];
  const counting: Queryable = {
    async query<R extends Row>(statement: Parameters<Queryable['query']>[0]) {
      const rows = await db.query<R>(statement);
      read.push(...rows);
      return rows;
    },
  };
  const lease = { id: 1, seconds: 60, keeper: 7, onlyProbes: false };
  const rows = await claimDeliveries(counting, claims, lease);
  expect(read.filter(({ body }) => body !== null)).toHaveLength(2);
  expect(rows).toHaveLength(6);
  for (const { body, incident_id: id } of rows) expect(body).toBe(`{"id":"${id}"}`);
});

test.each([[[true, false]], [[true]], [[false]]])(
  'a claim looks up the incidents of its rows alone, fresh and tried ones, however many there are: %j',
  async (kinds) => {
    await db.query(sql`truncate deliveries, incidents`);
    const endpoint = await seedEndpoint(db);
    await seedDeliveries(db, endpoint, 20, { status: 'queued' });
    await db.query(sql`
      update deliveries set last_attempt_at = now() where id in (select id from deliveries limit 10)`);
    await db.query(sql`
      insert into incidents (id, tenant, type, occurred_at, body)
      select 'inc_' || n, 'T', 'incident.created', now(), '{"data":1}' from generate_series(1, 20000) as n`);
    await db.query(sql`update lanes set keeper = 7`);
    for (const table of [sql`incidents`, sql`deliveries`, sql`lanes`]) {
      await db.query(sql`analyze ${table}`);
    }
    const of = { lane: laneOf(endpoint.id), endpointId: endpoint.id, count: 5 };
    const claims = kinds.map((isFresh) => ({ ...of, isFresh }));
    const blocks = await blocksOf(db, async (counted) => {
      await followDueIndex(counted, 'transaction');
      const lease = { id: 1, seconds: 60, keeper: 7, onlyProbes: false };
      const rows = await claimDeliveries(counted, claims, lease);
      for (const isFresh of [true, false]) {
        const found = rows.filter((row) => row.is_fresh === isFresh);
        expect(found).toHaveLength(kinds.includes(isFresh) ? 5 : 0);
      }
    });
    expect((blocks.incidents ?? 0) + (blocks.incidents_pkey ?? 0)).toBeLessThan(200);
  },
);
