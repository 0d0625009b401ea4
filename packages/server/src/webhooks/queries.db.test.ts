import sql from 'sql-template-tag';
import { expect } from 'vitest';
import { useTestDatabase } from '../../test/database.ts';
import { blocksOf, planOf, testOnOneServer } from '../../test/one-server.ts';
import type { Queryable } from '../platform/postgres/database.ts';
import {
  newDeliveryId,
  type SeededEndpoint,
  seedDeliveries,
  seedEndpoint,
} from './dead-letters/testing/seed.ts';
import { countTroubled } from './endpoints/trouble-queries.ts';
import { listMissing } from './hold-back-queries.ts';
import { findSettled } from './incidents/erase-queries.ts';
import { listIncidents } from './incidents/queries.ts';
import { laneOf } from './lanes.ts';
import { erasePayloads } from './queries.ts';
import { countByState, lookAt } from './replays/queries.ts';

const db = useTestDatabase();
const count = 1500;

/** What the planner saw of deliveries before there were many. */
const seen = {
  nothing: () => db.query(sql`delete from pg_statistic where starelid = 'deliveries'::regclass`),
  'a single one': async (endpoint: SeededEndpoint) => {
    await seedDeliveries(db, endpoint, 1, { status: 'queued' });
    await db.query(sql`analyze deliveries`);
  },
  'those of a single incident': async (endpoint: SeededEndpoint) => {
    await seedDeliveries(db, endpoint, 500, { status: 'queued' });
    await db.query(sql`analyze deliveries`);
  },
};

const asked = { after: null, days: 30, limit: count };
const scopeOf = ({ id, tenant }: SeededEndpoint) => ({
  tenant,
  endpointId: id,
  from: '2000-01-01T00:00:00Z',
  until: '2200-01-01T00:00:00Z',
  incidentId: null,
  eventTypes: ['outage.seen'],
  ignoresFilters: false,
});
const any = {
  id: undefined,
  deliveryId: undefined,
  from: undefined,
  to: undefined,
  store: undefined,
};
const statements = {
  'counting for a replay': (on: Queryable, endpoint: SeededEndpoint) =>
    countByState(on, scopeOf(endpoint), asked),
  'looking ahead of a replay': (on: Queryable, endpoint: SeededEndpoint) =>
    lookAt(on, scopeOf(endpoint), asked),
  'what was held back and is missing': (on: Queryable, _endpoint: SeededEndpoint, ids: string[]) =>
    listMissing(on, ids),
  'erasing payloads': (on: Queryable, _endpoint: SeededEndpoint, ids: string[]) =>
    erasePayloads(on, ids, { unlessNeeded: true }),
  'finding settled incidents': (on: Queryable) => findSettled(on, 0, null, count),
  'incidents of an endpoint': (on: Queryable, { id, tenant }: SeededEndpoint) =>
    listIncidents(
      on,
      { ...any, tenants: [tenant], hasFailed: false },
      { ...any, endpointId: id },
      { after: null, limit: count, scanLimit: count },
    ),
};

testOnOneServer.each(Object.keys(seen) as (keyof typeof seen)[])(
  'the deliveries of each incident are looked up by it alone, when the planner saw %s',
  async (name) => {
    await db.query(sql`alter table deliveries set (autovacuum_enabled = false)`);
    await db.query(sql`truncate deliveries, incidents`);
    const endpoint = await seedEndpoint(db, { tenant: name });
    await seen[name](endpoint);
    const ids = await report(endpoint);
    const read: Record<string, number> = {};
    for (const [title, ask] of Object.entries(statements)) {
      const blocks = await blocksOf(db, (on) => ask(on, endpoint, ids));
      read[title] = Object.entries(blocks)
        .filter(([table]) => /^deliver(ies|y)/.test(table))
        .reduce((sum, [, each]) => sum + each, 0);
    }
    // For each incident two blocks of the index and one of the table, while those of another 500 may be read.
    for (const [title, blocks] of Object.entries(read))
      expect.soft(blocks, title).toBeLessThan(8 * count);
  },
);

/** Reports incidents, each delivered to the endpoint; answers their ids. */
async function report({ id: endpointId, tenant }: SeededEndpoint): Promise<string[]> {
  const lane = laneOf(endpointId);
  const rows = Array.from({ length: count }, (_, n) => newDeliveryId(lane, Date.now() + n));
  const made = await db.query<{ id: string }>(sql`
    with given as (select id, 'inc_' || id as incident_id from unnest(${rows}::text[]) as given (id)), incident as (
      insert into incidents (id, tenant, type, occurred_at, body, held_back, created_at)
      select incident_id, ${tenant}, 'outage.seen', now(), '{"data":1}', array[${endpointId}], now() - interval '1 minute' from given
    )
    insert into deliveries (lane, id, incident_id, endpoint_id, tenant, event_type, target, idempotency_key,
      max_attempts, status, next_attempt_at, finished_at, created_at)
    select ${lane}, id, incident_id, ${endpointId}, ${tenant}, 'outage.seen', 'https://receiver.example/hook',
      'msg_' || id, 8, 'discarded', null, now() - interval '1 minute', now() - interval '1 minute' from given
    returning incident_id as id`);
  return made.map(({ id }) => id);
}

testOnOneServer('whose certificate ends soon is found among those that have one', async () => {
  const plan = await planOf(db, (explained) => countTroubled(explained, null));
  expect(plan).toContain('webhook_endpoints_certificate_idx');
});
