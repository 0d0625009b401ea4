import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { useTestDatabase } from '../../../test/database.ts';
import type { Queryable, Row } from '../../platform/postgres/database.ts';
import { seedDeliveries, seedEndpoint } from '../dead-letters/testing/seed.ts';
import { laneOf } from '../lanes.ts';
import { claimDeliveries } from './queries.ts';

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
