import sql from 'sql-template-tag';
import { afterEach, expect, test } from 'vitest';
import { hold } from '../../../test/held-pace.ts';
import { after, answer, useReceiver } from '../../../test/receiver.ts';
import { createLog, drainOnce, startService } from '../../app.ts';
import { loadSettings, usualWaits } from '../../config/settings.ts';
import { advisoryLocks, isHeldLock } from '../../platform/postgres/locks.ts';
import { isStatus, useWorld } from './testing/world.ts';

const receiver = useReceiver();
const world = useWorld({ SVC_ROLES: 'api' });
afterEach(async () => {
  await world.expectCountsToFit();
  await world.db.query(sql`update webhook_endpoints set deleted_at = now()`);
});

const settings = () => ({
  ...loadSettings({
    DATABASE_URL: world.db.url,
    SVC_DATA_DIR: world.dataDir,
    SVC_PORT: '0',
    SVC_ROLES: 'drainer',
    SVC_ALLOW_TARGETS: '127.0.0.0/8',
    SVC_WEBHOOK_TIMEOUT_SECONDS: '2',
  }),
  waits: { ...usualWaits, lanesMillis: 100 },
});
const silent = createLog('silent');
const drain = () => drainOnce(settings(), silent, new AbortController().signal);

test('sends nothing while no drainer runs, and each once when one does', async () => {
  await world.addEndpoint(receiver.url('/once'));
  const ids = await world.report(50);
  const waiting = await world.call('GET', `/webhook/dlq/${ids[0]}`);
  expect(waiting.json).toMatchObject({ status: 'queued', waiting: { reason: 'no_drainer' } });
  expect(receiver.requests).toHaveLength(0);
  expect(await drain()).toEqual({ delivered: 50, failed: 0 });
  expect(receiver.requests).toHaveLength(50);
  expect(receiver.duplicates).toBe(0);
  await world.untilAll(ids, 'delivered');
});

test('ends when nothing is due, though rows are due later or paused', async () => {
  await world.addEndpoint(receiver.url('/later'));
  receiver.behave(() => answer(500));
  const ids = await world.report(3);
  expect(await drain()).toEqual({ delivered: 0, failed: 3 });
  expect(await drain()).toEqual({ delivered: 0, failed: 0 });
  receiver.behave(() => answer(204));
  for (const id of ids) await world.call('POST', `/webhook/dlq/${id}/retry`);
  expect(await drain()).toEqual({ delivered: 3, failed: 0 });
});

test("delivers an operator's retry though the breaker is open", async () => {
  const { id: endpoint } = await world.addEndpoint(receiver.url('/paused'));
  receiver.behave(() => answer(500));
  const [id = ''] = await world.report();
  await drain();
  await world.db.query(sql`
    update webhook_endpoints set failures_in_row = 20, pauses_in_row = 1,
      paused_until = now() + interval '1 hour' where id = ${endpoint}`);
  receiver.behave(() => answer(204));
  expect(await drain()).toEqual({ delivered: 0, failed: 0 });
  await world.call('POST', `/webhook/dlq/${id}/retry`);
  expect(await drain()).toEqual({ delivered: 1, failed: 0 });
});

const heldLanes = async () => {
  const rows = await world.db.query<{ lanes: number }>(sql`
    select count(*) as lanes from pg_locks where ${isHeldLock('lanes')}`);
  return rows[0]?.lanes;
};

test('gives the lanes to others at once when it stops, and ends what is under way', async () => {
  await world.addEndpoint(receiver.url('/slow'));
  const gate = hold();
  receiver.behave(() => after(gate.promise, answer(204)));
  const made = receiver.requests.length;
  const [id = ''] = await world.report();
  const drainer = await startService({ ...settings(), webhookTimeoutSeconds: 60 }, silent);
  await receiver.waitFor(made + 1);
  const closed = drainer.close();
  await expect.poll(heldLanes, { timeout: 120_000 }).toBe(0);
  gate.resolve();
  await closed;
  await world.untilDelivery(id, isStatus('delivered'));
});

test('a 410 disables its endpoint although the lane has gone to another drainer meanwhile', async () => {
  const { id: endpoint } = await world.addEndpoint(receiver.url('/gone'));
  const gate = hold();
  receiver.behave(() => after(gate.promise, answer(410)));
  const made = receiver.requests.length;
  const [id = ''] = await world.report();
  const first = await startService({ ...settings(), webhookTimeoutSeconds: 60 }, silent);
  await receiver.waitFor(made + 1);
  const closed = first.close();
  await expect.poll(heldLanes, { timeout: 120_000 }).toBe(0);
  const second = await startService(settings(), silent);
  try {
    await expect.poll(heldLanes, { timeout: 120_000 }).toBe(64);
    gate.resolve();
    await closed;
    await world.untilDelivery(id, isStatus('abandoned'));
    const shown = await world.call('GET', `/webhook/endpoints/${endpoint}`);
    expect(shown.json).toMatchObject({ enabled: false, disabled_reason: 'gone' });
  } finally {
    receiver.behave(() => answer(204));
    await second.close();
  }
});

test('a sole drainer has all lanes while retention moves records', async () => {
  const mover = await world.db.openSession();
  await mover.query(sql`select pg_advisory_lock(${advisoryLocks.moves}, hashtext('TX'))`);
  const drainer = await startService(settings(), silent);
  try {
    await expect.poll(heldLanes, { timeout: 120_000 }).toBe(64);
  } finally {
    await drainer.close();
    await mover.close();
  }
});

test('shares the lanes among drainers on one database, and delivers each once', async () => {
  for (let n = 0; n < 16; n += 1) await world.addEndpoint(receiver.url(`/${n}`));
  const [before, duplicates] = [receiver.requests.length, receiver.duplicates];
  const drainers = await Promise.all([
    startService({ ...settings(), webhookTimeoutSeconds: 60 }, silent),
    startService({ ...settings(), webhookTimeoutSeconds: 60 }, silent),
  ]);
  try {
    const lanes = () =>
      world.db.query<{ lanes: number }>(sql`
        select count(*) as lanes from pg_locks where ${isHeldLock('lanes')}
        group by pid order by 1`);
    await expect.poll(lanes, { timeout: 120_000 }).toEqual([{ lanes: 32 }, { lanes: 32 }]);
    const ids = await world.report(20);
    expect(ids).toHaveLength(320);
    await world.untilAll(ids, 'delivered');
    expect(receiver.requests.length - before).toBe(320);
    expect(receiver.duplicates).toBe(duplicates);
  } finally {
    for (const drainer of drainers) await drainer.close();
  }
  const held = await world.db.query(sql`select from deliveries where lease is not null`);
  expect(held).toEqual([]);
});
