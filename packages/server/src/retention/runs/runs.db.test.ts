import sql from 'sql-template-tag';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { useTestService } from '../../../test/service.ts';
import { clearRetention, dayOfAge, seedDays } from '../policies/testing/seed.ts';

const service = useTestService({ SVC_ROLES: 'api', SVC_RATE_LIMIT: '0' });
let limited: string;
beforeAll(async () => {
  ({ token: limited } = await service.makeToken({
    name: 'limited',
    preset: 'admin',
    tenants: ['T1', 'T2'],
  }));
});
beforeEach(() => clearRetention(service.db));

const start = (body: unknown, token?: string | null) =>
  service.call('POST', '/retention/run', { body, ...(token === undefined ? {} : { token }) });

test.each([
  [{ tenant: 5 }, '/tenant'],
  [{ tenant: '' }, '/tenant'],
  [{ before: '2026-02-30' }, '/before'],
  [{ before: '03-01' }, '/before'],
  [{ tenants: ['T1'] }, '/tenants'],
])('refuses the run %j', async (body, path) => {
  const answer = await start(body);
  expect(answer.status).toBe(400);
  expect(answer.json.errors).toContainEqual(expect.objectContaining({ path }));
});

test.each([
  '/retention/plan?before=2026-02-30',
  '/retention/plan?tenants=T1',
  '/retention/plan?limit=0',
  '/retention/plan?cursor=abc',
  '/retention/runs?state=queued',
  '/retention/runs?cursor=abc',
])('refuses %s', async (path) => {
  expect((await service.call('GET', path)).status).toBe(400);
});

test('an unknown run and one that reaches beyond the caller answer 404', async () => {
  const all = (await start({})).json.id;
  const foreign = (await start({ tenant: 'T9' })).json.id;
  for (const id of ['run_x', '%00', all, foreign]) {
    const answer = await service.call('GET', `/retention/runs/${id}`, { token: limited });
    expect(answer.json.status, id).toBe(404);
  }
  expect((await service.call('GET', '/retention/runs/run_x')).json.code).toBe(
    'retention_run_not_found',
  );
});

test('a run is queued, put on record and shown', async () => {
  const answer = await start({ tenant: 'T1', before: '2026-03-01', delete_versioned: true });
  expect(answer.status).toBe(202);
  expect(answer.json).toMatchObject({
    state: 'queued',
    tenant: 'T1',
    before: '2026-03-01',
    delete_versioned: true,
    kept_count: 0,
    requested_by: 'first admin',
    started_at: null,
    total_count: null,
    moved_count: 0,
    error: null,
  });
  expect(answer.json).not.toHaveProperty('tenants');
  expect((await service.call('GET', `/retention/runs/${answer.json.id}`)).json).toEqual(
    answer.json,
  );
  expect(
    await service.db.query(sql`select action, target, tenant, after from audit_log`),
  ).toMatchObject([
    {
      action: 'retention.run',
      target: answer.json.id,
      tenant: 'T1',
      after: { tenant: 'T1', before: '2026-03-01', delete_versioned: true },
    },
  ]);
});

test('a run needs no body at all', async () => {
  const answer = await start(undefined);
  expect(answer.status).toBe(202);
  expect(answer.json).toMatchObject({ tenant: null, before: null, delete_versioned: false });
});

test('a run of a limited token keeps to its tenants', async () => {
  await start({}, limited);
  expect(await service.db.query(sql`select tenant, tenants from retention_runs`)).toEqual([
    { tenant: null, tenants: ['T1', 'T2'] },
  ]);
});

test('runs are listed latest first, whatever the page size, and only those within reach', async () => {
  const ids: string[] = [];
  for (const body of [{}, { tenant: 'T1' }, { tenant: 'T9' }])
    ids.unshift((await start(body)).json.id);
  ids.unshift((await start({}, limited)).json.id);
  for (const limit of [1, 3, 4]) {
    expect((await service.all(`/retention/runs?limit=${limit}`)).map((run) => run.id)).toEqual(ids);
  }
  const seen = await service.all('/retention/runs?limit=1', limited);
  expect(seen.map((run) => run.id)).toEqual([ids[0], ids[2]]);
});

test('the plan tells rows and totals by tenant, and cuts at a date', async () => {
  await seedDays(service.db, [
    { tenant: 'T1', age: 10, count: 4 },
    { tenant: 'T1', age: 5, count: 3 },
    { tenant: 'T9', age: 5, count: 2 },
  ]);
  const first_day = await dayOfAge(service.db, 10);
  const last_day = await dayOfAge(service.db, 5);
  // This looks at the store now; the plan tells what was last seen of it.
  await service.call('GET', '/retention/store');
  const plan = await service.call('GET', '/retention/plan');
  const kept = { versioned_count: 0, versioned_bytes: 0, versions: [] };
  expect(plan.json).toEqual({
    hot_space: { size_bytes: expect.any(Number), dead_bytes: 0, snapshot_since: null },
    store: { state: 'own', problem: null },
    data: [
      {
        tenant: 'T1',
        kind: 'move',
        first_day,
        last_day,
        count: 7,
        bytes: 700,
        held: false,
        ...kept,
      },
      {
        tenant: 'T9',
        kind: 'move',
        first_day: last_day,
        last_day,
        count: 2,
        bytes: 200,
        held: false,
        ...kept,
      },
    ],
    totals: {
      move: { tenants: 2, count: 9, bytes: 900 },
      delete: { tenants: 0, count: 0, bytes: 0 },
      held: { tenants: 0, count: 0, bytes: 0 },
      versioned: { tenants: 0, count: 0, bytes: 0 },
    },
    next_cursor: null,
  });
  const cut = await service.call('GET', `/retention/plan?tenant=T1&before=${last_day}`);
  expect(cut.json.totals.move).toEqual({ tenants: 1, count: 4, bytes: 400 });
  const foreign = await service.call('GET', '/retention/plan?tenant=T9', { token: limited });
  expect(foreign.json).toMatchObject({ data: [], totals: { move: { tenants: 0, count: 0 } } });
  const own = await service.call('GET', '/retention/plan', { token: limited });
  expect(own.json.totals.move).toEqual({ tenants: 1, count: 7, bytes: 700 });
});
