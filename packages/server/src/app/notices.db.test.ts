import sql from 'sql-template-tag';
import { Webhook } from 'standardwebhooks';
import { expect, test, vi } from 'vitest';
import { hold } from '../../test/held-pace.ts';
import { untilLockWaits } from '../../test/one-server.ts';
import { answer } from '../../test/receiver.ts';
import type { TestService } from '../../test/service.ts';
import { evaluate } from '../checks/notices/evaluate.ts';
import { claimSends, insertSends } from '../checks/notices/queries.ts';
import { seedDeliveries, seedEndpoint } from '../webhooks/dead-letters/testing/seed.ts';
import { failFor, recover } from './testing/looking.ts';
import { useNoticesWorld } from './testing/notices-world.ts';

const { service, receiver, process, add } = useNoticesWorld();
const list = async () => (await service.call('GET', '/notify/targets')).json.data;

test.each([
  [{ url: 'http://10.0.0.1/x' }, 'target_blocked'],
  [{ url: 'https://169.254.169.254/' }, 'target_blocked'],
  [{ url: 'ftp://127.0.0.1/' }, 'target_invalid'],
  [{ url: undefined }, 'request_invalid'],
  [{ to: 'ops@acme.example' }, 'request_invalid'],
  // Without SVC_SMTP_URL nobody can be told by e-mail.
  [{ kind: 'email', url: undefined, to: 'ops@acme.example' }, 'request_invalid'],
  [{ kinds: [] }, 'request_invalid'],
  [{ kinds: ['rain'] }, 'request_invalid'],
  [{ min_severity: 'loud' }, 'request_invalid'],
])('refuses a target %j: %s', async (more, code) => {
  const body = { kind: 'webhook', url: receiver.url(), ...more };
  const refused = await service.call('POST', '/notify/targets', { body });
  expect(refused.json).toMatchObject({ status: 400, code });
  const tried = await service.call('POST', '/notify/test', { body });
  expect(tried.json).toMatchObject({ status: 400, code });
  expect(receiver.requests).toEqual([]);
  expect(await list()).toEqual([]);
});

test('a test before somebody is added reaches them, and leaves nothing but its entry in the audit log', async () => {
  const body = { kind: 'webhook', url: receiver.url('/tried?key=1') };
  const reached = await service.call('POST', '/notify/test', { body });
  expect(reached.json).toMatchObject({ delivered: true, error: null, status: 204 });
  expect(receiver.requests.map(({ path }) => path)).toEqual(['/tried?key=1']);
  receiver.behave(() => answer(500));
  const failed = await service.call('POST', '/notify/test', { body });
  expect(failed.json).toMatchObject({ delivered: false, error: '500 Internal Server Error' });
  expect(await list()).toEqual([]);
  expect(await service.db.query(sql`select id from notice_sends`)).toEqual([]);
  const { data } = (await service.call('GET', '/audit?action=notify_target.test')).json;
  expect(data[0]).toMatchObject({ target: null, after: { kind: 'webhook' } });
  expect(JSON.stringify(data)).not.toContain('key=1');
});

test('an unknown target, and one that was removed, answer 404', async () => {
  const { id } = await add();
  expect((await service.call('DELETE', `/notify/targets/${id}`)).status).toBe(204);
  for (const each of [id, 'nonsense']) {
    const at = `/notify/targets/${each}`;
    const body = { enabled: false };
    const answers = [
      await service.call('PATCH', at, { body }),
      await service.call('DELETE', at),
      await service.call('POST', `${at}/test`),
    ];
    expect(answers.map(({ json }) => json.code)).toEqual(Array(3).fill('notify_target_not_found'));
  }
});

test('a test is signed with the time of the database, and its end is told at once and in the list, which shows no secret', async () => {
  const target = await add();
  expect(target.secret).toMatch(/^whsec_/);
  const realNow = Date.now;
  const clock = vi.spyOn(Date, 'now').mockImplementation(() => realNow() + 301_000);
  const sent = service.call('POST', `/notify/targets/${target.id}/test`);
  const answered = await sent.finally(() => clock.mockRestore());
  expect(answered.json).toMatchObject({ delivered: true, error: null, status: 204 });
  expect(target.told()).toEqual([['test notices_undelivered']]);
  for (const { body, headers } of target.messages()) {
    new Webhook(target.secret).verify(body, { ...headers });
  }
  expect(await list()).toMatchObject([
    { id: target.id, min_severity: 'warning', last_send: { state: 'delivered', is_test: true } },
  ]);
  expect(JSON.stringify(await list())).not.toContain('whsec_');
  receiver.behave(() => answer(500));
  const failed = await service.call('POST', `/notify/targets/${target.id}/test`);
  expect(failed.json).toMatchObject({ delivered: false, error: '500 Internal Server Error' });
});

test('a trouble is told once however many look, again after a day, and when it is over', async () => {
  const target = await add();
  const id = await failFor(service.db, 3590);
  await process.look();
  expect(target.told()).toEqual([]);
  await process.pass(10);
  await Promise.all(Array.from({ length: 4 }, () => process.look()));
  await receiver.waitUntil(() => target.messages().length > 0);
  await process.look();
  expect(target.told()).toEqual([[`begun endpoints_failing ${id}`]]);
  const [first] = JSON.parse(target.messages()[0]?.body ?? '').data.notices;
  expect(first).toMatchObject({
    severity: 'warning',
    tenant: 'TX',
    link: expect.stringMatching(/\/#\/endpoints\?health=failing&panel=endpoint\/ep_/),
  });
  expect(Date.parse(first.since)).toBeLessThan(Date.now() - 3_600_000);

  await process.pass(86_400);
  await process.look();
  await receiver.waitUntil(() => target.messages().length > 1);
  await recover(service.db, id);
  await process.look();
  await process.pass(900);
  await process.look();
  await receiver.waitUntil(() => target.messages().length > 2);
  await process.look();
  expect(target.told().slice(1)).toEqual([
    [`reminder endpoints_failing ${id}`],
    [`over endpoints_failing ${id}`],
  ]);
  const { json } = await service.call('GET', '/notify/notices');
  expect(json.data).toMatchObject([{ subject: id, ended_at: expect.any(String) }]);
});

test('while one process looks, another leaves it alone', async () => {
  const [entered, left] = [hold(), hold()];
  const nothing = { events: async () => [], act: async () => {} };
  const find = {
    ...nothing,
    async troubles() {
      entered.resolve();
      await left.promise;
      return [];
    },
  };
  const slow = (async () => {
    // The service may be looking at this moment.
    while (!(await evaluate(service.db, { find, historyDays: 0 })));
  })();
  await entered.promise;
  const other = { ...nothing, troubles: async () => [] };
  expect(await evaluate(service.db, { find: other, historyDays: 0 })).toBe(false);
  left.resolve();
  await slow;
});

test('a trouble that flaps is told once', async () => {
  const target = await add();
  const id = await failFor(service.db, 4000);
  await process.look();
  for (let round = 0; round < 3; round += 1) {
    await recover(service.db, id);
    await process.look();
    await process.pass(600);
    await process.look();
    await service.db.query(sql`
      update webhook_endpoints set failures_in_row = 3, failing_since = now() - interval '2 hours'
      where id = ${id}`);
    await process.look();
    await process.pass(600);
  }
  await receiver.waitUntil(() => target.messages().length > 0);
  expect(target.told()).toEqual([[`begun endpoints_failing ${id}`]]);
});

test('dead letters are told from a number on, and when they have lasted', async () => {
  const target = await add();
  const endpoint = await seedEndpoint(service.db);
  await seedDeliveries(service.db, endpoint, 2, { status: 'abandoned' });
  await process.look();
  await process.pass(1000);
  await process.look();
  await seedDeliveries(service.db, endpoint, 1, { status: 'abandoned' });
  await process.look();
  expect(target.told()).toEqual([]);
  await process.pass(300);
  await process.look();
  await receiver.waitUntil(() => target.messages().length > 0);
  expect(target.told()).toEqual([['begun deliveries_abandoned']]);
});

test('what a process that was killed has stored, or begun to send, another one sends', async () => {
  const target = await add();
  const id = await failFor(service.db, 4000);
  receiver.behave(() => answer(503));
  // It is stored, and tried once.
  await process.look();
  await receiver.waitUntil(() => target.messages().length === 1);
  await expect.poll(async () => (await list())[0].last_send.error).toContain('503');
  receiver.behave(() => answer(204));
  // This process dies as soon as it has taken the message.
  const taken = await service.db.transaction(async (connection) => {
    await connection.query(sql`update notice_sends set next_attempt_at = now()`);
    return claimSends(connection, { limit: 10, leaseSeconds: 45 });
  });
  expect(taken).toMatchObject([{ target_id: target.id, attempts: 2 }]);
  await process.send();
  expect(target.messages()).toHaveLength(1);
  await process.pass(45);
  await process.send();
  await receiver.waitUntil(() => target.messages().length === 2);
  expect(target.told()).toEqual(Array(2).fill([`begun endpoints_failing ${id}`]));
  const ids = target.messages().map((message) => message.id);
  expect(new Set(ids).size).toBe(1);
  expect(target.messages()[0]?.body).toBe(target.messages()[1]?.body);
});

test('a target that is removed while it is to be told leaves no message, whichever comes first', async () => {
  const { db } = service;
  const queued = () => db.query(sql`select target_id from notice_sends`);
  const [first, second] = [await add(), await add()];
  const toTell = ({ id }: { id: string }) => [
    { id: `nts_${id}`, targetId: id, items: [], more: 0 },
  ];
  await service.call('DELETE', `/notify/targets/${first.id}`);
  await insertSends(db, toTell(first));
  expect(await queued()).toEqual([]);
  let removing: ReturnType<TestService['call']> | undefined;
  await db.transaction(async (connection) => {
    await insertSends(connection, toTell(second));
    removing = service.call('DELETE', `/notify/targets/${second.id}`);
    await untilLockWaits(db);
  });
  expect((await removing)?.status).toBe(204);
  expect(await queued()).toEqual([]);
});

test('a target that is down is tried for a day, and then others are told of it until a test arrives', async () => {
  const down = await add();
  const other = await add({ kinds: ['notices_undelivered'] });
  receiver.behave(({ path }) => answer(path === down.path ? 500 : 204));
  await failFor(service.db, 4000);
  await process.look();
  // The seconds until the next attempt, which is then due.
  const hurry = async (attempts: number) =>
    (
      await service.db.query<{ seconds: number }>(sql`
        with before as (select id, extract(epoch from next_attempt_at - now()) as seconds from notice_sends)
        update notice_sends s set next_attempt_at = now(), status = null from before
        where before.id = s.id and attempts = ${attempts} and status is not null
        returning seconds::float8`)
    )[0]?.seconds;
  for (const [done, seconds] of [60, 300, 1800, 7200, 21_600, 54_000].entries()) {
    await receiver.waitUntil(() => down.messages().length === done + 1);
    let left: number | undefined;
    await expect.poll(async () => (left = await hurry(done + 1))).toBeDefined();
    expect(left).toBeGreaterThan(seconds - 50);
    expect(left).toBeLessThanOrEqual(seconds);
    await process.send();
  }
  await expect.poll(async () => (await list())[0].last_send.state).toBe('given_up');
  await process.look();
  await receiver.waitUntil(() => other.messages().length > 0);
  expect(down.messages()).toHaveLength(7);
  expect(other.told()).toEqual([[`begun notices_undelivered ${down.id}`]]);
  const seen = async () => (await service.call('GET', '/stats/overview')).json.troubles;
  const unreached = expect.objectContaining({ kind: 'notices_undelivered', count: 1, id: down.id });
  expect(await seen()).toContainEqual(unreached);

  receiver.behave(() => answer(204));
  await service.call('POST', `/notify/targets/${down.id}/test`);
  expect(await seen()).not.toContainEqual(unreached);
});

test('an export that ends is told once, to whoever asked for it', async () => {
  const asking = await add({ kinds: ['export_done', 'export_failed'] });
  const usual = await add();
  const off = await add({ kinds: ['export_done'] });
  await service.call('PATCH', `/notify/targets/${off.id}`, { body: { enabled: false } });
  const end = (id: string, state: string) =>
    service.db.query(sql`
      insert into exports (tenant, id, format, state, request, file_name, slice, recorded_before, options,
        requested_by, token_id, finished_at)
      values ('TX', ${id}, 'csv', ${state}, '{}', 'tx.csv', '{}', now(), '{}', 'ops', 'tok_1', now())`);
  await end('exp_1', 'completed');
  await process.look();
  await process.look();
  await end('exp_2', 'failed');
  await process.look();
  await process.look();
  await receiver.waitUntil(() => asking.messages().length >= 2 && usual.messages().length >= 1);
  expect(asking.told()).toEqual([['event export_done exp_1'], ['event export_failed exp_2']]);
  expect(usual.told()).toEqual([['event export_failed exp_2']]);
  expect(off.told()).toEqual([]);
});

test('how far the audit log is, is told each day to those who want to know of it, and can be verified', async () => {
  const usual = await add();
  await process.look();
  expect((await service.call('GET', '/notify/notices')).json.data).toEqual([]);
  const asking = await add({ kinds: ['audit_head'] });
  const every = await add({ min_severity: 'info' });
  await process.look();
  await process.pass(86_000);
  await process.look();
  await receiver.waitUntil(() => asking.messages().length > 0 && every.messages().length > 0);
  const [told] = JSON.parse(asking.messages()[0]?.body ?? '').data.notices;
  expect(told).toMatchObject({ kind: 'audit_head', telling: 'event', severity: 'info' });
  expect(told.title).toContain(told.subject);
  const body = { head: told.subject };
  expect((await service.call('POST', '/audit/verify', { body })).json.ok).toBe(true);
  await process.pass(400);
  await process.look();
  await receiver.waitUntil(() => asking.messages().length > 1 && every.messages().length > 1);
  expect([usual, asking, every].map((target) => target.messages().length)).toEqual([0, 2, 2]);
});

test('a target that is added or enabled meanwhile is told of what is open, once, and nobody else again', async () => {
  const first = await add();
  const id = await failFor(service.db, 3610);
  await process.look();
  await receiver.waitUntil(() => first.messages().length > 0);
  // It is held back for five minutes.
  const abandoned = await seedEndpoint(service.db, { tenant: 'TX' });
  await seedDeliveries(service.db, abandoned, 3, { status: 'abandoned' });
  const second = await add();
  const choosy = await add({ kinds: ['run_failed'] });
  const off = await add();
  const switchOff = (enabled: boolean) =>
    service.call('PATCH', `/notify/targets/${off.id}`, { body: { enabled } });
  await switchOff(false);
  await process.look();
  await receiver.waitUntil(() => second.messages().length > 0);
  await process.look();
  expect([first, second, choosy, off].map((target) => target.told())).toEqual([
    ...Array(2).fill([[`begun endpoints_failing ${id}`]]),
    ...[[], []],
  ]);
  await process.pass(300);
  await process.look();
  await receiver.waitUntil(() => first.messages().length + second.messages().length === 4);
  expect([first.told()[1], second.told()[1]]).toEqual(
    Array(2).fill(['begun deliveries_abandoned']),
  );
  await switchOff(true);
  await process.look();
  await receiver.waitUntil(() => off.messages().length > 0);
  await process.look();
  expect(off.told().map((told) => told.toSorted())).toEqual([
    ['begun deliveries_abandoned', `begun endpoints_failing ${id}`],
  ]);
  expect([first, second, choosy].map(({ messages }) => messages().length)).toEqual([2, 2, 0]);
});

const ofTenant = (tenant: string, more: object = {}) => add({ tenant, ...more });
const noticesOf = ({ messages }: Awaited<ReturnType<typeof add>>) =>
  messages().flatMap(({ body }) => JSON.parse(body).data.notices as Record<string, string>[]);

test('a target of a tenant is told of its endpoints alone, in words that name nothing of the service', async () => {
  const [operators, own, other] = [await add(), await ofTenant('TX'), await ofTenant('CA')];
  const certificates = await ofTenant('TX', { kinds: ['endpoints_certificate'] });
  const id = await failFor(service.db, 3700);
  const endpoint = await seedEndpoint(service.db, { tenant: 'CA' });
  await seedDeliveries(service.db, endpoint, 4);
  await process.look();
  await process.pass(400);
  await process.look();
  await process.send();
  expect(operators.told().flat()).toContain('begun deliveries_abandoned');
  expect(own.told().flat()).toEqual([`begun endpoints_failing ${id}`]);
  expect([other, certificates].flatMap((each) => each.messages())).toEqual([]);
  const [told] = noticesOf(own);
  expect(told).toMatchObject({ tenant: 'TX', subject: id, link: null });
  expect(JSON.stringify(told)).not.toMatch(/svcctl [a-z]|svcctl\.example|SVC_/);
  // One that is added later is told of what is open, in the same words.
  const late = await ofTenant('TX');
  await process.look();
  await process.send();
  expect(noticesOf(late)).toMatchObject([{ kind: 'endpoints_failing', advice: told?.advice }]);
  await service.call('POST', `/notify/targets/${own.id}/test`);
  expect(noticesOf(own).at(-1)).toMatchObject({
    title: 'This is a test',
    link: null,
    tenant: 'TX',
  });
});

test('a target of a tenant is told nothing by processes of the release before', async () => {
  const { id } = await ofTenant('TX', { kinds: ['endpoints_gone'] });
  const change = (kinds: unknown) =>
    service.call('PATCH', `/notify/targets/${id}`, { body: { kinds } });
  expect((await list())[0]).toMatchObject({ tenant: 'TX', kinds: ['endpoints_gone'] });
  expect((await change(null)).json.kinds).toBe(null);
  expect((await change(['export_done'])).json).toMatchObject({ status: 400 });
  const rows = await service.db.query(sql`select kinds from notify_targets where id = ${id}`);
  expect(rows).toEqual([{ kinds: [] }]);
  const body = { kind: 'webhook', url: receiver.url(), tenant: 'TX', kinds: ['store_unusable'] };
  expect((await service.call('POST', '/notify/targets', { body })).json).toMatchObject({
    status: 400,
    errors: [{ path: '/kinds' }],
  });
});
