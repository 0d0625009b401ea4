import { setImmediate } from 'node:timers/promises';
import sql from 'sql-template-tag';
import { Webhook } from 'standardwebhooks';
import { expect, test, vi } from 'vitest';
import { hold } from '../../../test/held-pace.ts';
import { untilLockWaits } from '../../../test/one-server.ts';
import { after, answer, hang, inTurn, reset, startReceiver } from '../../../test/receiver.ts';
import { isHeldLock } from '../../platform/postgres/locks.ts';
import { seedDelivery } from '../dead-letters/testing/seed.ts';
import { isStatus, useCleanWorld } from './testing/world.ts';

const { world, receiver } = useCleanWorld();

const breakerOf = async (id: string) =>
  (await world.call('GET', `/webhook/endpoints/${id}`)).json.breaker;

/** An endpoint that failed so often that it is paused, with no attempt under way. */
async function breakOpen(
  count: number,
  more: Record<string, unknown> = {},
): Promise<{ endpoint: string; ids: string[] }> {
  receiver.behave(() => answer(500));
  const { id: endpoint } = await world.addEndpoint(receiver.url(), more);
  const ids = await world.report(count);
  const state = async () => {
    const leased = await world.db.query(sql`
      select from deliveries where endpoint_id = ${endpoint} and lease is not null`);
    return leased.length === 0 ? (await breakerOf(endpoint)).state : 'busy';
  };
  await expect.poll(state, { timeout: 120_000 }).toBe('open');
  return { endpoint, ids };
}

test('delivers an incident signed as Standard Webhooks asks, and logs the attempt', async () => {
  const { secret } = await world.addEndpoint(receiver.url());
  receiver.behave(() => answer(200, { body: 'thank you' }));
  const [id = ''] = await world.report();
  const [request] = await receiver.waitFor(1);
  const payload = new Webhook(secret).verify(request?.body ?? '', { ...request?.headers });
  expect(payload).toMatchObject({ type: 'incident.created', data: { number: 0 } });
  const delivery = await world.untilDelivery(id, isStatus('delivered'));
  expect(request?.id).toBe(delivery.idempotency_key);
  expect(delivery.waiting).toBeNull();
  expect(delivery.attempt_log).toMatchObject([
    { number: 1, status: 200, failure_class: null, error: null, response: 'thank you' },
  ]);
});

test('sends most new deliveries without claiming them, and each of them once', async () => {
  await world.addEndpoint(receiver.url());
  await world.db.query(sql`create table stored (id text, is_claimed boolean)`);
  await world.db.query(sql`
    create function note_stored() returns trigger language plpgsql as $$
      begin insert into stored values (new.id, new.lease is not null); return new; end $$`);
  await world.db.query(sql`
    create trigger stored after insert on deliveries for each row execute function note_stored()`);
  const ids: string[] = [];
  // The drainer learns of an endpoint from its first delivery. A scan may make it claim one more.
  for (let n = 0; n < 10; n += 1) {
    const reported = await world.report();
    await world.untilAll(reported, 'delivered');
    ids.push(...reported);
  }
  const stored = await world.db.query<{ is_claimed: boolean }>(sql`select is_claimed from stored`);
  await world.db.query(sql`drop table stored`);
  await world.db.query(sql`drop function note_stored cascade`);
  expect(stored.filter((row) => row.is_claimed).length).toBeGreaterThanOrEqual(5);
  expect(stored[0]?.is_claimed).toBe(false);
  expect(receiver.requests).toHaveLength(ids.length);
  expect(receiver.duplicates).toBe(0);
});

test('signs with every secret that was rotated out within a day', async () => {
  const { id, secret } = await world.addEndpoint(receiver.url());
  const secrets = [secret];
  for (let n = 0; n < 3; n += 1) {
    const rotated = await world.call('POST', `/webhook/endpoints/${id}/rotate-secret`);
    secrets.push(rotated.json.secret);
  }
  await world.report();
  const [request] = await receiver.waitFor(1);
  expect(request?.headers['webhook-signature']?.split(' ')).toHaveLength(4);
  for (const one of secrets) {
    new Webhook(one).verify(request?.body ?? '', { ...request?.headers });
  }
  await world.db.query(sql`
    update webhook_endpoints set previous_secrets_until[3] = now(), updated_at = now() where id = ${id}`);
  await world.report();
  const [, next] = await receiver.waitFor(2);
  const verify = (one: string) => new Webhook(one).verify(next?.body ?? '', { ...next?.headers });
  for (const one of secrets.slice(1)) verify(one);
  expect(() => verify(secret)).toThrow();
});

test('keeps a failed delivery pending, and delivers it under the same webhook-id when it is due', async () => {
  await world.addEndpoint(receiver.url());
  receiver.behave(inTurn(answer(503, { body: 'not now' }), reset(), reset(), answer(204)));
  const [id = ''] = await world.report();
  const failed = await world.untilDelivery(id, isStatus('pending'));
  expect(failed).toMatchObject({
    attempts: 1,
    last_status: 503,
    failure_class: 'status',
    error: '503 Service Unavailable',
    waiting: { reason: 'schedule', until: failed.next_retry },
  });
  await world.makeDue(id);
  const broken = await world.untilDelivery(id, (delivery) => delivery.attempts === 2);
  expect(broken).toMatchObject({ status: 'pending', last_status: 503, failure_class: 'reset' });
  await world.makeDue(id);
  await world.untilDelivery(id, isStatus('delivered'));
  expect(new Set(receiver.requests.map((request) => request.id)).size).toBe(1);
  expect(new Set(receiver.requests.map((request) => request.body)).size).toBe(1);
});

const refusals: [number, string | undefined][] = [
  [429, '3600'],
  [503, '3600'],
  [429, undefined],
];
test.each(refusals)(
  'leaves an endpoint alone that answers %i with Retry-After %s, without an attempt or a failure',
  async (status, retryAfter) => {
    const { id: endpoint } = await world.addEndpoint(receiver.url(), { max_attempts: 1 });
    const headers = retryAfter === undefined ? {} : { 'retry-after': retryAfter };
    receiver.behave(() => answer(status, { headers, body: 'too much' }));
    const [id = ''] = await world.report();
    const isHeld = ({ last_status }: { last_status: number | null }) => last_status === status;
    const held = await world.untilDelivery(id, isHeld);
    expect(held).toMatchObject({ status: 'queued', attempts: 0, failure_class: null });
    expect(held.attempt_log).toEqual([]);
    expect(await breakerOf(endpoint)).toMatchObject({ state: 'closed', failures_in_row: 0 });
    if (retryAfter !== undefined) {
      const waitSeconds = (Date.parse(held.next_retry) - Date.now()) / 1000;
      expect(waitSeconds).toBeGreaterThan(3500);
      expect(waitSeconds).toBeLessThanOrEqual(3600);
      const shown = await world.call('GET', `/webhook/endpoints/${endpoint}`);
      expect(shown.json.throttled_until).not.toBeNull();
      // All that its endpoint has wait with it.
      const [other = ''] = await world.report();
      const waiting = (await world.call('GET', `/webhook/dlq/${other}`)).json.waiting;
      expect(waiting.reason).toBe('retry_after');
      expect(receiver.requests).toHaveLength(1);
    }
    receiver.behave(() => answer(204));
    await world.db.query(sql`
      update webhook_endpoints set throttled_until = null where id = ${endpoint}`);
    await world.makeDue(id);
    expect(await world.untilDelivery(id, isStatus('delivered'))).toMatchObject({ attempts: 1 });
  },
);

test('counts refusals as attempts once a delivery was held back for a day', async () => {
  const { id: endpoint } = await world.addEndpoint(receiver.url(), { max_attempts: 1 });
  receiver.behave(() => answer(429, { headers: { 'retry-after': '60' } }));
  const [id = ''] = await world.report();
  await world.untilDelivery(id, ({ last_status }) => last_status === 429);
  await world.db.query(sql`
    update deliveries set throttled_since = now() - interval '25 hours' where id = ${id}`);
  await world.db.query(sql`
    update webhook_endpoints set throttled_until = null where id = ${endpoint}`);
  await world.makeDue(id);
  const parked = await world.untilDelivery(id, isStatus('abandoned'));
  expect(parked).toMatchObject({ attempts: 1, failure_class: 'status' });
  expect(await breakerOf(endpoint)).toMatchObject({ failures_in_row: 0 });
});

test('abandons with the last attempt, and a retry gives it a fresh budget', async () => {
  await world.addEndpoint(receiver.url(), { max_attempts: 2 });
  receiver.behave(inTurn(answer(500), answer(500), answer(500), answer(200)));
  const [id = ''] = await world.report();
  await world.untilDelivery(id, isStatus('pending'));
  await world.makeDue(id);
  const parked = await world.untilDelivery(id, isStatus('abandoned'));
  expect(parked).toMatchObject({ attempts: 2, max_attempts: 2, next_retry: null });
  expect(parked.waiting.reason).toBe('parked');
  const retried = await world.call('POST', `/webhook/dlq/${id}/retry`);
  expect(retried.status).toBe(202);
  const again = await world.untilDelivery(id, (delivery) => delivery.attempts === 3);
  expect(again).toMatchObject({ status: 'pending', max_attempts: 4 });
  await world.call('POST', `/webhook/dlq/${id}/retry`);
  const done = await world.untilDelivery(id, isStatus('delivered'));
  expect(done.attempt_log).toHaveLength(4);
});

test('delivers again what a drainer that died held, under the same webhook-id', async () => {
  await world.addEndpoint(receiver.url());
  receiver.behave(inTurn(hang(), answer(204)));
  const [id = ''] = await world.report();
  await receiver.waitFor(1);
  // Another drainer has taken it over meanwhile: the outcome of the first is fenced off.
  await world.db.query(sql`
    update deliveries set lease = 1, leased_until = now() - interval '1 second' where id = ${id}`);
  await world.db.query(sql`select pg_notify('svcctl_due', '*')`);
  await receiver.waitFor(2);
  const delivery = await world.untilDelivery(id, isStatus('delivered'));
  expect(delivery.attempts).toBe(1);
  expect(receiver.duplicates).toBe(1);
});

test('leaves a row discarded that was purged while its attempt was under way', async () => {
  await world.addEndpoint(receiver.url());
  const purged = hold();
  receiver.behave(() => after(purged.promise, answer(500)));
  const [id = ''] = await world.report();
  await receiver.waitFor(1);
  expect((await world.call('DELETE', `/webhook/dlq/${id}`)).status).toBe(204);
  purged.resolve();
  const delivery = await world.untilDelivery(id, ({ attempt_log: log }) => log.length === 1);
  expect(delivery).toMatchObject({ status: 'discarded', attempts: 0 });
});

test('does nothing on a retry while an attempt is under way: its outcome stands', async () => {
  await world.addEndpoint(receiver.url());
  const retried = hold();
  receiver.behave(() => after(retried.promise, answer(500)));
  const [id = ''] = await world.report();
  await receiver.waitFor(1);
  expect((await world.call('POST', `/webhook/dlq/${id}/retry`)).status).toBe(202);
  retried.resolve();
  expect(await world.untilDelivery(id, isStatus('pending'))).toMatchObject({ max_attempts: 8 });
});

test('leaves no row stuck when an endpoint is deleted while its rows are in flight', async () => {
  const { id: endpoint } = await world.addEndpoint(receiver.url());
  const deleted = hold();
  receiver.behave(() => after(deleted.promise, answer(500)));
  const ids = await world.report(20);
  await receiver.waitFor(8);
  expect((await world.call('DELETE', `/webhook/endpoints/${endpoint}`)).status).toBe(204);
  deleted.resolve();
  await world.untilAll(ids, 'discarded');
  expect(receiver.requests.length).toBe(new Set(receiver.requests.map(({ id }) => id)).size);
});

test('discards rows of a deleted endpoint that came in with its deletion', async () => {
  const { id: endpoint } = await world.addEndpoint(receiver.url());
  receiver.behave(() => answer(204));
  await world.db.query(sql`update webhook_endpoints set deleted_at = now() where id = ${endpoint}`);
  const id = await seedDelivery(world.db, { id: endpoint, tenant: 'TX' }, { status: 'queued' });
  await world.untilDelivery(id, isStatus('discarded'));
  expect(receiver.requests).toHaveLength(0);
});

test('delivers to others while the rows of a deleted endpoint are locked', async () => {
  const { id: deleted } = await world.addEndpoint(receiver.url('/deleted'), { enabled: false });
  const locked = await seedDelivery(world.db, { id: deleted, tenant: 'TX' }, { status: 'queued' });
  await world.db.transaction(async (connection) => {
    await connection.query(sql`select from deliveries where id = ${locked} for update`);
    await world.db.query(
      sql`update webhook_endpoints set deleted_at = now() where id = ${deleted}`,
    );
    await untilLockWaits(world.db, 1);
    await world.addEndpoint(receiver.url('/open'));
    await world.report();
    await expect.poll(() => receiver.requests.length, { timeout: 6000 }).toBe(1);
  });
  await world.untilDelivery(locked, isStatus('discarded'));
});

test('pauses an endpoint after 20 failures in a row without burning attempts', async () => {
  const { ids } = await breakOpen(60);
  const made = receiver.requests.length;
  expect(made).toBeGreaterThanOrEqual(20);
  // The eight that may have been under way when it opened.
  expect(made).toBeLessThanOrEqual(28);
  const rows = await world.db.query<{ attempts: number }>(
    sql`select sum(attempts) as attempts from deliveries`,
  );
  expect(Number(rows[0]?.attempts)).toBeLessThanOrEqual(28);
  const waiting = await world.call('GET', `/webhook/dlq/${ids.at(-1)}`);
  expect(waiting.json.waiting.reason).toBe('breaker');
});

test("lets an operator's retry pass an open breaker, which only its success changes", async () => {
  const { endpoint } = await breakOpen(30);
  const [{ id } = { id: '' }] = await world.db.query<{ id: string }>(
    sql`select id from deliveries where attempts = 1 limit 1`,
  );
  const paused = await breakerOf(endpoint);
  for (const attempts of [2, 3]) {
    await world.call('POST', `/webhook/dlq/${id}/retry`);
    await world.untilDelivery(id, (row) => row.attempts === attempts && row.status === 'pending');
    expect(await breakerOf(endpoint)).toEqual(paused);
  }
  receiver.behave(() => answer(204));
  await world.call('POST', `/webhook/dlq/${id}/retry`);
  await world.untilDelivery(id, isStatus('delivered'));
  expect(await breakerOf(endpoint)).toMatchObject({ state: 'closed', failures_in_row: 0 });
});

test('delivers to one endpoint while another hangs with all it is allowed', async () => {
  const stuck = await startReceiver({ behave: () => hang() });
  try {
    await world.addEndpoint(stuck.url(), { tenant: 'DEAD' });
    await world.addEndpoint(receiver.url(), { tenant: 'TX' });
    await world.report(30, 'DEAD');
    await stuck.waitFor(8);
    const ids = await world.report(30, 'TX');
    await world.untilAll(ids, 'delivered');
    expect(stuck.requests.length).toBeLessThan(30);
  } finally {
    await stuck.close();
  }
});

test('opens another session when it loses the one that holds its lanes', async () => {
  await world.addEndpoint(receiver.url());
  await world.report();
  await receiver.waitFor(1);
  await world.db.query(sql`
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid()
      and pid in (select pid from pg_locks where ${isHeldLock('lanes')})`);
  await setImmediate();
  await world.untilAll(await world.report(), 'delivered');
});

test('writes what was delivered although the session of the outcomes was ended', async () => {
  await world.addEndpoint(receiver.url());
  const deliver = async () => world.untilAll(await world.report(), 'delivered');
  let reports = 0;
  // The session is known by its last statement, which on a slow machine is soon its sign of life.
  await vi.waitUntil(
    async () => {
      await deliver();
      reports += 1;
      const ended = await world.db.query(sql`
        select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and query like '%insert into delivery_attempts%' and pid <> pg_backend_pid()`);
      return ended.length > 0;
    },
    { timeout: 120_000 },
  );
  await deliver();
  expect(receiver.requests).toHaveLength(reports + 1);
});

test('an endpoint has failed since the first of its failures in a row, and no more after a success', async () => {
  receiver.behave(() => answer(500));
  const { id } = await world.addEndpoint(receiver.url());
  const read = async () => {
    const [row] = await world.db.query<{ count: number; since: string | null }>(sql`
      select failures_in_row as count, failing_since::text as since from webhook_endpoints where id = ${id}`);
    return row ?? { count: -1, since: null };
  };
  const until = (count: number) => expect.poll(async () => (await read()).count).toBe(count);
  const [delivery = ''] = await world.report();
  await until(1);
  const { since } = await read();
  expect(since).not.toBeNull();
  await world.makeDue(delivery);
  await until(2);
  expect(await read()).toEqual({ count: 2, since });
  receiver.behave(() => answer(204));
  await world.makeDue(delivery);
  await until(0);
  expect(await read()).toEqual({ count: 0, since: null });

  receiver.behave(() => answer(500));
  await world.report();
  await until(1);
  const again = await read();
  expect(again.since).not.toBeNull();
  expect(again.since).not.toBe(since);
  await world.call('PATCH', `/webhook/endpoints/${id}`, { body: { enabled: true } });
  expect((await read()).since).toBeNull();
});

const retryAll = async (endpoint: string) => {
  const body = { endpoint_id: endpoint };
  expect((await world.call('POST', '/webhook/dlq/retry', { body })).status).toBe(202);
};

test('a bulk re-arm probes a paused endpoint with one row, whose success lets the others go', async () => {
  const { endpoint, ids } = await breakOpen(40, { max_attempts: 1 });
  receiver.behave(() => answer(204));
  await retryAll(endpoint);
  await world.untilAll(ids, 'delivered');
});

test('a bulk re-arm tries a paused endpoint that still fails once, and burns no more attempts', async () => {
  const { endpoint, ids } = await breakOpen(40, { max_attempts: 1 });
  const before = receiver.requests.length;
  await retryAll(endpoint);
  const again = () =>
    world.db.query(sql`
      select from deliveries where endpoint_id = ${endpoint} and attempts = 2`);
  await expect.poll(again, { timeout: 120_000 }).toHaveLength(1);
  for (const id of ids) {
    const { status, waiting } = await world.untilDelivery(id, () => true);
    if (status === 'queued') expect(waiting.reason).toBe('breaker');
    else expect(status).toBe('abandoned');
  }
  expect(receiver.requests.length - before).toBe(1);
});

test('what is new goes before what was tried, however much of that waits', async () => {
  receiver.behave(() => answer(204));
  const { id: endpoint } = await world.addEndpoint(receiver.url('/fresh'), {
    tenant: 'fresh',
    rate_limit: 10,
    enabled: false,
  });
  const old = await world.report(80, 'fresh');
  await world.db.query(sql`
    update deliveries set last_attempt_at = now() where endpoint_id = ${endpoint}`);
  await world.call('PATCH', `/webhook/endpoints/${endpoint}`, { body: { enabled: true } });
  const arrived = () => receiver.requests.filter(({ path }) => path === '/fresh');
  await receiver.waitUntil(() => arrived().length >= 1);
  const fresh = await world.report(5, 'fresh');
  await world.untilAll(fresh, 'delivered');
  expect(arrived().length).toBeLessThan(40);
  await world.call('PATCH', `/webhook/endpoints/${endpoint}`, { body: { rate_limit: null } });
  await world.untilAll(old, 'delivered');
});
