import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { useTestDatabase } from '../../../test/database.ts';
import { findWrongCounts, seedDelivery, seedEndpoint } from '../dead-letters/testing/seed.ts';
import { laneOf } from '../lanes.ts';
import { disableGone, recordOutcomes, storeBreakers } from './outcome-queries.ts';
import { type Ended, writeOutcomes } from './outcome-writer.ts';
import { claimDeliveries, lockLanes } from './queries.ts';
import { outcomeRow } from './testing/outcome-row.ts';

const db = useTestDatabase();

const [first, second] = [1001, 1002];
const take = async (lane: number, keeper: number) => {
  const session = await db.openSession();
  expect(await lockLanes(session, [lane], { keeper, silenceSeconds: 30 })).toEqual([lane]);
  return session;
};

/** A due delivery in a lane that passed from the first keeper to the second. */
async function passOn() {
  const endpoint = await seedEndpoint(db);
  const id = await seedDelivery(db, endpoint, { status: 'queued' });
  const lane = laneOf(endpoint.id);
  const claim = (keeper: number, lease: number) =>
    claimDeliveries(db, [{ lane, endpointId: endpoint.id, count: 8, isFresh: true }], {
      id: lease,
      seconds: 60,
      keeper,
      onlyProbes: false,
    });
  await (await take(lane, first)).close();
  return { endpoint, id, lane, claim };
}

test('whoever has lost a lane claims nothing of it', async () => {
  const { id, lane, claim } = await passOn();
  const session = await take(lane, second);
  expect(await claim(first, 1)).toEqual([]);
  expect(await claim(second, 2)).toMatchObject([{ id }]);
  await session.close();
});

test('an outcome under a lost lease changes neither the delivery nor its log', async () => {
  const { endpoint, id, lane, claim } = await passOn();
  expect(await claim(first, 1)).toMatchObject([{ id }]);
  await db.query(sql`update deliveries set leased_until = now() - interval '1 second'`);
  const session = await take(lane, second);
  expect(await claim(second, 2)).toMatchObject([{ id }]);
  const read = () => db.query(sql`select * from deliveries where id = ${id}`);
  const before = await read();
  const outcome = outcomeRow(id, {
    status: 'pending',
    delaySeconds: 60,
    heldBy: 'schedule',
    failureClass: 'timeout_headers',
    error: 'late',
  });
  expect(await recordOutcomes(db, [outcome])).toEqual(new Map());
  expect(await read()).toEqual(before);
  expect(await db.query(sql`select from delivery_attempts where delivery_id = ${id}`)).toEqual([]);
  // Both may come in one batch: then the delivery is counted once.
  const ended = (lease: number): Ended => ({
    row: { ...outcome, lease },
    ...{ endpointId: endpoint.id, tenant: endpoint.tenant, configVersion: 1, orderKey: null },
    ...{ before: { status: 'queued', failureClass: null }, startedAt: 0, breaker: null },
    kind: 'attempted',
  });
  await writeOutcomes(db, [ended(1), ended(2)], { nowMillis: 0, keeper: second });
  expect(await findWrongCounts(db)).toEqual([]);
  expect(await read()).toMatchObject([{ status: 'pending', lease: null, attempts: 1 }]);
  await session.close();
});

test('whoever has lost a lane pauses no endpoint of it', async () => {
  const { endpoint, lane } = await passOn();
  const session = await take(lane, second);
  const change = {
    endpointId: endpoint.id,
    failuresInRow: 20,
    pausesInRow: 1,
    pauseSeconds: 30,
    isClosed: false,
    throttleSeconds: null,
  };
  const read = () =>
    db.query(sql`
      select failures_in_row, paused_until is not null as is_paused
      from webhook_endpoints where id = ${endpoint.id}`);
  await storeBreakers(db, first, [change]);
  expect(await read()).toEqual([{ failures_in_row: 0, is_paused: false }]);
  await storeBreakers(db, second, [change]);
  expect(await read()).toEqual([{ failures_in_row: 20, is_paused: true }]);
  await session.close();
});

test('a 410 disables an endpoint whoever keeps its lane, but not under a lost lease nor a changed one', async () => {
  const { endpoint, id, lane, claim } = await passOn();
  const [row] = await claim(first, 1);
  const configVersion = row?.config_version ?? 0;
  const session = await take(lane, second);
  const gone = (more: { lease?: number; configVersion?: number }) =>
    disableGone(db, [{ lane, id, lease: 1, endpointId: endpoint.id, configVersion, ...more }]);
  expect(await gone({ lease: 2 })).toEqual([]);
  expect(await gone({ configVersion: configVersion - 1 })).toEqual([]);
  expect(await gone({})).toEqual([endpoint.id]);
  expect(await gone({})).toEqual([]);
  await session.close();
});
