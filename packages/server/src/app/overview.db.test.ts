import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import sql from 'sql-template-tag';
import { beforeAll, expect, test } from 'vitest';
import { useTestService } from '../../test/service.ts';
import {
  makeBulkJob,
  seedDeliveries,
  seedEndpoint,
} from '../webhooks/dead-letters/testing/seed.ts';
import { laneOf } from '../webhooks/lanes.ts';

const service = useTestService({ SVC_ROLES: 'api', SVC_RATE_LIMIT: '0' });
beforeAll(async () => {
  const records = ['TX', 'TX', 'CA'].map((tenant, n) => ({
    tenant,
    store: 'S',
    event_id: `e${n}`,
    occurred_at: '2001-03-01T00:00:00Z',
    enrichment: {},
  }));
  const { json } = await service.call('POST', '/enrichment/records', { body: { records } });
  expect(json.accepted).toBe(3);
});

const read = async (token?: string) => {
  const answer = await service.call('GET', '/stats/overview', token === undefined ? {} : { token });
  expect(answer.status, answer.text).toBe(200);
  return answer.json;
};
const sum = (numbers: number[]) => numbers.reduce((total, each) => total + each, 0);

test('all is well at the beginning, and what was stored shows at once', async () => {
  const overview = await read();
  expect(overview).toMatchObject({
    troubles: [],
    records: { count: 3, hot_count: 3, cold_count: 0, tenants: 2, today: { week_ago: null } },
    retention: { run: null, verification: null },
    webhooks: { abandoned: 0, pending: 0, oldest_failure_at: null, failing: 0, endpoints: [] },
    work: [],
  });
  expect(sum(overview.records.hours.count)).toBe(3);
  expect(sum(overview.records.days.count)).toBe(3);
  expect(overview.records.by_tenant.tenants.map((row: { tenant: string }) => row.tenant)).toEqual([
    'TX',
    'CA',
  ]);
});

test('tells of objects that should have been removed minutes ago, to those who reach their tenant', async () => {
  await service.db.query(sql`
    insert into object_removals (tenant, object_key, move_id, remove_after)
    select tenant, 'records/' || tenant, 'mov_1', now() - make_interval(mins => minutes)
    from (values ('TX', 10), ('CA', 1)) as due (tenant, minutes)`);
  const troublesFor = async (tenants: string[] | null) => {
    const { token } = await service.makeToken({ preset: 'support-readonly', tenants });
    return (await read(token)).troubles;
  };
  const overdue = { kind: 'removals_overdue', count: 1, id: null };
  expect((await read()).troubles).toMatchObject([overdue]);
  expect(await troublesFor(['TX'])).toMatchObject([overdue]);
  expect(await troublesFor(['CA'])).toEqual([]);
  await service.db.query(sql`delete from object_removals`);
});

test('tells what endpoints and their dead letters need', async () => {
  const failing = await seedEndpoint(service.db, { tenant: 'TX' });
  const degraded = await seedEndpoint(service.db, { tenant: 'TX' });
  const gone = await seedEndpoint(service.db, { tenant: 'CA', enabled: false });
  const stopped = await seedEndpoint(service.db, { tenant: 'CA', enabled: false });
  const held = await seedEndpoint(service.db, { tenant: 'CA', enabled: false });
  await seedEndpoint(service.db, { tenant: 'CA' });
  const set = (id: string, failures: number, isPaused: boolean, reason: string | null) =>
    service.db.query(sql`
      update webhook_endpoints set failures_in_row = ${failures}, disabled_reason = ${reason},
        paused_until = case when ${isPaused} then now() + interval '1 hour' end where id = ${id}`);
  await set(failing.id, 20, true, null);
  await set(degraded.id, 3, false, null);
  await set(gone.id, 1, false, 'gone');
  await set(stopped.id, 5, true, 'operator');
  await set(held.id, 0, false, 'operator');
  await seedDeliveries(service.db, held, 3, { status: 'queued' });
  await seedDeliveries(service.db, failing, 4, { status: 'abandoned' });
  await seedDeliveries(service.db, degraded, 2, { status: 'pending' });

  const { troubles, webhooks } = await read();
  expect(troubles.map(({ kind, count }: { kind: string; count: number }) => [kind, count])).toEqual(
    [
      ['endpoints_failing', 1],
      ['endpoints_gone', 1],
      ['endpoints_held', 1],
      ['deliveries_abandoned', 4],
    ],
  );
  expect(troubles[0]).toMatchObject({
    id: failing.id,
    text: 'webhooks of TX to tx.example keep failing',
    severity: 'warning',
    command: `svcctl endpoints show ${failing.id}`,
    place: `#/endpoints?health=failing&panel=endpoint/${failing.id}`,
  });
  expect(webhooks).toMatchObject({
    abandoned: 4,
    pending: 2,
    failing: 1,
    degraded: 1,
    gone: 1,
    held: 1,
  });
  expect(Date.parse(webhooks.oldest_failure_at)).toBeLessThan(Date.now());
  expect(webhooks.endpoints.map(({ id }: { id: string }) => id)).toEqual([
    failing.id,
    gone.id,
    held.id,
    degraded.id,
  ]);
  expect(webhooks.endpoints[0]).toMatchObject({ backlog: { count: 0 } });
  expect(webhooks.endpoints[0].hours.delivered).toHaveLength(24);
});

test('an endpoint is degraded by one in twenty recent attempts, wherever its health shows', async () => {
  const tenant = 'HEALTH';
  const { token } = await service.makeToken({ scopes: ['admin'], tenants: [tenant] });
  const cases = {
    // Of the hour before and this one: delivered, failed, abandoned.
    none: { health: 'ok', failures: 0, hours: [] },
    waits: { health: 'degraded', failures: 1, hours: [] },
    'few of many': {
      health: 'ok',
      failures: 1,
      hours: [
        [19, 0, 0],
        [0, 1, 0],
      ],
    },
    'too many': {
      health: 'degraded',
      failures: 0,
      hours: [
        [18, 0, 0],
        [0, 1, 0],
      ],
    },
    'given up': {
      health: 'degraded',
      failures: 0,
      hours: [
        [0, 0, 1],
        [10, 0, 0],
      ],
    },
    recovered: { health: 'ok', failures: 0, hours: [[9, 0, 0]], older: [0, 9, 0] },
  };
  for (const [description, { failures, hours, ...more }] of Object.entries(cases)) {
    const { id } = await seedEndpoint(service.db, { tenant });
    await service.db.query(sql`
      update webhook_endpoints set description = ${description}, failures_in_row = ${failures} where id = ${id}`);
    const rows = ['older' in more ? more.older : [], ...hours];
    for (const [at, [delivered, failed, abandoned]] of rows.entries()) {
      if (delivered === undefined) continue;
      await service.db.query(sql`
        insert into endpoint_hours (lane, endpoint_id, hour, delivered, failed, abandoned)
        values (${laneOf(id)}, ${id}, date_trunc('hour', now(), 'UTC') - make_interval(hours => ${2 - at}),
          ${delivered}, ${failed}, ${abandoned})`);
    }
  }
  const { data } = (await service.call('GET', '/webhook/endpoints', { token })).json;
  const shown = data.map((row: Record<string, string>) => [row.description, row.health]);
  expect(Object.fromEntries(shown)).toEqual(
    Object.fromEntries(Object.entries(cases).map(([name, { health }]) => [name, health])),
  );
  const { webhooks } = await read(token);
  expect(webhooks).toMatchObject({ failing: 0, degraded: 3, gone: 0, disabled: 0 });
  expect(webhooks.endpoints.map((row: { health: string }) => row.health)).toEqual(
    Array.from({ length: 3 }, () => 'degraded'),
  );
});

test('tells a token only what its scopes and tenants allow', async () => {
  const reader = await service.makeToken({ preset: 'support-readonly', tenants: ['TX'] });
  const limited = await service.makeToken({ scopes: ['admin'], tenants: ['CA'] });
  const writer = await service.makeToken({ scopes: ['enrichment:write'] });
  const ofReader = await read(reader.token);
  expect(ofReader).toMatchObject({ troubles: [], records: { count: 2, tenants: 1 } });
  expect(ofReader).toMatchObject({ webhooks: null, retention: { run: null } });
  expect(ofReader.records.by_tenant.tenants).toHaveLength(1);
  const ofLimited = await read(limited.token);
  expect(ofLimited).toMatchObject({
    troubles: [
      { kind: 'endpoints_gone', count: 1 },
      { kind: 'endpoints_held', count: 1 },
    ],
    records: { count: 1 },
    webhooks: { abandoned: 0, pending: 0, failing: 0, gone: 1, oldest_failure_at: null },
  });
  expect(ofLimited.webhooks.endpoints).toMatchObject([
    { tenant: 'CA', disabled_reason: 'gone' },
    { tenant: 'CA', disabled_reason: 'operator', backlog: { count: 3 } },
  ]);
  expect(await read(writer.token)).toEqual({
    at: expect.any(String),
    troubles: [],
    work: [],
    records: null,
    retention: null,
    webhooks: null,
  });
});

test('tells the last run and verification that ended, and what is under way', async () => {
  const ended = (table: string, id: string, more: string, ago: number) =>
    service.db.pool.query(
      `insert into ${table} (id, state, requested_at, finished_at, ${more.split('=')[0]})
       values ($1, 'completed', now() - make_interval(hours => $2), now(), ${more.split('=')[1]})`,
      [id, ago],
    );
  await ended('retention_runs', 'run_1', 'failed_moves=2', 3);
  await ended('verifications', 'vrf_1', 'problem_count=4', 3);
  await ended('verifications', 'vrf_0', 'problem_count=0', 5);
  await service.db.query(sql`
    insert into retention_runs (id, state, total_count, moved_count) values ('run_2', 'running', 10, 4)`);
  await service.db.query(sql`
    insert into verifications (id, state, bytes_total, bytes_done) values ('vrf_2', 'queued', null, 0)`);
  const { troubles, retention, work } = await read();
  expect(retention).toMatchObject({
    run: { id: 'run_1', ok: false, failed_moves: 2 },
    verification: { id: 'vrf_1', ok: false, problem_count: 4 },
  });
  expect(troubles[0]).toMatchObject({ kind: 'verification_differs', count: 4, id: 'vrf_1' });
  expect(troubles.at(-1)).toMatchObject({ kind: 'run_failed', count: 2, id: 'run_1' });
  expect(work).toEqual([
    { kind: 'run', id: 'run_2', state: 'running', tenant: null, done: 4, total: 10 },
    { kind: 'verification', id: 'vrf_2', state: 'queued', tenant: null, done: 0, total: null },
  ]);
});

test('tells of an endpoint that is full, a late schedule, a verification that failed, and an audit log that was changed', async () => {
  const { id } = await seedEndpoint(service.db, { tenant: 'TX' });
  await service.db.query(sql`
    update webhook_endpoints set held_back_from = now() where id = ${id}`);
  await service.db.query(sql`
    insert into export_schedules (tenant, id, name, cron, format, request, target, due_at, created_by, token_id)
    values ('TX', 'sch_1', 'late', '0 2 * * *', 'csv', '{"tenant":"TX"}', '/nowhere',
      now() - interval '1 hour', 'test', 'tok_1')`);
  await service.db.query(sql`
    insert into verifications (id, state, finished_at, error) values ('vrf_3', 'failed', now(), 'no answer')`);
  const moveSeal = (by: number) =>
    service.db.query(sql`update audit_seals set since = since + ${by} returning 1`);
  await expect.poll(() => moveSeal(1)).toHaveLength(1);
  const kinds = async () => (await read()).troubles.map(({ kind }: { kind: string }) => kind);
  const all = ['audit_unsealed', 'endpoints_full', 'schedules_behind', 'verification_failed'];
  await expect
    .poll(async () => (await kinds()).filter((kind: string) => all.includes(kind)).sort())
    .toEqual(all);
  await moveSeal(-1);
  await service.db.query(sql`delete from export_schedules`);
});

test('tells of a store that cannot be used, until it can', async () => {
  const store = join(service.dataDir, 'cold');
  const find = () =>
    expect.poll(async () => {
      await service.call('GET', '/retention/store');
      return (await read()).troubles.map(({ kind }: { kind: string }) => kind);
    });
  await mkdir(store, { recursive: true });
  await rename(store, `${store}-away`);
  await writeFile(store, 'in the way');
  await find().toContain('store_unusable');
  await rm(store);
  await rename(`${store}-away`, store);
  await find().not.toContain('store_unusable');
});

test('finds endpoints that fail along an index that has only these', async () => {
  const plan = await service.db.transaction(async (connection) => {
    await connection.client.query('set local enable_seqscan = off');
    return connection.query(sql`
      explain select id from webhook_endpoints where deleted_at is null
        and (paused_until is not null or failures_in_row > 0 or disabled_reason = 'gone')`);
  });
  expect(JSON.stringify(plan)).toContain('webhook_endpoints_trouble_idx');
  const held = await service.db.transaction(async (connection) => {
    await connection.client.query('set local enable_seqscan = off');
    return connection.query(sql`
      explain select id from webhook_endpoints
      where deleted_at is null and disabled_reason = 'operator'`);
  });
  expect(JSON.stringify(held)).toContain('webhook_endpoints_held_idx');
});

test('tells what became of the last bulk job: a retry, or a replay of a range, and never of one incident', async () => {
  const endpoint = await seedEndpoint(service.db, { tenant: 'TX' });
  const lastFor = async (tenants?: string[]) => {
    const { token } = await service.makeToken({ scopes: ['admin'], ...(tenants && { tenants }) });
    return (await read(token)).webhooks.last_job;
  };
  await makeBulkJob(service.db, 'rty_1');
  expect(await lastFor()).toMatchObject({ id: 'rty_1', action: 'retry' });
  const { json } = await service.call('POST', '/incidents', {
    body: { tenant: 'TX', type: 'incident.created', data: {} },
  });
  const replay = async (body: object) =>
    (await service.call('POST', `/webhook/endpoints/${endpoint.id}/replay`, { body })).json.id;
  const id = await replay({ since: '2001-01-01T00:00:00Z', only: 'delivered' });
  await replay({ incident_id: json.id, only: 'delivered' });
  expect(await lastFor(['TX'])).toMatchObject({ id, action: 'replay', rows_done: 0 });
  expect(await lastFor(['CA'])).toBeNull();
});
