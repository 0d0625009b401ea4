import sql from 'sql-template-tag';
import { beforeAll, describe, expect, test } from 'vitest';
import { useTestService } from '../../test/service.ts';
import { makeRoot } from './testing/make-root.ts';
import { recordOf } from './testing/matrix-world.ts';

const service = useTestService({
  SVC_FOUR_EYES: 'erase,delete_days,lift_hold,adopt_store',
  SVC_RATE_LIMIT: '0',
});

/** Admins that nobody has made: each is somebody else. */
let [ada, bob]: { id: string; token: string }[] = [];
const tokenOf = (who: { token: string } | undefined) => who?.token ?? '';
beforeAll(async () => {
  ada = await makeRoot(service, { name: 'ada' });
  bob = await makeRoot(service, { name: 'bob' });
  await store('TX');
});

async function store(tenant: string) {
  const records = [recordOf(tenant, 1), recordOf(tenant, 2)];
  const { status } = await service.call('POST', '/enrichment/records', { body: { records } });
  expect(status).toBe(200);
}
const count = async (tenant: string) =>
  (await service.call('GET', `/enrichment/records/count?tenant=${tenant}`)).json.count;
const call = (who: typeof ada, method: string, path: string, body?: unknown) =>
  service.call(method, path, { token: tokenOf(who), ...(body !== undefined && { body }) });

/** Asks for something that somebody else must confirm. Returns the id of the request. */
async function ask(who: typeof ada, method: string, path: string, body?: unknown) {
  const answer = await call(who, method, path, body);
  expect([answer.status, answer.json.code], answer.text).toEqual([403, 'approval_required']);
  return answer.json.approval_id as string;
}
const confirm = (who: typeof ada, id: string) => call(who, 'POST', `/approvals/${id}/confirm`);
const stateOf = async (id: string) => (await call(bob, 'GET', `/approvals/${id}`)).json.state;
const told = async (id: string) =>
  (
    await service.db.query<{ told: string }>(sql`
      select action || ' by ' || token_name as told from audit_log where target = ${id} order by id`)
  ).map((entry) => entry.told);
const policy = (tenant: string) => `/retention/policies/${tenant}`;
const days = (delete_days: number | null, hold = false) => ({ hot_days: 3, delete_days, hold });

describe('an act that two must want', () => {
  test('is not done when it is asked for, and done in the name of the asker once confirmed', async () => {
    const body = { tenant: 'TX', event_ids: ['e1'], reason: 'ticket 7' };
    const id = await ask(ada, 'POST', '/enrichment/erase', body);
    expect(await count('TX')).toBe(2);
    const { json } = await call(bob, 'GET', `/approvals/${id}`);
    expect(json).toMatchObject({
      state: 'waiting',
      acts: ['erase'],
      says: 'Erases 1 record of TX.',
      body,
      method: 'POST',
      path: '/enrichment/erase',
      tenant: 'TX',
      is_own: false,
      asked_by: { id: ada?.id, name: 'ada' },
    });
    const done = await confirm(bob, id);
    expect(done.json).toMatchObject({ id, answer: { erased: { count: 1 }, reason: 'ticket 7' } });
    expect(await count('TX')).toBe(1);
    expect(await told(id)).toEqual(['approval.ask by ada', 'approval.confirm by bob']);
    const { data } = (await call(bob, 'GET', '/audit?action=records.erase')).json;
    expect(data[0].actor.name).toBe('ada');
    const row = (await call(bob, 'GET', `/approvals/${id}`)).json;
    expect(row).toMatchObject({ state: 'confirmed', outcome: 'done', body: null });
    expect(row.ended_by.name).toBe('bob');
  });

  test('is asked for once, however often it is sent', async () => {
    const id = await ask(ada, 'PUT', policy('ONCE'), days(30));
    expect(await ask(ada, 'PUT', policy('ONCE'), days(30))).toBe(id);
    expect(await ask(ada, 'PUT', policy('ONCE'), days(31))).not.toBe(id);
  });

  test('is done at once where nothing goes sooner than before, and in a dry run', async () => {
    const keeps = await call(ada, 'PUT', policy('KEEP'), days(null, true));
    expect(keeps.status).toBe(200);
    const dry = { tenant: 'TX', event_ids: ['e2'], dry_run: true };
    expect((await call(ada, 'POST', '/enrichment/erase', dry)).status).toBe(200);
  });

  test('covers holds and days that a policy loses by its deletion, and the store', async () => {
    await call(ada, 'PUT', policy('HELD'), days(null, true));
    const lifted = await ask(ada, 'PUT', policy('HELD'), days(null));
    const removed = await ask(ada, 'DELETE', policy('HELD'));
    const adopted = await ask(ada, 'POST', '/retention/adopt-store');
    const { data } = (await call(bob, 'GET', '/approvals?state=waiting')).json;
    const acts = Object.fromEntries(
      data.map((row: { id: string; acts: string[] }) => [row.id, row.acts]),
    );
    expect([acts[lifted], acts[removed], acts[adopted]]).toEqual([
      ['lift_hold'],
      ['lift_hold'],
      ['adopt_store'],
    ]);
    expect((await confirm(bob, removed)).json).toEqual({ id: removed, answer: null });
    // What was to be lifted is lifted already.
    expect((await confirm(bob, lifted)).json.code).toBe('approval_void');
    expect((await confirm(bob, adopted)).json.answer.state).toBe('own');
  });

  test('covers what one incident tells', async () => {
    const incident = { tenant: 'TX', type: 'incident.created', data: { a: 1 } };
    const { json } = await call(ada, 'POST', '/incidents', incident);
    const id = await ask(ada, 'POST', `/incidents/${json.id}/erase`);
    expect((await confirm(bob, id)).json.answer).toMatchObject({ id: json.id, tenant: 'TX' });
  });
});

describe('who asks cannot confirm', () => {
  test('by a secret that they gave to the token of another, but their own tokens rotate each other', async () => {
    const rotate = (by: typeof ada, id = '') => call(by, 'POST', `/tokens/${id}/rotate`, {});
    const refused = await rotate(ada, bob?.id);
    expect([refused.status, refused.json.code]).toEqual([403, 'rotation_refused']);
    expect(refused.json.detail).toContain('SVC_FOUR_EYES');
    const make = async () =>
      (await call(ada, 'POST', '/tokens', { name: 'own', preset: 'admin' })).json;
    const [one, other] = [await make(), await make()];
    expect((await rotate(one, other.id)).status).toBe(200);
  });

  test('neither by the same token, nor by one that it made, nor by what made it', async () => {
    const id = await ask(ada, 'PUT', policy('OWN'), days(10));
    const body = { name: 'child', preset: 'admin' };
    const child = (await call(ada, 'POST', '/tokens', body)).json;
    const grandchild = (await call(child, 'POST', '/tokens', body)).json;
    for (const who of [ada, child, grandchild]) {
      expect((await confirm(who, id)).json.code).toBe('approval_own');
    }
    const byChild = await ask(grandchild, 'PUT', policy('OWN2'), days(10));
    expect((await confirm(ada, byChild)).json.code).toBe('approval_own');
    expect((await call(ada, 'GET', `/approvals/${byChild}`)).json.is_own).toBe(true);
    expect((await confirm(bob, byChild)).status).toBe(200);
  });

  test('nor does who is limited to other tenants learn of it', async () => {
    const id = await ask(ada, 'PUT', policy('TX'), days(10));
    const other = await makeRoot(service, { name: 'other', tenants: ['NY'] });
    for (const answer of [
      await call(other, 'GET', `/approvals/${id}`),
      await confirm(other, id),
      await call(other, 'POST', `/approvals/${id}/reject`),
    ]) {
      expect([answer.status, answer.json.code]).toEqual([404, 'approval_not_found']);
    }
    expect((await call(other, 'GET', '/approvals')).json.data).toEqual([]);
    const own = await makeRoot(service, { name: 'own', tenants: ['TX'] });
    expect((await call(own, 'GET', '/approvals')).json.data.length).toBeGreaterThan(0);
    expect((await confirm(own, id)).status).toBe(200);
    // What is out of reach is refused as ever, and not kept.
    const foreign = await call(other, 'PUT', policy('TX'), days(5));
    expect([foreign.status, foreign.json.code]).toEqual([400, 'request_invalid']);
  });
});

test('who may only manage retention sees, and withdraws, what they asked for themselves', async () => {
  const make = () => call(ada, 'POST', '/tokens', { name: 'rita', scopes: ['retention:manage'] });
  const [rita, peer] = [(await make()).json, (await make()).json];
  await call(rita, 'PUT', policy('RITA'), days(null, true));
  const others = await ask(ada, 'PUT', policy('RITA'), days(10, true));
  const own = await ask(rita, 'PUT', policy('RITA'), days(null));
  const { data } = (await call(rita, 'GET', '/approvals')).json;
  expect(data).toMatchObject([{ id: own, is_own: true, acts: ['lift_hold'] }]);
  expect((await call(rita, 'GET', `/approvals/${own}`)).json.body).toMatchObject({ hold: false });
  expect((await confirm(rita, own)).json.code).toBe('scope_missing');
  for (const [who, id] of [
    [rita, others],
    [peer, own],
  ] as const) {
    expect((await call(who, 'GET', `/approvals/${id}`)).json.code).toBe('approval_not_found');
    expect((await call(who, 'POST', `/approvals/${id}/reject`)).status).toBe(404);
  }
  expect((await call(rita, 'POST', `/approvals/${own}/reject`)).json.state).toBe('rejected');
  expect(await stateOf(others)).toBe('waiting');
  const viewer = (await call(ada, 'POST', '/tokens', { name: 'v', preset: 'viewer' })).json;
  expect((await call(viewer, 'GET', '/approvals')).json.code).toBe('scope_missing');
});

describe('a request ends', () => {
  test('once: of two confirmations at the same time one does it', async () => {
    const adoptions = async () =>
      (await service.call('GET', '/audit?action=retention.adopt_store')).json.data.length;
    const before = await adoptions();
    // Nothing that it is about changes by it, so only the request itself can end a second one.
    const id = await ask(ada, 'POST', '/retention/adopt-store');
    const carl = await makeRoot(service, { name: 'carl' });
    const answers = await Promise.all([bob, carl, bob, carl].map((who) => confirm(who, id)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(await adoptions()).toBe(before + 1);
    expect(await told(id)).toHaveLength(2);
    expect((await confirm(bob, id)).json.code).toBe('approval_ended');
  });

  test('by a rejection, also that of the asker', async () => {
    const [first, second] = [
      await ask(ada, 'PUT', policy('NO'), days(20)),
      await ask(ada, 'PUT', policy('NO'), days(21)),
    ];
    expect((await call(bob, 'POST', `/approvals/${first}/reject`)).json.state).toBe('rejected');
    expect((await call(ada, 'POST', `/approvals/${second}/reject`)).status).toBe(200);
    for (const id of [first, second]) {
      expect((await confirm(bob, id)).json.code).toBe('approval_ended');
    }
    expect(await told(first)).toEqual(['approval.ask by ada', 'approval.reject by bob']);
  });

  test('after its time, which the audit log tells', async () => {
    const id = await ask(ada, 'PUT', policy('LATE'), days(20));
    await service.db.query(
      sql`update approvals set expires_at = now() - interval '1 second' where id = ${id}`,
    );
    expect(await stateOf(id)).toBe('expired');
    expect((await confirm(bob, id)).json.code).toBe('approval_ended');
    expect(await told(id)).toEqual(['approval.ask by ada', 'approval.expire by svcctl']);
  });

  test('when the asker is revoked, or reaches the tenant no more', async () => {
    const dora = await makeRoot(service, { name: 'dora' });
    const [gone, less] = [
      await ask(dora, 'PUT', policy('GONE'), days(20)),
      await ask(ada, 'PUT', policy('LESS'), days(20)),
    ];
    await call(bob, 'DELETE', `/tokens/${dora.id}`);
    expect(await stateOf(gone)).toBe('void');
    expect((await confirm(bob, gone)).json.code).toBe('approval_ended');
    expect(await told(gone)).toEqual(['approval.ask by dora', 'approval.void by svcctl']);
    await service.db.query(
      sql`update access_tokens set scopes = '{enrichment:read}' where id = ${ada?.id}`,
    );
    const refused = await confirm(bob, less);
    await service.db.query(sql`update access_tokens set scopes = '{admin}' where id = ${ada?.id}`);
    expect([refused.status, refused.json.code]).toEqual([409, 'approval_void']);
  });

  test('when it would take something else than was foreseen', async () => {
    await store('CHANGED');
    const body = { tenant: 'CHANGED', store: 'S' };
    const id = await ask(ada, 'POST', '/enrichment/erase', body);
    const records = [recordOf('CHANGED', 3)];
    await service.call('POST', '/enrichment/records', { body: { records } });
    expect((await confirm(bob, id)).json.code).toBe('approval_void');
    expect(await count('CHANGED')).toBe(3);
    expect(await told(id)).toEqual(['approval.ask by ada', 'approval.void by bob']);
    expect(await ask(ada, 'POST', '/enrichment/erase', body)).not.toBe(id);
  });

  test('when the policy that it changes is another one by now', async () => {
    const held = await call(ada, 'PUT', policy('MEANWHILE'), days(null, true));
    const id = await ask(ada, 'PUT', policy('MEANWHILE'), days(null));
    await call(ada, 'PUT', policy('MEANWHILE'), { ...days(null, true), hot_days: 7 });
    expect((await confirm(bob, id)).json.code).toBe('approval_void');
    // What goes out from an old one is refused at once, and nobody is asked.
    const { updated_at } = held.json;
    const stale = { ...days(null), if_updated_at: updated_at };
    const late = await call(ada, 'PUT', policy('MEANWHILE'), stale);
    const since = encodeURIComponent(updated_at);
    const gone = await call(ada, 'DELETE', `${policy('MEANWHILE')}?if_updated_at=${since}`);
    expect([late.json.code, gone.json.code]).toEqual(['policy_changed', 'policy_changed']);
    expect((await call(ada, 'GET', policy('MEANWHILE'))).json).toMatchObject({ hold: true });
  });
});

test('an erasure of records and incidents is confirmed before the first of them goes', async () => {
  await store('BOTH');
  const incident = { tenant: 'BOTH', type: 'incident.created', data: { id: 'e1' } };
  await call(ada, 'POST', '/incidents', incident);
  const subject = { field: 'n', value: '1' };
  const body = { tenant: 'BOTH', subject, incidents: true };
  const id = await ask(ada, 'POST', '/enrichment/erase', body);
  const { json } = await call(bob, 'GET', `/approvals/${id}`);
  expect(json.says).toBe('Erases 1 record of BOTH, found by n, and 1 incident.');
  expect((await confirm(bob, id)).json.answer.incidents.count).toBe(1);
  const { data } = (await call(bob, 'GET', '/audit?tenant=BOTH')).json;
  expect(data.map((entry: { action: string }) => entry.action).reverse()).toEqual([
    ...['approval.ask', 'approval.confirm', 'incidents.erase', 'records.erase'],
  ]);
});

test('what fails before it is done waits on, and can be confirmed again', async () => {
  await store('BUSY');
  const id = await ask(ada, 'POST', '/enrichment/erase', { tenant: 'BUSY', store: 'S' });
  await service.db.query(sql`
    create function refuse() returns trigger language plpgsql as $$ begin raise 'no'; end $$`);
  await service.db.query(sql`
    create trigger refuse before insert on moves for each row execute function refuse()`);
  expect((await confirm(bob, id)).status).toBe(500);
  await service.db.query(sql`drop trigger refuse on moves`);
  // The transaction that would have confirmed it has left nothing.
  expect(await stateOf(id)).toBe('waiting');
  expect(await told(id)).toEqual(['approval.ask by ada']);
  expect((await confirm(bob, id)).json.answer.erased.count).toBe(2);
  expect(await count('BUSY')).toBe(0);
});

test('what was done, of which nobody could note how it ended, is not done again', async () => {
  const id = await ask(ada, 'PUT', policy('LOST'), days(20));
  // As after a kill between the commit of the act and the note.
  await service.db.query(sql`
    create trigger refuse before update of outcome on approvals for each row execute function refuse()`);
  expect((await confirm(bob, id)).status).toBe(200);
  await service.db.query(sql`drop trigger refuse on approvals`);
  expect((await call(bob, 'GET', policy('LOST'))).json.delete_days).toBe(20);
  expect((await call(bob, 'GET', `/approvals/${id}`)).json).toMatchObject({
    state: 'confirmed',
    outcome: null,
  });
  expect((await confirm(bob, id)).json.code).toBe('approval_ended');
});

test('a request is told as a trouble to whoever may confirm it, until it has ended', async () => {
  const id = await ask(ada, 'PUT', policy('TOLD'), days(20));
  const troubles = async (token: string) =>
    (await service.call('GET', '/stats/overview', { token })).json.troubles.filter(
      ({ kind }: { kind: string }) => kind === 'approvals_waiting',
    );
  const elsewhere = await service.makeToken({ preset: 'admin', tenants: ['NONE'] });
  const within = await service.makeToken({ preset: 'admin', tenants: ['TOLD'] });
  const reader = await service.makeToken({ scopes: ['enrichment:read'], tenants: ['TOLD'] });
  expect(await troubles(within.token)).toMatchObject([
    { id, severity: 'warning', command: `svcctl approvals show ${id}` },
  ]);
  expect(await troubles(elsewhere.token)).toEqual([]);
  expect(await troubles(reader.token)).toEqual([]);
  expect((await call(bob, 'POST', `/approvals/${id}/reject`)).status).toBe(200);
  expect(await troubles(within.token)).toEqual([]);
});

test('a token can have so many requests waiting, and no more', async () => {
  const eve = await makeRoot(service, { name: 'eve' });
  await service.db.query(sql`
    insert into approvals (id, acts, route, params, says, about, asker_id, asker_name, asker_root, request_id)
    select 'apr_' || n, '{erase}', 'adoptStore', '{}', '', 'null', ${eve.id}, 'eve', ${eve.id}, 'req'
    from generate_series(1, 100) n`);
  const answer = await call(eve, 'PUT', policy('FULL'), days(20));
  expect([answer.status, answer.json.code]).toEqual([409, 'approvals_full']);
});
