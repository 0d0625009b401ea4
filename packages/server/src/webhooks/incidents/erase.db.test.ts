import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { hold } from '../../../test/held-pace.ts';
import { untilLockWaits } from '../../../test/one-server.ts';
import { after, answer } from '../../../test/receiver.ts';
import { isStatus, useCleanWorld } from '../drainer/testing/world.ts';
import { forgetHistory } from '../forget.ts';

const { world, receiver } = useCleanWorld();

const person = 'Erika-Mustermann-0812';
const bodyOf = (more: object = {}) => ({
  tenant: 'TX',
  type: 'incident.created',
  occurred_at: '2026-03-05T14:07:09Z',
  data: { event_id: 'fl-0812', name: person },
  ...more,
});
const post = (path: string, body?: object) => world.call('POST', path, { body });
const get = async (path: string) => (await world.call('GET', path)).json;
const reportOne = async (more: object = {}) => {
  const accepted = await post('/incidents', bodyOf(more));
  expect(accepted.status, accepted.text).toBe(202);
  return { id: accepted.json.id, deliveries: accepted.json.deliveries, text: accepted.text };
};

/** The tables that have the name of the person anywhere in a row. */
async function tablesWith(text: string): Promise<string[]> {
  const found: string[] = [];
  const { rows } = await world.db.pool.query(`select relname from pg_class
    where relkind = 'r' and relnamespace = 'public'::regnamespace`);
  for (const { relname } of rows) {
    const { rowCount } = await world.db.pool.query(
      `select from ${relname} t where strpos(t::text, $1) > 0 or strpos(t::text, $2) > 0`,
      [text, Buffer.from(text).toString('hex')],
    );
    if (rowCount !== 0) found.push(relname);
  }
  return found;
}

/** An incident that was delivered to one endpoint and abandoned at another, whose answers repeat the name. */
async function addHalfDelivered(more: object = {}) {
  await world.addEndpoint(receiver.url('/good'));
  await world.addEndpoint(receiver.url('/bad'), { max_attempts: 1 });
  receiver.behave(({ path }) => answer(path === '/good' ? 200 : 500, { body: `dear ${person}` }));
  const incident = await reportOne(more);
  const [good, bad] = await Promise.all(
    incident.deliveries.map(({ id }: { id: string }) =>
      world.untilDelivery(id, ({ status }) => ['delivered', 'abandoned'].includes(status)),
    ),
  ).then((rows) => rows.sort((a, b) => (a.status < b.status ? 1 : -1)));
  return { ...incident, good, bad };
}

test('an erased incident leaves no payload, key text or answer; times, sizes and states stay', async () => {
  const incident = await addHalfDelivered({ idempotency_key: `case:${person}` });
  const before = await get(`/incidents/${incident.id}`);
  expect(await tablesWith(person)).toEqual(
    expect.arrayContaining(['incidents', 'incident_keys', 'delivery_attempts']),
  );
  const erased = await post(`/incidents/${incident.id}/erase`);
  expect(erased.status, erased.text).toBe(200);
  expect(erased.json).toMatchObject({
    id: incident.id,
    tenant: 'TX',
    erased_at: expect.any(String),
    erased: { count: 1, cancelled: 0, answers: 2, keys: 1 },
  });
  const remains = erased.json.remains.map((row: { what: string }) => row.what);
  expect(remains).toEqual(['incidents', 'receivers', 'hot_pages', 'keys', 'wal', 'backups']);
  expect(await tablesWith(person)).toEqual([]);

  const after = await get(`/incidents/${incident.id}`);
  expect(after).toMatchObject({
    ...before,
    data: null,
    body: '{"type":"incident.created","timestamp":"2026-03-05T14:07:09.000000Z","data":null}',
    erased_at: erased.json.erased_at,
  });
  expect(after.size_bytes).toBe(Buffer.byteLength(before.body));
  for (const was of [incident.good, incident.bad]) {
    const is = await get(`/webhook/dlq/${was.id}`);
    expect(is).toMatchObject({ status: was.status, payload: { data: null } });
    expect(is.payload_erased_at).toBe(erased.json.erased_at);
    expect(is.attempt_log).toEqual([
      { ...was.attempt_log[0], response: null, response_bytes: `dear ${person}`.length },
    ]);
  }
  const { json } = await world.call('GET', '/audit?action=incident.erase&limit=1');
  expect(json.data[0]).toMatchObject({ target: incident.id, tenant: 'TX', after: { keys: 1 } });
});

test('nothing sends an erased incident again: no replay, no retry, no retry in bulk', async () => {
  const key = { idempotency_key: 'case-1' };
  const incident = await addHalfDelivered(key);
  await post(`/incidents/${incident.id}/erase`);
  const requests = receiver.requests.length;
  for (const more of [key, { ...key, data: { other: true } }]) {
    const again = await post('/incidents', bodyOf(more));
    expect(again.text).toBe(incident.text);
  }
  const together = await Promise.all(
    Array.from({ length: 20 }, () => post('/incidents', bodyOf(key))),
  );
  expect(new Set(together.map(({ text }) => text))).toEqual(new Set([incident.text]));

  const retried = await post(`/webhook/dlq/${incident.bad.id}/retry`);
  expect(retried.json).toMatchObject({ status: 409, code: 'delivery_finished' });
  const preview = await post('/webhook/dlq/retry', { dry_run: true });
  expect(preview.json).toEqual({ count: 0, skipped: 1, groups: [] });
  const job = await post('/webhook/dlq/retry', {});
  await expect
    .poll(() => get(`/webhook/dlq/retries/${job.json.id}`), { timeout: 20_000 })
    .toMatchObject({ state: 'completed', rows_done: 0, rows_skipped: 1 });
  expect((await world.call('DELETE', `/webhook/dlq/${incident.bad.id}`)).status).toBe(204);
  expect(receiver.requests).toHaveLength(requests);
  expect(await world.db.query(sql`select from incidents`)).toHaveLength(1);
});

test('a report that waits for the erasure of its key is no new incident', async () => {
  await world.addEndpoint(receiver.url());
  const key = { idempotency_key: 'racing' };
  const incident = await reportOne(key);
  // The erasure has the keys and waits for the incident; a replay waits for the keys.
  const [erasing, replay] = await world.db.transaction(async (holder) => {
    await holder.query(sql`select from incidents where id = ${incident.id} for update`);
    const erased = post(`/incidents/${incident.id}/erase`);
    await untilLockWaits(world.db);
    const replayed = post('/incidents', bodyOf(key));
    await untilLockWaits(world.db, 2);
    return [erased, replayed];
  });
  expect((await erasing)?.status).toBe(200);
  expect((await replay)?.text).toBe(incident.text);
  expect(await world.db.query(sql`select from incidents`)).toHaveLength(1);
});

test('what waits is cancelled; an attempt under way leaves neither its answer nor another attempt', async () => {
  const gate = hold();
  await world.addEndpoint(receiver.url());
  receiver.behave(() => after(gate.promise, answer(500, { body: `dear ${person}` })));
  const incident = await reportOne();
  await receiver.waitFor(1);
  const erased = await post(`/incidents/${incident.id}/erase`);
  expect(erased.json.erased).toMatchObject({ cancelled: 1 });
  const attempts = erased.json.remains.find((row: { what: string }) => row.what === 'attempts');
  expect(attempts.until).toEqual(expect.any(String));
  gate.resolve();
  const [{ id }] = incident.deliveries;
  const ended = await world.untilDelivery(id, ({ attempt_log: log }) => log.length === 1);
  expect(ended).toMatchObject({
    status: 'discarded',
    attempt_log: [{ status: 500, response: null }],
  });
  expect(await tablesWith(person)).toEqual([]);
  expect(receiver.requests).toHaveLength(1);
});

test('an erasure of records takes the incidents of the same events or days, where it is asked to', async () => {
  await world.addEndpoint(receiver.url());
  receiver.behave(() => answer(200, { body: 'thanks' }));
  const byData = await reportOne();
  const byKey = await reportOne({ data: {}, idempotency_key: 'ingest:fl-0812:created' });
  const bare = await reportOne({ data: { id: 'fl-08123' }, idempotency_key: 'fl-08122' });
  const elsewhere = await reportOne({ tenant: 'WA' });
  for (const { id } of [byData, byKey, bare].flatMap(({ deliveries }) => deliveries)) {
    await world.untilDelivery(id, isStatus('delivered'));
  }
  const events = { tenant: 'TX', event_ids: ['fl-0812'] };
  const alone = await post('/enrichment/erase', events);
  expect(alone.json).toMatchObject({ incidents: null });
  const counts = { count: 2, cancelled: 0, answers: 2, keys: 1 };
  for (const path of ['/enrichment/erase', '/enrichment/erase/plan']) {
    const planned = await post(path, {
      ...events,
      incidents: true,
      ...(path.endsWith('plan') ? {} : { dry_run: true }),
    });
    expect(planned.json).toMatchObject({ dry_run: true, incidents: counts });
  }
  expect(await get(`/incidents/${byData.id}`)).toMatchObject({ erased_at: null });
  const ofStore = await post('/enrichment/erase', { ...events, store: 'S', incidents: true });
  expect(ofStore.json.incidents.count).toBe(0);
  const newest = async () =>
    (await world.call('GET', '/audit?action=incidents.erase&limit=1')).json.data[0];
  expect(await newest()).toMatchObject({ after: { store: 'S', count: 0 } });
  const told = { what: 'incidents', until: null, note: expect.stringContaining('name no store') };
  expect(ofStore.json.remains).toContainEqual(told);
  const erased = await post('/enrichment/erase', { ...events, incidents: true });
  expect(erased.json.remains).not.toContainEqual(told);
  expect(erased.json).toMatchObject({ dry_run: false, incidents: counts });
  expect(erased.json.remains.map((row: { what: string }) => row.what)).toEqual(
    expect.arrayContaining(['incidents', 'keys', 'backups']),
  );
  const erasedAt = async ({ id }: { id: string }) => (await get(`/incidents/${id}`)).erased_at;
  expect(await erasedAt(byData)).toEqual(expect.any(String));
  expect(await erasedAt(byKey)).toEqual(expect.any(String));
  expect(await erasedAt(bare)).toBeNull();
  expect(await newest()).toMatchObject({ tenant: 'TX', after: { event_ids: 1, ...counts } });

  const day = { tenant: 'TX', from: '2026-03-05', to: '2026-03-05', incidents: true };
  expect((await post('/enrichment/erase', day)).json.incidents.count).toBe(3);
  expect(await erasedAt(bare)).toEqual(expect.any(String));
  expect(await erasedAt(elsewhere)).toBeNull();
});

test('a legal hold keeps incidents from being erased', async () => {
  await world.addEndpoint(receiver.url());
  const { id } = await reportOne();
  const policy = { hot_days: 3, hold: true };
  await world.call('PUT', '/retention/policies/TX', { body: policy });
  const refused = await post(`/incidents/${id}/erase`);
  expect(refused.json).toMatchObject({ status: 409, code: 'tenant_on_hold' });
  await world.call('PUT', '/retention/policies/TX', { body: { ...policy, hold: false } });
  expect(await get(`/incidents/${id}`)).toMatchObject({ erased_at: null, data: { name: person } });
});

test('a purge removes the answers, and the payload once no other delivery needs it', async () => {
  await world.addEndpoint(receiver.url('/a'), { max_attempts: 1 });
  await world.addEndpoint(receiver.url('/b'), { max_attempts: 1 });
  receiver.behave(() => answer(500, { body: `dear ${person}` }));
  const incident = await reportOne();
  const [first, second] = incident.deliveries;
  for (const { id } of [first, second]) await world.untilDelivery(id, isStatus('abandoned'));
  await world.call('DELETE', `/webhook/dlq/${first.id}`);
  expect((await get(`/webhook/dlq/${first.id}`)).attempt_log[0].response).toBeNull();
  expect((await get(`/webhook/dlq/${second.id}`)).payload.data.name).toBe(person);
  await world.call('DELETE', `/webhook/dlq/${second.id}`);
  expect(await get(`/webhook/dlq/${second.id}`)).toMatchObject({
    status: 'discarded',
    payload: { data: null },
    attempt_log: [{ status: 500, response: null }],
  });
  expect(await tablesWith(person)).toEqual([]);
});

test('what is settled keeps its payload for so many days, or as long as a hold, dead letters too', async () => {
  const incident = await addHalfDelivered();
  const gate = hold();
  receiver.behave(() => after(gate.promise, answer(204)));
  const fresh = await reportOne();
  const held = new Set<string>();
  const isOnHold = async (_db: unknown, tenant: string) => held.has(tenant);
  const days = { days: 400, incidentDays: 90, isOnHold };
  const forget = () => forgetHistory(world.db, days, new AbortController().signal, 1);
  const age = (days: number) =>
    world.db.query(sql`
      update deliveries set finished_at = now() - make_interval(days => ${days}) where finished_at is not null`);
  await world.db.query(sql`update incidents set created_at = now() - interval '100 days'`);
  await age(89);
  await forget();
  expect(await get(`/incidents/${incident.id}`)).toMatchObject({ erased_at: null });
  await age(91);
  held.add('TX');
  await forget();
  expect(await get(`/incidents/${incident.id}`)).toMatchObject({ erased_at: null });
  held.clear();
  await forget();
  expect(await get(`/incidents/${incident.id}`)).toMatchObject({ erased_at: expect.any(String) });
  expect(await get(`/webhook/dlq/${incident.bad.id}`)).toMatchObject({
    status: 'abandoned',
    failure_class: 'erased',
    attempt_log: [{ failure_class: 'status', response: null }],
  });
  expect(await get(`/incidents/${fresh.id}`)).toMatchObject({ erased_at: null });
  gate.resolve();
  for (const { id } of fresh.deliveries) await world.untilDelivery(id, isStatus('delivered'));
});
