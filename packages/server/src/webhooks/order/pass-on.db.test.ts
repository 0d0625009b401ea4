import sql from 'sql-template-tag';
import { beforeAll, expect, test } from 'vitest';
import { blocksOf } from '../../../test/one-server.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { claimDeliveries, findWaitingAmong, followDueIndex } from '../drainer/queries.ts';
import { useWorld } from '../drainer/testing/world.ts';
import { laneOf } from '../lanes.ts';
import { findPassing, lockKeys, neverDue, passOnLocked } from './queries.ts';

const world = useWorld({ SVC_ROLES: 'api' });
const keys = 20_000;
let id = '';

/** So many keys, each with a head that was abandoned and two deliveries behind it. */
beforeAll(async () => {
  const made = { ordered: 'group', when_stuck: 'block' };
  ({ id } = await world.addEndpoint('http://127.0.0.1:9/blocked', made));
  const lane = laneOf(id);
  await world.db.query(sql`
    insert into deliveries (lane, id, incident_id, endpoint_id, tenant, event_type, target, idempotency_key, max_attempts,
      status, attempts, failure_class, last_attempt_at, next_attempt_at, order_key, order_state, sequence)
    select ${lane}, 'dlv_' || lpad(${lane}::text, 2, '0') || lpad((3 * key + place)::text, 18, '0'), 'inc', ${id}, 'TX', 'a.b',
      '', 'k' || key || place, 1, case place when 0 then 'abandoned' else 'queued' end, 1 - sign(place),
      case place when 0 then 'status' end, case place when 0 then now() end,
      case when place > 0 then ${neverDue} end, 'key ' || key, case place when 0 then 'head' else 'waits' end, place
    from generate_series(1, ${keys}::int) as key, generate_series(0, 2) as place`);
  await world.db.query(sql`
    insert into order_keys (endpoint_id, key, head, sequence, added)
    select endpoint_id, order_key, id, 2, 1 from deliveries where order_state = 'head'`);
});

/** How many blocks `work` reads, which is undone then. */
const blocksIn = (work: (db: Queryable) => Promise<void>) =>
  blocksOf(world.db, (db) => db.transaction(work));
const sum = (blocks: Record<string, number>) =>
  Object.values(blocks).reduce((all, count) => all + count, 0);

test.each(['before', 'after'])(
  'nothing costs more for keys that are blocked, however many, %s the planner saw them',
  async (when) => {
    if (when === 'after') await world.db.query(sql`analyze deliveries, order_keys`);
    const lane = laneOf(id);
    const claim = { lane, endpointId: id, count: 10, isFresh: true };
    const lease = { id: 1, seconds: 1, keeper: 0, onlyProbes: false };
    await world.db.query(sql`update lanes set keeper = 0 where lane = ${lane}`);
    const due = await blocksIn(async (db) => {
      await followDueIndex(db, 'transaction');
      const [found] = await findWaitingAmong(db, [id], [lane]);
      expect(found).toMatchObject({ hasFree: false });
      expect(await claimDeliveries(db, [claim], lease)).toEqual([]);
    });
    const passing = await blocksIn(async (db) => {
      expect(await findPassing(db, 500)).toEqual([]);
    });
    const one = await blocksIn(async (db) => {
      const key = { endpointId: id, key: 'key 7' };
      await db.query(sql`
        update deliveries set status = 'delivered' where order_key = ${key.key} and order_state = 'head'
          and status <> 'queued' and endpoint_id = ${id}`);
      await lockKeys(db, [key]);
      expect(await passOnLocked(db, [key])).toEqual([id]);
    });
    expect(sum(due), JSON.stringify(due)).toBeLessThan(150);
    expect(sum(passing), JSON.stringify(passing)).toBeLessThan(100);
    expect(sum(one), JSON.stringify(one)).toBeLessThan(400);
  },
);

test('each of two that pass a key on at once finds it done, or does it: one goes', async () => {
  const key = { endpointId: id, key: 'key 9' };
  const state = () =>
    world.db.query<{ order_state: string | null }>(sql`
      select order_state from deliveries where endpoint_id = ${id} and order_key = ${key.key} order by sequence`);
  await world.db.query(sql`
    update deliveries set status = 'discarded' where endpoint_id = ${id} and order_key = ${key.key} and order_state = 'head'`);
  expect(await findPassing(world.db, 500)).toEqual([key]);
  const pass = () =>
    world.db.transaction(async (connection) => {
      await lockKeys(connection, [key]);
      return passOnLocked(connection, [key]);
    });
  const done = await Promise.all([pass(), pass(), pass()]);
  expect(done.flat()).toEqual([id]);
  expect((await state()).map((row) => row.order_state)).toEqual([null, 'head', 'waits']);
  expect(await findPassing(world.db, 500)).toEqual([]);
});

test('a delivery that somebody has locked leaves its key for the next time, and nobody waits', async () => {
  const key = { endpointId: id, key: 'key 11' };
  const of = sql`endpoint_id = ${id} and order_key = ${key.key}`;
  await world.db.query(
    sql`update deliveries set status = 'discarded' where ${of} and order_state = 'head'`,
  );
  const pass = () =>
    world.db.transaction(async (connection) => {
      await lockKeys(connection, [key]);
      return passOnLocked(connection, [key]);
    });
  await world.db.transaction(async (connection) => {
    await connection.query(sql`select from deliveries where ${of} and sequence = 1 for update`);
    expect(await pass()).toEqual([]);
    await connection.query(
      sql`update deliveries set status = 'discarded', next_attempt_at = null where ${of} and sequence = 1`,
    );
  });
  expect(await findPassing(world.db, 500)).toEqual([key]);
  expect(await pass()).toEqual([id]);
  const [head] = await world.db.query(sql`
    select sequence from deliveries where ${of} and order_state = 'head'`);
  expect(head).toEqual({ sequence: 2 });
});
