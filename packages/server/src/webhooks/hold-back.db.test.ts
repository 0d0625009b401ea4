import sql from 'sql-template-tag';
import { beforeEach, expect, test } from 'vitest';
import { useReceiver } from '../../test/receiver.ts';
import { useTestService } from '../../test/service.ts';
import { holdBack } from './hold-back.ts';

const mostWaiting = 6;
const settleMillis = 0;
const service = useTestService(
  { SVC_ALLOW_TARGETS: '127.0.0.0/8', SVC_TENANT_WAITING: String(mostWaiting) },
  undefined,
  { waits: { holdBackMillis: 20, replaySettleMillis: settleMillis } },
);
const receiver = useReceiver('each');
const patient = { timeout: 30_000, interval: 20 };
let tenants = 0;
let tenant = '';
beforeEach(() => {
  tenant = `T${++tenants}`;
});

const post = async (path: string, body: object) => {
  const answer = await service.call('POST', path, { body });
  expect(answer.status, answer.text).toBeLessThan(300);
  return answer.json;
};
const add = async (more: object = {}): Promise<string> =>
  (await post('/webhook/endpoints', { tenant, url: receiver.url(), ...more })).id;
const report = (n: number, more: object = {}) =>
  post('/incidents', { tenant, type: 'incident.created', data: { n }, ...more });
const show = async (id: string) => (await service.call('GET', `/webhook/endpoints/${id}`)).json;
/** What waits is counted now: the service rests twenty times as long as it took it to look. */
const heldBack = (id: string, told: unknown) =>
  expect
    .poll(async () => {
      await holdBack(service.db, {
        bounds: { rows: mostWaiting, bytes: 0 },
        deliveryDays: 30,
        settleMillis,
      });
      return (await show(id)).held_back;
    }, patient)
    .toEqual(told);
const held = { since: expect.any(String), until: null };
const wasHeld = { since: expect.any(String), until: expect.any(String) };
const fill = async (): Promise<string> => {
  const id = await add({ enabled: false });
  for (let n = 0; n < mostWaiting; n++) await report(n);
  await heldBack(id, held);
  return id;
};

test('an endpoint gets no more than its tenant may have waiting, its others do, and a replay sends the rest', async () => {
  const full = await fill();
  const other = await add({ url: receiver.url('/other') });
  const answers = [await report(6, { idempotency_key: 'k' }), await report(7)];
  for (const answer of answers) {
    expect(answer.held_back).toEqual([full]);
    expect(answer.deliveries).toMatchObject([{ endpoint_id: other }]);
    const { json } = await service.call('GET', `/incidents/${answer.id}`);
    expect(json).toMatchObject({ held_back: [full], filtered_out: [] });
  }
  const list = `/incidents?tenant=${tenant}&include=delivery_counts`;
  const missing = async () =>
    (await service.all(list)).flatMap(({ held_back: ids }: { held_back: string[] }) => ids);
  expect(await missing()).toEqual([full, full]);
  expect(await report(6, { idempotency_key: 'k' })).toEqual(answers[0]);
  expect((await show(full)).backlog.count).toBe(6);
  await receiver.waitFor(2);
  const waiting = await post(`/webhook/endpoints/${full}/replay`, { incident_id: answers[0]?.id });
  expect(waiting).toMatchObject({ waits_for_endpoint: true, waits_for_room: true });
  await service.call('POST', `/jobs/${waiting.id}/cancel`);
  const { json: ended } = await service.call('GET', `/webhook/replays/${waiting.id}`);
  expect(ended).toMatchObject({ state: 'cancelled', waits_for_room: false });

  await service.call('PATCH', `/webhook/endpoints/${full}`, { body: { enabled: true } });
  await heldBack(full, wasHeld);
  await receiver.waitFor(8);
  const { since } = (await show(full)).held_back;
  await post(`/webhook/endpoints/${full}/replay`, { since });
  await receiver.waitFor(10);
  const came = receiver.requests.filter(({ path }) => path !== '/other');
  const numbers = came.map(({ body }) => JSON.parse(body).data.n as number);
  expect(numbers.toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  await heldBack(full, null);
  expect(await missing()).toEqual([]);
});

test('a replay that fills the endpoint again leaves no mark, but for what was held back meanwhile', async () => {
  const full = await fill();
  for (let n = 6; n < 14; n++) await report(n);
  const enable = (enabled: boolean) =>
    service.call('PATCH', `/webhook/endpoints/${full}`, { body: { enabled } });
  await enable(true);
  await heldBack(full, wasHeld);
  await receiver.waitFor(6);
  await enable(false);
  const { since } = (await show(full)).held_back;
  const replay = await post(`/webhook/endpoints/${full}/replay`, { since });
  await heldBack(full, held);
  const last = await report(14);
  expect(last.held_back).toEqual([full]);
  await enable(true);
  await receiver.waitFor(14);
  await expect
    .poll(async () => (await service.call('GET', `/webhook/replays/${replay.id}`)).json.state)
    .toBe('completed');
  // It begins again with the one that is left, which the next replay sends.
  const at = (await service.call('GET', `/incidents/${last.id}`)).json.created_at;
  await heldBack(full, { since: at, until: expect.any(String) });
  await post(`/webhook/endpoints/${full}/replay`, { since: at });
  await heldBack(full, null);
  await receiver.waitFor(15);

  await enable(false);
  for (let n = 0; n < mostWaiting; n++) await report(n);
  await heldBack(full, held);
  for (let n = 6; n < 13; n++) await report(n);
  await enable(true);
  await heldBack(full, wasHeld);
  await receiver.waitFor(21);
  await enable(false);
  await post(`/webhook/endpoints/${full}/replay`, { since: (await show(full)).held_back.since });
  await heldBack(full, held);
  await enable(true);
  await receiver.waitFor(28);
  await heldBack(full, null);
});

test('a mark during which nothing was held back goes by itself, also that of a replay', async () => {
  const full = await fill();
  const change = (body: object) => service.call('PATCH', `/webhook/endpoints/${full}`, { body });
  await change({ enabled: true });
  await receiver.waitFor(6);
  await heldBack(full, null);
  await change({ enabled: false });
  await post(`/webhook/endpoints/${full}/replay`, { since: '2026-01-01T00:00:00Z', only: 'all' });
  await heldBack(full, held);
  await change({ enabled: true });
  await receiver.waitFor(12);
  await heldBack(full, null);
});

test('a purge leaves the payload of what is held back from another endpoint, until a replay has sent it', async () => {
  const full = await fill();
  const other = await add({ url: 'http://127.0.0.1:9/in', max_attempts: 1 });
  const { id, deliveries } = await report(6);
  const path = `/webhook/dlq/${deliveries[0].id}`;
  expect(deliveries).toMatchObject([{ endpoint_id: other }]);
  await expect
    .poll(async () => (await service.call('GET', path)).json.status, patient)
    .toBe('abandoned');
  expect((await service.call('DELETE', path)).status).toBe(204);
  const show = async () => (await service.call('GET', `/incidents/${id}`)).json;
  expect(await show()).toMatchObject({ erased_at: null, data: { n: 6 } });

  await service.call('DELETE', `/webhook/endpoints/${full}`);
  const answer = await report(7);
  const again = `/webhook/dlq/${answer.deliveries[0].id}`;
  await expect
    .poll(async () => (await service.call('GET', again)).json.status, patient)
    .toBe('abandoned');
  expect((await service.call('DELETE', again)).status).toBe(204);
  expect((await service.call('GET', `/incidents/${answer.id}`)).json.erased_at).not.toBeNull();
});

test('a batch tells how many deliveries were held back', async () => {
  await fill();
  const lines = [1, 2].map((n) => JSON.stringify({ tenant, type: 'x.y', data: n })).join('\n');
  const headers = { 'content-type': 'application/x-ndjson', 'idempotency-key': tenant };
  const answer = await service.call('POST', '/incidents', { body: Buffer.from(lines), headers });
  expect(answer.json).toMatchObject({ accepted: 2, deliveries: 0, held_back: 2 });
});

test('a ping goes to an endpoint that is full because it fails', async () => {
  const full = await add({ url: 'http://127.0.0.1:9/in' });
  for (let n = 0; n < mostWaiting; n++) await report(n);
  await heldBack(full, held);
  expect(await report(6)).toMatchObject({ deliveries: [], held_back: [full] });
  expect(await post(`/webhook/endpoints/${full}/ping`, {})).toMatchObject({
    endpoint_id: full,
    status: 'pending',
  });
});

test('a mark that does not fit what waits is right again by itself', async () => {
  const full = await fill();
  const other = await add();
  await service.db.query(sql`
    update webhook_endpoints set held_back_from = case when id = ${other} then now() end, held_back_until = null
    where id in (${full}, ${other})`);
  const marks = async () => [(await show(full)).held_back, (await show(other)).held_back];
  await expect.poll(marks, patient).toEqual([held, null]);
});

test('of what is reported while marks come and go, every endpoint gets each incident or is named by it', async () => {
  const ids = [await add(), await add()];
  const enable = (enabled: boolean) =>
    service.call('PATCH', `/webhook/endpoints/${ids[0]}`, { body: { enabled } });
  let n = 0;
  const reportMany = () => Array.from({ length: 12 }, () => report(n++));
  for (let round = 0; round < 3; round++) {
    await enable(false);
    await Promise.all(reportMany());
    await heldBack(ids[0] ?? '', held);
    await Promise.all([...reportMany(), enable(true), ...reportMany()]);
    await heldBack(ids[0] ?? '', wasHeld);
  }
  const wrong = await service.db.query(sql`
    select i.id from incidents i where i.tenant = ${tenant} and (
      select array_agg(id order by id) from (
        select endpoint_id as id from deliveries d where d.incident_id = i.id
        union all select unnest(held_back)
      ) each_one
    ) is distinct from (select array_agg(id order by id) from webhook_endpoints where tenant = ${tenant})`);
  expect(wrong).toEqual([]);
  const [counts] = await service.db.query<{ kept: number }>(sql`
    select count(*) as kept from incidents where tenant = ${tenant} and held_back is not null`);
  expect(counts?.kept).toBeGreaterThan(0);
  // All of it comes once: what waited, and by a replay what was held back within the times that the endpoint tells.
  const { since } = (await show(ids[0] ?? '')).held_back;
  await post(`/webhook/endpoints/${ids[0]}/replay`, { since });
  const missed = () =>
    service.db.query(sql`
      select i.id from incidents i where i.tenant = ${tenant} and not exists (
        select from deliveries d where d.incident_id = i.id and d.endpoint_id = ${ids[0]} and d.status = 'delivered')`);
  await expect.poll(missed, patient).toEqual([]);
  await heldBack(ids[0] ?? '', null);
});
