import sql from 'sql-template-tag';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { useTestService } from '../../../test/service.ts';
import { clearRetention, seedDays, seedPolicy, seedVersion } from './testing/seed.ts';

const service = useTestService({ SVC_ROLES: 'api', SVC_RATE_LIMIT: '0' });
let limited: string;
beforeAll(async () => {
  ({ token: limited } = await service.makeToken({ preset: 'admin', tenants: ['mine', 'other'] }));
});
beforeEach(() => clearRetention(service.db));

const put = (tenant: string, body: unknown, token?: string) =>
  service.call('PUT', `/retention/policies/${tenant}`, { body, ...(token && { token }) });
const get = (tenant: string, token?: string) =>
  service.call('GET', `/retention/policies/${tenant}`, token ? { token } : {});
const auditEntries = () =>
  service.db.query(sql`
    select action, target, tenant, before ->> 'hot_days' as before, after ->> 'hot_days' as after
    from audit_log order by at`);

describe('refusals', () => {
  test.each([
    [{}, '/hot_days'],
    [{ hot_days: -1 }, '/hot_days'],
    [{ hot_days: '3' }, '/hot_days'],
    [{ hot_days: 36_501 }, '/hot_days'],
    [{ hot_days: 3, delete_days: 0 }, '/delete_days'],
    [{ hot_days: 3, hold: null }, '/hold'],
    [{ hot_days: 3, holds: true }, '/holds'],
  ])('refuses the policy %j', async (body, path) => {
    const answer = await put('x', body);
    expect(answer.status).toBe(400);
    expect(answer.json.errors).toContainEqual(expect.objectContaining({ path }));
  });

  test.each(['a%2Fb', 'a%00', 'x'.repeat(129)])('refuses the tenant %s', async (tenant) => {
    expect((await put(tenant, { hot_days: 1 })).json.errors[0].path).toBe('/tenant');
    expect((await get(tenant)).json.code).toBe('policy_not_found');
    expect((await service.call('DELETE', `/retention/policies/${tenant}`)).status).toBe(404);
  });

  test('lists refuse unknown parameters, bad limits and foreign cursors', async () => {
    await seedPolicy(service.db, { tenant: 'a', hotDays: 1 });
    const { next_cursor } = (await service.call('GET', '/retention/policies?limit=1')).json;
    for (const path of [
      '/retention/policies?limit=0',
      '/retention/policies?tenant=a',
      '/retention/policies?cursor=abc',
      '/retention/tenants?limit=501',
      '/retention/tenants?q=',
      `/retention/tenants?cursor=${next_cursor}`,
    ]) {
      expect((await service.call('GET', path)).status, path).toBe(400);
    }
  });

  test('the default cannot be deleted', async () => {
    const answer = await service.call('DELETE', '/retention/policies/*');
    expect(answer.status).toBe(400);
    expect(answer.json.errors[0].path).toBe('/tenant');
    expect((await get('*')).status).toBe(200);
  });

  test('a tenant without a policy of its own has none to delete', async () => {
    const answer = await service.call('DELETE', '/retention/policies/x');
    expect(answer.json).toMatchObject({ status: 404, code: 'policy_not_found' });
    expect(await auditEntries()).toEqual([]);
  });

  test('a limited token sets neither the default nor a foreign tenant, existing or not', async () => {
    await seedPolicy(service.db, { tenant: 'foreign', hotDays: 9 });
    for (const tenant of ['foreign', 'nobody']) {
      const answer = await put(tenant, { hot_days: 1 }, limited);
      expect(answer.status).toBe(400);
      expect(answer.json.detail).toBe(
        'tenant: is not one that this token reaches; GET /me lists those',
      );
    }
    // Made before the name was refused.
    const { token: starred } = await service.makeToken({
      name: 'starred',
      preset: 'admin',
      tenants: ['x'],
    });
    await service.db.query(
      sql`update access_tokens set tenants = array['*', '.'] where name = 'starred'`,
    );
    for (const token of [starred, limited]) {
      const answer = await put('*', { hot_days: 1 }, token);
      expect(answer.status).toBe(400);
      expect(answer.json.detail).toBe(
        'tenant: the default is set by tokens that are not limited to tenants',
      );
      expect((await service.call('DELETE', '/retention/policies/*', { token })).status).toBe(400);
    }
    expect((await get('*')).json.hot_days).toBe(3);
    expect((await get('foreign')).json.hot_days).toBe(9);
  });
});

describe('policies', () => {
  test('a tenant that nobody knows answers the default', async () => {
    expect((await get('nobody')).json).toMatchObject({
      tenant: 'nobody',
      hot_days: 3,
      delete_days: null,
      hold: false,
      from_default: true,
      updated_by: null,
    });
    expect((await get('*')).json).toMatchObject({ tenant: '*', from_default: false });
  });

  test('a policy of its own is set whole, and what is left out is its default', async () => {
    const set = await put('a b', { hot_days: 0, delete_days: 10, hold: true });
    expect(set.json).toMatchObject({
      tenant: 'a b',
      hot_days: 0,
      delete_days: 10,
      hold: true,
      from_default: false,
      updated_by: 'first admin',
    });
    expect((await get('a%20b')).json).toEqual(set.json);
    expect((await put('a b', { hot_days: 1 })).json).toMatchObject({
      delete_days: null,
      hold: false,
    });
  });

  test('a deleted policy puts its tenant back under the default', async () => {
    await put('a', { hot_days: 30 });
    await put('*', { hot_days: 5, delete_days: 50 });
    expect((await service.call('DELETE', '/retention/policies/a')).status).toBe(204);
    expect((await get('a')).json).toMatchObject({
      hot_days: 5,
      delete_days: 50,
      from_default: true,
    });
  });

  test('each change is on record with what it was and is', async () => {
    await put('a', { hot_days: 30 });
    await put('a', { hot_days: 40 });
    await put('*', { hot_days: 5 });
    await service.call('DELETE', '/retention/policies/a');
    expect(await auditEntries()).toEqual([
      { action: 'retention.policy.set', target: 'a', tenant: 'a', before: null, after: '30' },
      { action: 'retention.policy.set', target: 'a', tenant: 'a', before: '30', after: '40' },
      { action: 'retention.policy.set', target: '*', tenant: null, before: '3', after: '5' },
      { action: 'retention.policy.delete', target: 'a', tenant: 'a', before: '40', after: null },
    ]);
  });

  test('of changes at once each is told with what it replaced', async () => {
    await Promise.all([1, 2, 3, 4].map((hot_days) => put('a', { hot_days })));
    const entries = await auditEntries();
    const after = new Set(entries.map((entry) => entry.after));
    const replaced = new Set(entries.map((entry) => entry.before));
    const last = String((await get('a')).json.hot_days);
    expect(after).toEqual(new Set(['1', '2', '3', '4']));
    expect(replaced).toEqual(new Set([null, ...[...after].filter((days) => days !== last)]));
  });

  test('the list has the default first, then tenants in order, whatever the page size', async () => {
    for (const tenant of ['b', '!', 'ä', 'mine', 'B']) {
      await seedPolicy(service.db, { tenant, hotDays: 1 });
    }
    for (const limit of [1, 2, 5, 500]) {
      const rows = await service.all(`/retention/policies?limit=${limit}`);
      expect(rows.map((row) => row.tenant)).toEqual(['*', '!', 'B', 'b', 'mine', 'ä']);
    }
    const seen = await service.all('/retention/policies?limit=1', limited);
    expect(seen.map((row) => row.tenant)).toEqual(['*', 'mine']);
  });

  test('who set the default shows to nobody who is limited to tenants', async () => {
    await put('*', { hot_days: 4 });
    await put('mine', { hot_days: 5 });
    expect((await get('*')).json.updated_by).toBe('first admin');
    for (const tenant of ['*', 'other']) {
      expect((await get(tenant, limited)).json).toMatchObject({ hot_days: 4, updated_by: null });
    }
    const listed = await service.all('/retention/policies?limit=10', limited);
    expect(listed).toMatchObject([
      { tenant: '*', updated_by: null },
      { tenant: 'mine', updated_by: 'first admin' },
    ]);
  });

  test('a limited token sets, sees and deletes the policies of its tenants', async () => {
    expect((await put('mine', { hot_days: 7 }, limited)).status).toBe(200);
    expect((await get('mine', limited)).json.hot_days).toBe(7);
    expect((await get('other', limited)).json.from_default).toBe(true);
    expect((await get('*', limited)).json.hot_days).toBe(3);
    const path = '/retention/policies/mine';
    expect((await service.call('DELETE', path, { token: limited })).status).toBe(204);
  });
});

describe('tenants', () => {
  beforeEach(async () => {
    await seedDays(service.db, [
      { tenant: 'alpha', age: 9, count: 10, cold: 10 },
      { tenant: 'alpha', age: 1, count: 5 },
      { tenant: 'alpine', age: 1, count: 1 },
      { tenant: 'mine', age: 1, count: 2 },
    ]);
    await seedPolicy(service.db, { tenant: 'alpine', hotDays: 8, hold: true });
    await service.db.query(
      sql`update leaf_tenants set cold_stored_bytes = 77 where tenant = 'alpha'`,
    );
    await service.db.query(sql`
      insert into segments (tenant, id, object_key, size_bytes, sha256, count, bytes, digest, first_day,
        last_day)
      select 'alpha', 'seg' || n, 'key' || n, 40, '', 5, 500, 0, '2026-03-01', '2026-03-02'
      from generate_series(1, 2) n`);
    await service.db.query(sql`
      insert into moves (tenant, id, kind, state, first_day, last_day, planned_at, failed_at, error_code,
        runner)
      values ('alpha', 'mov_1', 'move', 'removed', '2026-03-01', '2026-03-02', '2026-03-05T01:00:00Z',
          null, null, 'r'),
        ('alpha', 'mov_2', 'compact', 'failed', '2026-03-01', '2026-03-02', '2026-03-05T02:00:00Z',
          '2026-03-05T02:00:01Z', 'object_damaged', 'r')`);
  });

  test('each tells its hot and cold share, its policy, its segments and its latest move', async () => {
    const rows = await service.all('/retention/tenants?limit=2');
    expect(rows).toEqual([
      {
        tenant: 'alpha',
        policy: { hot_days: 3, delete_days: null, hold: false, from_default: true },
        count: 15,
        bytes: 1500,
        hot_count: 5,
        hot_bytes: 500,
        cold_count: 10,
        cold_bytes: 1000,
        cold_stored_bytes: 77,
        segments: 2,
        last_move: {
          id: 'mov_2',
          kind: 'compact',
          state: 'failed',
          at: '2026-03-05T02:00:01.000000Z',
          error_code: 'object_damaged',
        },
      },
      expect.objectContaining({
        tenant: 'alpine',
        policy: { hot_days: 8, delete_days: null, hold: true, from_default: false },
        segments: 0,
        last_move: null,
      }),
      expect.objectContaining({ tenant: 'mine', hot_count: 2, cold_count: 0 }),
    ]);
  });

  test('are found by the beginning of their name, and only in reach', async () => {
    const names = async (query: string, token?: string) =>
      (await service.all(`/retention/tenants?limit=1${query}`, token)).map((row) => row.tenant);
    expect(await names('&q=alp')).toEqual(['alpha', 'alpine']);
    expect(await names('&q=alpi')).toEqual(['alpine']);
    expect(await names('&q=zzz')).toEqual([]);
    expect(await names('', limited)).toEqual(['mine']);
    expect(await names('&q=alp', limited)).toEqual([]);
  });

  test('come by what a run would do, most first, then by name, page by page and only in reach', async () => {
    const days = { a: 20, b: 400, c: 30, held: 900, late: 7, same: 400 };
    for (const [tenant, count] of Object.entries(days)) {
      await seedDays(service.db, [{ tenant, age: tenant === 'late' ? 1 : 9, count }]);
    }
    await seedPolicy(service.db, { tenant: 'held', hotDays: 1, hold: true });
    await seedPolicy(service.db, { tenant: 'c', hotDays: 3, deleteDays: 5 });
    // All that would be deleted is of a version, and is cold already.
    await seedDays(service.db, [{ tenant: 'kept', age: 9, count: 50, cold: 50 }]);
    await seedPolicy(service.db, { tenant: 'kept', hotDays: 3, deleteDays: 5 });
    await seedVersion(service.db, { tenant: 'kept', name: 'v1', firstAge: 9, lastAge: 9 });
    for (const limit of [1, 2, 500]) {
      const rows = await service.all(`/retention/tenants?order=due&limit=${limit}`);
      const due = rows.filter((row) => row.due !== null);
      expect(due.map((row) => [row.tenant, row.due.count])).toEqual(
        expect.arrayContaining([
          ['b', 400],
          ['same', 400],
          ['c', 30],
          ['a', 20],
        ]),
      );
      const names = due.map((row) => row.tenant);
      expect(names[names.indexOf('b') + 1]).toBe('same');
      const bytes = due.map((row) => row.due.bytes);
      expect(bytes).toEqual([...bytes].sort((one, other) => other - one));
      const others = rows.slice(due.length).map((row) => row.tenant);
      expect(others).toEqual(others.toSorted((a, b) => (a < b ? -1 : 1)));
      expect(others).toEqual(expect.arrayContaining(['held', 'kept', 'late']));
      expect(rows).toHaveLength(new Set(rows.map((row) => row.tenant)).size);
      expect(rows).toHaveLength((await service.all('/retention/tenants?limit=500')).length);
    }
    const reached = await service.all('/retention/tenants?order=due&limit=1', limited);
    expect(reached.map((row) => row.tenant)).toEqual(['mine']);
    const found = await service.all('/retention/tenants?order=due&q=b&limit=1');
    expect(found.map((row) => row.tenant)).toEqual(['b']);
  });
});

test('a change that goes out from what somebody else has changed since changes nothing', async () => {
  const { updated_at: asDefault } = (await get('x')).json;
  const held = await put('x', { hot_days: 3, hold: true, if_updated_at: asDefault });
  expect(held.json.hold).toBe(true);
  const late = await put('x', { hot_days: 9, if_updated_at: asDefault });
  expect(late.json).toMatchObject({ status: 409, code: 'policy_changed' });
  const remove = (since: string) =>
    service.call('DELETE', `/retention/policies/x?if_updated_at=${encodeURIComponent(since)}`);
  expect((await remove(asDefault)).json.code).toBe('policy_changed');
  expect((await get('x')).json).toEqual(held.json);
  const own = { hot_days: 9, if_updated_at: null };
  expect((await put('x', own)).json.code).toBe('policy_changed');
  // The answer to the first call was lost.
  const again = await put('x', { hot_days: 3, hold: true, if_updated_at: asDefault });
  expect(again.json).toEqual(held.json);
  const rounded = again.json.updated_at.replace('Z', '+00:00');
  expect((await remove(rounded)).status).toBe(204);
  expect((await put('x', own)).json.hot_days).toBe(9);
});
