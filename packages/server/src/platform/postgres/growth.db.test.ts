import sql from 'sql-template-tag';
import { expect, test, vi } from 'vitest';
import { blocksOf, testOnOneServer } from '../../../test/one-server.ts';
import { useTestService } from '../../../test/service.ts';
import { seedDeliveries, seedEndpoint } from '../../webhooks/dead-letters/testing/seed.ts';
import { recordOutcomes } from '../../webhooks/drainer/outcome-queries.ts';
import { laneOf } from '../../webhooks/lanes.ts';
import type { Queryable } from './database.ts';
import { listGrown } from './growth.ts';

const service = useTestService({ SVC_ROLES: 'api' }, undefined, { waits: { growthMillis: 100 } });

/** Does it in one transaction, whose statistics every session knows at once. */
const change = (work: (connection: Queryable) => Promise<unknown>) =>
  service.db.transaction(async (connection) => {
    await work(connection);
    await connection.query(sql`select pg_stat_force_next_flush()`);
  });

testOnOneServer('a backlog after a quiet night is soon looked up by key', async () => {
  const { db } = service;
  const endpoint = await seedEndpoint(db);
  await change((connection) => seedDeliveries(connection, endpoint, 3000, { status: 'queued' }));
  await change((connection) =>
    connection.query(sql`delete from deliveries where ctid < (select max(ctid) from deliveries)`),
  );
  await db.query(sql`vacuum analyze deliveries`);
  let ids: string[] = [];
  await change(async (connection) => {
    ids = await seedDeliveries(connection, endpoint, 3000, { status: 'queued' });
  });
  const outcomes = ids
    .slice(0, 100)
    .map((id) => ({
      ...{ lane: laneOf(endpoint.id), id, lease: 1, status: 'pending' as const, attempts: 1 },
      ...{ maxAttempts: 8, delaySeconds: 60, heldBy: 'schedule', failureClass: 'status' as const },
      ...{ error: '500', httpStatus: 500, target: 'https://late.example/', agoMillis: 0 },
      ...{ durationMillis: 1, response: null },
    }));
  const read = async () => {
    const { deliveries = 0 } = await blocksOf(db, (counted) => recordOutcomes(counted, outcomes));
    return deliveries;
  };
  await vi.waitFor(async () => expect(await read()).toBeLessThan(1000), { timeout: 30_000 });
});

test('a table that changes and does not grow is left alone', async () => {
  const { db } = service;
  await db.query(sql`analyze lanes`);
  await change(async (connection) => {
    for (let n = 0; n < 40; n += 1) await connection.query(sql`update lanes set keeper = ${n}`);
  });
  expect(await listGrown(db)).not.toContain('lanes');
});
