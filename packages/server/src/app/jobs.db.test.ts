import sql from 'sql-template-tag';
import { beforeAll, describe, expect, test } from 'vitest';
import { useTestService } from '../../test/service.ts';
import type { ListedJob } from '../platform/jobs/contract.ts';
import { numberedRecords, storeRecords } from '../records/ingest/testing/post-records.ts';
import { seedDeliveries } from '../webhooks/dead-letters/testing/seed.ts';

// Without the roles that do the work, so that jobs stay as they were asked for.
const service = useTestService({ SVC_ROLES: 'api', SVC_ALLOW_TARGETS: '127.0.0.0/8' });

/** One job of each kind for each tenant, by kind. */
const made: Record<string, Record<string, string>> = {};
let reader: string;
let analyst: string;
let ownerOfU: string;

beforeAll(async () => {
  const tokenOf = async (request: Record<string, unknown>) =>
    (await service.makeToken(request)).token;
  reader = await tokenOf({ scopes: ['enrichment:read'] });
  analyst = await tokenOf({ scopes: ['analytics:read'] });
  ownerOfU = await tokenOf({ preset: 'admin', tenants: ['U'] });
  for (const tenant of ['T', 'U']) made[tenant] = await makeJobs(tenant);
});

async function makeJobs(tenant: string): Promise<Record<string, string>> {
  const token = tenant === 'U' ? ownerOfU : service.adminToken;
  await storeRecords(service, numberedRecords(tenant, 3));
  const idOf = async (path: string, body: object, headers: Record<string, string> = {}) => {
    const answer = await service.call('POST', path, { body, headers, token });
    expect(answer.status, answer.text).toBeLessThan(300);
    return answer.json.id as string;
  };
  /** A replay of nothing would end by itself. */
  const pausedReplay = async (endpoint: string) => {
    const since = { since: new Date(Date.now() - 3_600_000).toISOString() };
    const id = await idOf(`/webhook/endpoints/${endpoint}/replay`, since);
    const body = { state: 'paused' };
    expect((await service.call('PATCH', `/webhook/replays/${id}`, { body, token })).status).toBe(
      200,
    );
    return id;
  };
  const endpoint = await idOf('/webhook/endpoints', { tenant, url: 'http://127.0.0.1:9/' });
  await seedDeliveries(service.db, { id: endpoint, tenant }, 100);
  await idOf('/enrichment/tags', { tenant, dataset: 'training' });
  return {
    export: await idOf('/exports/csv', { tenant }, { prefer: 'respond-async' }),
    run: await idOf('/retention/run', { tenant }),
    verification: await idOf('/retention/verify', { tenant }),
    // It has rows for a hundred seconds.
    retry: await idOf('/webhook/dlq/retry', { tenant, endpoint_id: endpoint, rate: 1 }),
    replay: await pausedReplay(endpoint),
    version: await idOf('/enrichment/dataset-versions', { tenant, dataset: 'training', name: 'q' }),
    count: await idOf('/enrichment/records/count', { tenant, where: 'n = 1' }),
  };
}

const listed = async (query = '', token: string = service.adminToken): Promise<ListedJob[]> => {
  const answer = await service.call('GET', `/jobs?${query}`, { token });
  expect(answer.status, answer.text).toBe(200);
  return answer.json.data;
};
const idsOf = (jobs: readonly ListedJob[]) => jobs.map(({ id }) => id);
async function pagedIds(query: string): Promise<string[]> {
  const paged: string[] = [];
  for (let cursor = ''; ; ) {
    const { json } = await service.call('GET', `/jobs?${query}${cursor}`);
    paged.push(...idsOf(json.data));
    if (json.next_cursor === null) return paged;
    cursor = `&cursor=${json.next_cursor}`;
  }
}
/** The jobs of these kinds, the latest first, as they were made. */
const madeOf = (tenant: string, kinds: readonly string[]) =>
  kinds.map((kind) => made[tenant]?.[kind] ?? '').toReversed();
const kinds = ['export', 'run', 'verification', 'retry', 'replay', 'version', 'count'];
const cancel = (id: string | undefined, token: string = service.adminToken) =>
  service.call('POST', `/jobs/${id}/cancel`, { token });

describe('refuses', () => {
  test('to cancel what another token asked for, and what the caller may only read', async () => {
    const answer = await cancel(made.T?.export, analyst);
    expect(answer).toMatchObject({ status: 403, json: { code: 'scope_missing' } });
  });

  test.each([
    ['that does not exist', () => 'exp_x', () => service.adminToken],
    ['whose id is none', () => '%00', () => service.adminToken],
    ['of another tenant', () => made.T?.run, () => ownerOfU],
    ['of a kind that the token may not read', () => made.T?.retry, () => reader],
  ])('a job %s', async (_name, id, token) => {
    const missing = { status: 404, json: { code: 'job_not_found' } };
    expect(await service.call('GET', `/jobs/${id()}`, { token: token() })).toMatchObject(missing);
    expect(await cancel(id(), token())).toMatchObject(missing);
  });

  test.each(['kind=move', 'state=counting', 'tenants=T', 'limit=0'])('?%s', async (query) => {
    const answer = await service.call('GET', `/jobs?${query}`);
    expect(answer).toMatchObject({ status: 400, json: { code: 'request_invalid' } });
  });

  test('a cursor of other filters', async () => {
    const { json } = await service.call('GET', '/jobs?limit=1');
    const answer = await service.call('GET', `/jobs?kind=run&cursor=${json.next_cursor}`);
    expect(answer).toMatchObject({ status: 400, json: { code: 'cursor_invalid' } });
  });

  test.each(['run', 'verification', 'version'])('to cancel a %s', async (kind) => {
    const answer = await cancel(made.T?.[kind]);
    expect(answer).toMatchObject({ status: 409, json: { code: 'job_not_cancellable' } });
  });
});

describe('lists', () => {
  test('the jobs of all kinds, the latest first, page by page', async () => {
    const all = [...madeOf('U', kinds), ...madeOf('T', kinds)];
    expect(idsOf(await listed())).toEqual(all);
    expect(await pagedIds('limit=3')).toEqual(all);
  });

  test('jobs that were asked for in one moment on one page each', async () => {
    await service.db.query(sql`
      insert into verifications (id, state, requested_at, tenant)
      select 'vrf_' || n, 'completed', '2001-01-01', 'same' from generate_series(1, 3) n`);
    await service.db.query(sql`
      insert into retention_runs (id, state, requested_at, tenant)
      select 'run_' || n, 'completed', '2001-01-01', 'same' from generate_series(1, 3) n`);
    expect(await pagedIds('tenant=same&limit=2')).toEqual([
      'vrf_3',
      'vrf_2',
      'vrf_1',
      'run_3',
      'run_2',
      'run_1',
    ]);
    await service.db.query(sql`delete from verifications where tenant = 'same'`);
    await service.db.query(sql`delete from retention_runs where tenant = 'same'`);
  });

  test('only the kinds that the token may read, of its tenants', async () => {
    const read = ['run', 'verification', 'version', 'count'];
    expect(idsOf(await listed('', reader))).toEqual([...madeOf('U', read), ...madeOf('T', read)]);
    expect(idsOf(await listed('tenant=T', analyst))).toEqual(madeOf('T', ['export']));
    expect(idsOf(await listed('', ownerOfU))).toEqual(madeOf('U', kinds));
    expect(await listed('tenant=T', ownerOfU)).toEqual([]);
    expect(await listed('kind=retry', reader)).toEqual([]);
  });

  test.each([
    ['kind=run', ['run']],
    ['state=queued', ['export', 'run', 'verification', 'count']],
    ['state=running', ['retry', 'version']],
    ['state=running&kind=version', ['version']],
    ['state=failed', []],
  ])('of ?%s', async (query, found) => {
    expect(idsOf(await listed(`tenant=T&${query}`))).toEqual(madeOf('T', found));
  });
});

test.each([
  ['export', 'Exports records of T to T.csv.', { unit: 'records' }, '/exports/'],
  [
    'run',
    'Moves and deletes old days of T: 0 records moved, 0 records deleted.',
    { done: 0, total: null, unit: 'records' },
    '/retention/runs/',
  ],
  [
    'verification',
    'Checks the cold data of T: no problems so far.',
    { done: 0, total: null, unit: 'bytes' },
    '/retention/verify/',
  ],
  [
    'retry',
    // What has become of its rows is told once somebody has looked.
    /^Re-arms the failed deliveries to ep_\w+\.( \d+ re-armed.*\.)?$/,
    { total: 100 },
    '/webhook/dlq/retries/',
  ],
  [
    'replay',
    /^Sends ep_\w+ what it missed of what was reported from [-\d]+ [:\d]+ to .*\.$/,
    { done: 0, total: null, unit: 'deliveries' },
    '/webhook/replays/',
  ],
  [
    'version',
    'Counts 3 records of the version q of training of T.',
    null,
    '/enrichment/dataset-versions/',
  ],
  [
    'count',
    'Counts records of T: 0 records found.',
    { done: 0, total: 3, unit: 'records' },
    '/enrichment/records/counts/',
  ],
])('shows a job of the kind %s', async (kind, summary, progress, path) => {
  const id = made.T?.[kind];
  const { status, json } = await service.call('GET', `/jobs/${id}`);
  expect(status).toBe(200);
  expect(json).toMatchObject({
    id,
    kind,
    tenant: 'T',
    finished_at: null,
    progress,
    has_faults: false,
    error: null,
    href: `/api/v1${path}${id}`,
  });
  expect(json.summary).toMatch(summary);
  const own = await service.call('GET', json.href.replace('/api/v1', ''));
  expect(own).toMatchObject({ status: 200, json: { id } });
});

test('says why a job failed, for what it waits, and that it found faults', async () => {
  const told = async (id: string) => (await service.call('GET', `/jobs/${id}`)).json;
  await service.db.query(sql`
    insert into retention_runs (id, state, error, waiting_since, waiting_for, failed_moves, tenants)
    values ('run_f', 'failed', 'a day is damaged', null, null, 1, null),
      ('run_w', 'running', null, now(), 'the store is away', 0, '{T}')`);
  await service.db.query(sql`
    insert into verifications (id, state, problem_count) values ('vrf_p', 'completed', 2)`);
  expect(await told('run_f')).toMatchObject({
    state: 'failed',
    error: 'a day is damaged',
    tenant: null,
    has_faults: true,
    summary: expect.stringMatching(/ of all tenants: .*, 1 move failed\.$/),
  });
  expect(await told('run_w')).toMatchObject({
    state: 'waiting',
    error: 'the store is away',
    has_faults: false,
    summary: expect.stringContaining(' of the tenants of its token: '),
  });
  expect(await told('vrf_p')).toMatchObject({
    state: 'completed',
    error: null,
    has_faults: true,
    summary: expect.stringContaining(': 2 problems found.'),
  });
  await service.db.query(sql`delete from retention_runs where id in ('run_f', 'run_w')`);
  await service.db.query(sql`delete from verifications where id = 'vrf_p'`);
});

test.each([
  ['export', 'export.cancel'],
  ['count', 'count.cancel'],
  ['retry', 'retry_job.cancel'],
  ['replay', 'replay.cancel'],
])('cancels a job of the kind %s once', async (kind, action) => {
  const id = made.U?.[kind];
  const cancelled = { id, kind, state: 'cancelled', finished_at: expect.any(String) };
  expect(await cancel(id, ownerOfU)).toMatchObject({ status: 200, json: cancelled });
  expect(await cancel(id, ownerOfU)).toMatchObject({ status: 200, json: cancelled });
  const told = await service.db.query(sql`select action from audit_log where target = ${id ?? ''}`);
  expect(told.filter((entry) => entry.action === action)).toHaveLength(1);
});

test('does not remove the file of an export that is completed', async () => {
  const id = made.T?.export ?? '';
  await service.db.query(sql`
    update exports set state = 'completed', finished_at = now(), expires_at = now() + interval '1 day'
    where id = ${id}`);
  const answer = await cancel(id);
  expect(answer).toMatchObject({ status: 409, json: { code: 'job_finished' } });
  expect((await service.call('GET', `/exports/${id}`)).json).toMatchObject({ has_file: true });
});
