import { PassThrough } from 'node:stream';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { Policy } from './commands/policies.ts';
import type { Move } from './retention/moves.ts';
import type { PlanRow } from './retention/plan.ts';
import type { Run } from './retention/runs.ts';
import type { Verification } from './retention/verifications.ts';
import { json, pages, type Receiver, startReceiver } from './testing/receiver.ts';
import { run } from './testing/run.ts';

let api: Receiver;
beforeAll(async () => {
  api = await startReceiver();
});
afterEach(() => api.reset());
afterAll(() => api.close());

const row: PlanRow = {
  tenant: 'TX',
  kind: 'move',
  first_day: '2001-01-01',
  last_day: '2001-04-30',
  count: 512_991,
  bytes: 246_000_000,
  held: false,
  versioned_count: 0,
  versioned_bytes: 0,
  versions: [],
};
const gone: PlanRow = { ...row, tenant: 'CA', kind: 'delete', count: 1204, bytes: 611_000 };
const none = { tenants: 0, count: 0, bytes: 0 };
const moveTotals = {
  move: { ...none, tenants: 1, count: 512_991, bytes: 246_000_000 },
  delete: none,
  held: none,
  versioned: none,
};
const deleteTotals = { ...moveTotals, delete: { tenants: 1, count: 1204, bytes: 611_000 } };
const triple = { count: 512_991, bytes: 246_000_111, digest: '9f3c00000000abe1' };
const move: Move = {
  id: 'mv_1',
  tenant: 'TX',
  run_id: 'run_1',
  kind: 'move',
  state: 'switched',
  first_day: '2001-01-01',
  last_day: '2001-01-31',
  source: triple,
  object: triple,
  gone: { count: 0, bytes: 0, digest: '0000000000000000' },
  stored_bytes: 9_900_000,
  segments_in: 0,
  segments_out: 1,
  planned_at: '2026-03-05T10:00:00.000000Z',
  copied_at: '2026-03-05T10:00:01.000000Z',
  verified_at: '2026-03-05T10:00:02.000000Z',
  switched_at: '2026-03-05T10:00:03.500000Z',
  removed_at: null,
  failed_at: null,
  failed_in: null,
  error_code: null,
  error: null,
};
const failedMove: Move = {
  ...move,
  id: 'mv_2',
  state: 'failed',
  object: { ...triple, digest: '0000000000000001' },
  switched_at: null,
  failed_at: '2026-03-05T10:00:02.000000Z',
  failed_in: 'copied',
  error_code: 'segment_damaged',
  error: 'the object is not what was written',
};
const started: Run = {
  id: 'run_1',
  state: 'queued',
  tenant: null,
  before: null,
  delete_versioned: false,
  requested_by: 'ops',
  requested_at: '2026-03-05T10:00:00.000000Z',
  started_at: null,
  finished_at: null,
  total_count: null,
  moved_count: 0,
  moved_bytes: 0,
  deleted_count: 0,
  kept_count: 0,
  failed_moves: 0,
  busy_tenants: 0,
  freed_bytes: 0,
  error: null,
  waiting_since: null,
  waiting_for: null,
};
const ended: Run = {
  ...started,
  state: 'completed',
  started_at: '2026-03-05T10:00:00.000000Z',
  finished_at: '2026-03-05T10:00:04.000000Z',
  total_count: 512_991,
  moved_count: 512_991,
  moved_bytes: 246_000_000,
};
const verification: Verification = {
  id: 'vrf_1',
  state: 'completed',
  ok: true,
  tenant: null,
  requested_by: 'ops',
  requested_at: '2026-03-05T10:00:00.000000Z',
  started_at: '2026-03-05T10:00:00.000000Z',
  finished_at: '2026-03-05T10:00:03.200000Z',
  since: null,
  sample_percent: null,
  segments_total: 12,
  segments_done: 12,
  bytes_total: 1_200_000_000,
  bytes_done: 1_200_000_000,
  records_done: 3_000_000,
  problem_count: 0,
  problems: [],
  error: null,
  waiting_since: null,
  waiting_for: null,
};
const damaged: Verification = {
  ...verification,
  ok: false,
  problem_count: 1,
  problems: [
    {
      kind: 'object_damaged',
      tenant: 'TX',
      object_key: 'tenant=TX/2001-01-01_2001-01-31_seg_1.parquet',
      store: null,
      first_day: '2001-01-01',
      last_day: '2001-01-31',
      message: 'The object is not what was written. Put it back from a copy.',
    },
  ],
};
const policy: Policy = {
  tenant: 'TX',
  hot_days: 3,
  delete_days: null,
  hold: false,
  from_default: true,
  updated_at: '2026-03-05T10:00:00.000000Z',
  updated_by: null,
};

type Options = { isTerminal?: boolean; typed?: string };
const cli = (words: string, { isTerminal, typed }: Options = {}) => {
  const stdin = new PassThrough();
  if (typed !== undefined) stdin.write(typed);
  return run(words.split(' '), {
    env: { ...api.env, NO_COLOR: '1' },
    isTerminal: isTerminal ?? typed !== undefined,
    stdin,
  });
};
const sent = (method: string, path: string) =>
  api.requests
    .filter((request) => request.method === method && request.path === path)
    .map((request) => JSON.parse(String(request.body)));
const offerPlan = (totals: object, ...rows: PlanRow[]) =>
  api.on('GET /retention/plan', json({ data: rows, totals, next_cursor: null }));
/** A run, and how it goes on. */
const offerRun = (...states: Run[]) => {
  api.on('POST /retention/run', json(started, 202));
  let polls = 0;
  api.on('GET /retention/runs/run_1', (request, response) => {
    polls += 1;
    json(states[Math.min(polls, states.length) - 1] ?? started)(request, response);
  });
};

test.each([
  ['retention plan --before May', 'is not a date'],
  ['retention run --before 2001-02-30 --yes', 'is not a date'],
  ['retention moves --state done', 'Allowed choices are planned, copied'],
  ['retention moves --json nothing', 'there is no field'],
  ['retention verify vrf_1 --tenant TX', 'either an id or --tenant'],
  ['retention verify vrf_1 --sample 5', 'either an id or --tenant'],
  ['retention verify --since May', 'is not a date'],
  ['retention verify --sample 0', 'is not a percentage'],
  ['retention verify --sample 101', 'is not a percentage'],
  ['retention policy set TX', 'say what to set'],
  ['retention policy set TX --delete-days 0', 'nor never'],
  ['records erase --event-id e1 --yes', '--tenant is missing'],
  ['records erase --tenant TX --yes', 'say what to erase'],
  [
    'records erase --tenant TX --event-id e1 --from 2001-01-01 --to 2001-01-02',
    'say what to erase',
  ],
  ['records erase --tenant TX --from 2001-01-01', 'need each other'],
  ['records erase --tenant TX --event-id e1', 'Erase without asking: --yes'],
])('%s is a usage error, before anything is asked', async (words, message) => {
  const { code, stdout, stderr } = await cli(words);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain(message);
  expect(api.requests).toEqual([]);
});

test('plan prints rows in a pipe, and its totals on a terminal', async () => {
  offerPlan(deleteTotals, gone, { ...row, held: true });
  expect((await cli('retention plan --tenant TX --before 2001-05-01')).stdout).toBe(
    'CA\tdelete\t2001-01-01/2001-04-30\t1204\t611000\t\t0\nTX\tmove\t2001-01-01/2001-04-30\t512991\t246000000\theld\t0\n',
  );
  expect(api.requests[0]?.query).toMatchObject({ tenant: 'TX', before: '2001-05-01' });
  const shown = await cli('retention plan', { isTerminal: true });
  expect(shown.stdout).toContain(
    'TX      move    2001-01-01 … 2001-04-30  512,991  246 MB  legal hold  –',
  );
  expect(shown.stderr).toContain(
    '512,991 records (246 MB) of 1 tenant would move to the cold tier · 1,204 records (611 kB) of 1 tenant would be DELETED',
  );
});

test('plan says on a terminal how much hot space is dead, and what holds it', async () => {
  const space = { size_bytes: 1_100_000_000, dead_bytes: 254_000_000, snapshot_since: null };
  const answer = { data: [], totals: moveTotals, next_cursor: null };
  api.on('GET /retention/plan', json({ ...answer, hot_space: space }));
  expect((await cli('retention plan', { isTerminal: true })).stderr).toContain(
    '254 MB of 1.1 GB of hot space is dead: the end of a run gives it back\n',
  );
  const held = { ...space, snapshot_since: '2026-03-05T10:00:00.000000Z' };
  api.on('GET /retention/plan', json({ ...answer, hot_space: held }));
  expect((await cli('retention plan', { isTerminal: true })).stderr).toContain(
    ' · a snapshot open since 2026-03-05 10:00:00 UTC keeps what has died since then',
  );
});

test('plan walks all pages, and says when there is nothing to do', async () => {
  const answers = [
    { data: [row], totals: moveTotals, next_cursor: 'c1' },
    { data: [gone], totals: moveTotals, next_cursor: null },
  ];
  api.on('GET /retention/plan', (request, response) =>
    json(answers[request.query.cursor === 'c1' ? 1 : 0] ?? {})(request, response),
  );
  const all = await cli('retention plan --json tenant,count');
  expect(JSON.parse(all.stdout)).toEqual([
    { tenant: 'TX', count: 512_991 },
    { tenant: 'CA', count: 1204 },
  ]);
  offerPlan({ move: none, delete: none, held: none, versioned: none });
  expect((await cli('retention plan', { isTerminal: true })).stderr).toContain(
    'Nothing to move or delete.',
  );
});

test('run tells the plan, waits, and ends with what moved, how fast, and what came back', async () => {
  offerPlan(moveTotals, row);
  const freed = { ...ended, freed_bytes: 254_000_000 };
  offerRun({ ...started, state: 'running', total_count: 512_991 }, freed);
  const { code, stdout, stderr } = await cli('retention run --tenant TX');
  expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
  expect(stderr).toBe(
    '512,991 records (246 MB) of 1 tenant would move to the cold tier\n' +
      '✓ 512,991 records (246 MB) moved to the cold tier, 128,248 records/s · 254 MB of hot space given back · 4.0 s\n',
  );
  expect(sent('POST', '/retention/run')).toEqual([{ tenant: 'TX' }]);
  expect(JSON.parse((await cli('retention run --json')).stdout)).toEqual(freed);
});

test('run asks only where something would be deleted, and not without a terminal', async () => {
  offerPlan(deleteTotals, row, gone);
  offerRun(ended);
  const piped = await cli('retention run');
  expect(piped.code).toBe(2);
  expect(piped.stderr).toContain('Delete without asking: --yes');
  const refused = await cli('retention run', { typed: 'n\n' });
  expect(refused.code).toBe(130);
  expect(refused.stderr).toContain('Delete 1,204 records (611 kB) of 1 tenant for good? [y/N]');
  expect(sent('POST', '/retention/run')).toEqual([]);
  expect((await cli('retention run', { typed: 'y\n' })).code).toBe(0);
  expect((await cli('retention run --yes')).code).toBe(0);
});

test('plan and run say what dataset versions keep; run deletes it only when told', async () => {
  const versioned = { tenants: 1, count: 300, bytes: 144_000 };
  const kept = { ...gone, versioned_count: 300, versioned_bytes: 144_000, versions: ['q1', 'q2'] };
  offerPlan({ ...deleteTotals, versioned }, kept);
  offerRun({ ...ended, kept_count: 300 });
  const plan = await cli('retention plan', { isTerminal: true });
  expect(plan.stdout).toMatch(/–\s+300 of q1, q2\n$/);
  expect(plan.stderr).toContain('300 records (144 kB) of 1 tenant kept by dataset versions');
  expect((await cli('retention run --yes')).stderr).toContain(
    '300 records left alone, because dataset versions have them',
  );
  const refused = await cli('retention run --delete-versioned', { typed: 'n\n' });
  expect(refused.code).toBe(130);
  expect(refused.stderr).toContain(
    'Delete 1,204 records (611 kB) of 1 tenant, and 300 records (144 kB) of 1 tenant that DATASET VERSIONS keep for good? [y/N]',
  );
  expect(sent('POST', '/retention/run')).toEqual([{}]);
  await cli('retention run --delete-versioned --yes');
  expect(sent('POST', '/retention/run')[1]).toEqual({ delete_versioned: true });
});

test('run asks about versions also when nothing else is due', async () => {
  offerPlan({ move: none, delete: none, held: none, versioned: { ...none, count: 1 } });
  offerRun(ended);
  expect((await cli('retention run')).code).toBe(0);
  expect((await cli('retention run --delete-versioned')).code).toBe(2);
});

test('run --no-wait prints the id; one that stays queued says what it waits for', async () => {
  offerPlan(moveTotals, row);
  offerRun(...Array.from({ length: 20 }, () => started), ended);
  expect((await cli('retention run --no-wait')).stdout).toBe('run_1\n');
  const { stderr } = await cli('retention run');
  expect(stderr.match(/a process with the role retention/g)).toHaveLength(1);
});

test('a run with a move that failed ends with 1, and tells which and why', async () => {
  offerPlan(moveTotals, row);
  offerRun({ ...ended, failed_moves: 1, moved_count: 0, busy_tenants: 2 });
  api.on('GET /retention/moves', json({ data: [failedMove], next_cursor: null }));
  const { code, stderr } = await cli('retention run');
  expect(code).toBe(1);
  expect(stderr).toContain('2 tenants passed over, because another move had them');
  expect(stderr).toContain('1 move failed; what was to be moved is where it was (move_failed)');
  expect(stderr).toContain(
    '✗ mv_2  TX  2001-01-01 … 2001-01-31  segment_damaged: the object is not what was written',
  );
  offerRun({ ...ended, state: 'failed', error: 'database_full: no space left' });
  expect((await cli('retention run')).stderr).toContain('database_full: no space left');
});

test('moves lists the journal with a mark where source and objects are equal', async () => {
  api.on('GET /retention/moves', pages([JSON.stringify(move), JSON.stringify(failedMove)]));
  const piped = await cli('retention moves --tenant TX --state failed --kind move --run run_1');
  expect(piped.stdout).toBe(
    'mv_1\tTX\tmove\t2001-01-01/2001-01-31\tswitched\t512991\tequal\t3500\t\n' +
      'mv_2\tTX\tmove\t2001-01-01/2001-01-31\tfailed\t512991\tdiffers\t2000\tsegment_damaged: the object is not what was written\n',
  );
  expect(api.requests[0]?.query).toMatchObject({
    tenant: 'TX',
    state: 'failed',
    kind: 'move',
    run_id: 'run_1',
  });
  const shown = await cli('retention moves', { isTerminal: true });
  expect(shown.stdout).toContain('switched  512,991  ✓       3.5 s  –');
  expect(shown.stdout).toContain('failed    512,991  ✗       2.0 s  segment_');
});

test('move shows both triples', async () => {
  api.on('GET /retention/moves/mv_1', json(move));
  api.on('GET /retention/moves/mv_2', json(failedMove));
  const { stdout } = await cli('retention move mv_1', { isTerminal: true });
  expect(stdout).toContain('objects   1 object written, 9.9 MB; 0 replaced');
  expect(stdout).toContain('SOURCE   512,991  246,000,111  9f3c00000000abe1\n');
  expect(stdout).toContain('OBJECTS  512,991  246,000,111  9f3c00000000abe1  ✓ equal\n');
  const failed = await cli('retention move mv_2', { isTerminal: true });
  expect(failed.stdout).toContain('state     failed, when copied');
  expect(failed.stdout).toContain('✗ differs');
  expect(JSON.parse((await cli('retention move mv_1 --json source')).stdout)).toEqual({
    source: triple,
  });
});

test('verify that finds nothing ends with 0, and its report is JSON', async () => {
  api.on('POST /retention/verify', json({ ...verification, state: 'queued', ok: null }, 202));
  api.on('GET /retention/verify/vrf_1', json(verification));
  const { code, stdout, stderr } = await cli('retention verify --tenant TX');
  expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
  expect(stderr).toBe(
    '✓ 12 objects (1.2 GB) read back, 3,000,000 records: objects, catalogue and counters agree · 3.2 s\n',
  );
  expect(sent('POST', '/retention/verify')).toEqual([{ tenant: 'TX' }]);
  expect(JSON.parse((await cli('retention verify --json')).stdout)).toEqual(verification);
  expect((await cli('retention verify --no-wait')).stdout).toBe('vrf_1\n');
  expect((await cli('retention verify vrf_1 --json ok')).stdout).toBe('{"ok":true}\n');
});

test('verify that finds differences prints each and ends with 1', async () => {
  api.on('GET /retention/verify/vrf_1', json(damaged));
  const piped = await cli('retention verify vrf_1');
  expect(piped.code).toBe(1);
  expect(piped.stdout).toBe(
    'object_damaged\tTX\ttenant=TX/2001-01-01_2001-01-31_seg_1.parquet\t\t2001-01-01\t2001-01-31\tThe object is not what was written. Put it back from a copy.\n',
  );
  expect(piped.stderr).toContain('1 difference found (verify_failed)');
  const shown = await cli('retention verify vrf_1', { isTerminal: true });
  expect(shown.stdout).toBe(
    '✗ object_damaged  tenant=TX/2001-01-01_2001-01-31_seg_1.parquet  2001-01-01 … 2001-01-31\n' +
      '  The object is not what was written. Put it back from a copy.\n',
  );
  const asJson = await cli('retention verify vrf_1 --json');
  expect(asJson.code).toBe(1);
  expect(JSON.parse(asJson.stdout)).toEqual(damaged);
  expect(JSON.parse(asJson.stderr)).toMatchObject({ code: 'verify_failed' });
});

test('a verification that could not be done, and one that is left alone, say so', async () => {
  const failed = {
    ...verification,
    state: 'failed',
    ok: null,
    error: 'cold_tier_unavailable: away',
  };
  api.on('GET /retention/verify/vrf_1', json(failed));
  const { code, stderr } = await cli('retention verify vrf_1');
  expect(code).toBe(1);
  expect(stderr).toContain('could not be done: cold_tier_unavailable: away');
  api.on('GET /retention/verify/vrf_1', json({ ...verification, state: 'running', ok: null }));
  const running = await cli('retention verify vrf_1 --no-wait');
  expect(running).toMatchObject({ code: 0, stderr: 'vrf_1 is running.\n' });
});

test('policies are listed and shown', async () => {
  const standard = { ...policy, tenant: '*', delete_days: 365 };
  api.on('GET /retention/policies', pages([JSON.stringify(standard)]));
  expect((await cli('retention policy ls')).stdout).toBe(
    '*\t3\t365\t\t2026-03-05T10:00:00.000000Z\t\n',
  );
  api.on('GET /retention/policies/TX', json(policy));
  const { stdout } = await cli('retention policy show TX', { isTerminal: true });
  expect(stdout).toContain('policy         the default (*)');
  expect(stdout).toContain('deleted after  never');
});

test('policy set keeps what is not given, and asks nothing where nothing more goes', async () => {
  api.on('GET /retention/policies/TX', json({ ...policy, delete_days: 365, hold: true }));
  api.on('PUT /retention/policies/TX', json({ ...policy, from_default: false }));
  expect((await cli('retention policy set TX --hot-days 7')).code).toBe(0);
  expect((await cli('retention policy set TX --delete-days never --no-hold')).code).toBe(0);
  expect(sent('PUT', '/retention/policies/TX')).toEqual([
    { hot_days: 7, delete_days: 365, hold: true },
    { hot_days: 3, delete_days: null, hold: false },
  ]);
});

test('policy set that shortens a life tells what would go, and asks', async () => {
  api.on('GET /retention/policies/TX', json(policy));
  api.on('PUT /retention/policies/TX', json(policy));
  api.on('GET /exports/estimate', json({ rows: 1204, bytes: 611_000 }));
  const piped = await cli('retention policy set TX --delete-days 30');
  expect(piped.code).toBe(2);
  expect(piped.stderr).toContain(
    'The next run would DELETE 1,204 records (611 kB) of 1 tenant, up to 2026-02-02.',
  );
  expect(api.requests.at(-1)?.query).toEqual({
    tenant: 'TX',
    from: '1970-01-01',
    to: '2026-02-02',
  });
  expect((await cli('retention policy set TX --delete-days 30', { typed: 'n\n' })).code).toBe(130);
  expect(sent('PUT', '/retention/policies/TX')).toEqual([]);
  expect((await cli('retention policy set TX --delete-days 30 --yes')).code).toBe(0);
});

test('the default that is shortened counts all tenants under it', async () => {
  const tenant = (name: string, isDefault: boolean) =>
    JSON.stringify({ tenant: name, policy: { from_default: isDefault } });
  api.on('GET /retention/policies/*', json({ ...policy, tenant: '*' }));
  api.on('PUT /retention/policies/*', json({ ...policy, tenant: '*' }));
  api.on(
    'GET /retention/tenants',
    pages([tenant('A', true), tenant('B', false), tenant('C', true)]),
  );
  api.on('GET /exports/estimate', json({ rows: 10, bytes: 1000 }));
  const { stderr } = await cli('retention policy set * --delete-days 30', { typed: 'y\n' });
  expect(stderr).toContain('would DELETE 20 records (2.0 kB) of 2 tenants');
  expect(sent('PUT', '/retention/policies/*')).toHaveLength(1);
});

test('policy rm asks before a legal hold ends', async () => {
  api.on('GET /retention/policies/TX', json({ ...policy, from_default: false, hold: true }));
  api.on('GET /retention/policies/*', json({ ...policy, tenant: '*' }));
  api.on('DELETE /retention/policies/TX', json('', 204));
  expect((await cli('retention policy rm TX', { typed: 'n\n' })).stderr).toContain(
    'End the legal hold of TX?',
  );
  const { code, stderr } = await cli('retention policy rm TX --yes');
  expect({ code, stderr }).toEqual({ code: 0, stderr: 'TX is under the default (*) now.\n' });
});

const receipt = {
  id: 'mv_9',
  dry_run: false,
  state: 'switched',
  tenant: 'TX',
  store: null,
  from: null,
  to: null,
  erased: { count: 2, bytes: 900, digest: '00000000000000aa' },
  hot_count: 1,
  cold_count: 1,
  segments_rewritten: 1,
  not_found: ['e3'],
  requested_at: '2026-03-05T10:00:00.000000Z',
  erased_at: '2026-03-05T10:00:01.000000Z',
  objects_removed_after: '2026-03-05T10:15:01.000000Z',
  remains: [
    { what: 'objects', until: '2026-03-05T10:15:01.000000Z', note: 'The replaced objects stay.' },
    { what: 'wal', until: null, note: 'The log stays.' },
  ],
};

test('erase tells what would go, asks, and prints the receipt', async () => {
  api.on('POST /enrichment/erase', (request, response) => {
    const isPreview = JSON.parse(String(request.body)).dry_run === true;
    json({ ...receipt, ...(isPreview ? { id: null, dry_run: true } : {}) })(request, response);
  });
  const words = 'records erase --tenant TX --event-id e1 e2 e3';
  const refused = await cli(words, { typed: 'n\n' });
  expect(refused.code).toBe(130);
  expect(refused.stderr).toContain('1 event id without a record.');
  expect(refused.stderr).toContain('Erase 2 records of TX (1 hot, 1 cold, 900 B) for good? [y/N]');
  const done = await cli(words, { typed: 'y\n' });
  expect(done.code).toBe(0);
  expect(done.stdout).toContain('erased                  2 records\n');
  expect(done.stdout).toContain('not found               e3\n');
  expect(done.stdout).toMatch(/remains \(objects\) +until 2026-03-05 10:15:01 UTC: The replaced/);
  expect(done.stdout).toMatch(/remains \(wal\) +The log stays/);
  expect(sent('POST', '/enrichment/erase').at(-1)).toEqual({
    tenant: 'TX',
    event_ids: ['e1', 'e2', 'e3'],
  });
  const dry = await cli(`${words} --dry-run --json`);
  expect(JSON.parse(dry.stdout)).toMatchObject({ id: null, dry_run: true });
  expect(sent('POST', '/enrichment/erase').at(-1)).toMatchObject({ dry_run: true });
});

test('erase says how many incidents go, too', async () => {
  const incidents = { count: 3, cancelled: 1, answers: 4, keys: 2 };
  api.on('POST /enrichment/erase', json({ ...receipt, incidents }));
  const done = await cli('records erase --tenant TX --event-id e1 --incidents', { typed: 'y\n' });
  expect(done.stderr).toContain('900 B) and 3 incidents for good? [y/N]');
  expect(done.stdout).toMatch(/incidents +3\ndeliveries cancelled +1\nanswers removed +4\n/);
  expect(sent('POST', '/enrichment/erase').at(-1)).toMatchObject({ incidents: true });
});

test('erase that goes on, or failed, says so', async () => {
  const words = 'records erase --tenant TX --from 2001-01-01 --to 2001-01-02 --yes';
  api.on('POST /enrichment/erase', json({ ...receipt, state: 'copied', erased_at: null }));
  expect(await cli(words)).toMatchObject({
    code: 0,
    stderr: 'It is still at work. Look: svcctl retention move mv_9\n',
  });
  api.on('POST /enrichment/erase', json({ ...receipt, state: 'failed', erased_at: null }));
  const failed = await cli(words);
  expect(failed.code).toBe(1);
  expect(failed.stderr).toContain('the records are still there');
});

const fencedStore = {
  state: 'elsewhere',
  problem: 'The store has gone on with another database.',
  written_at: '2026-03-05T14:07:09.000000Z',
  written_by: 'drill-1',
  segments: 1204,
  segments_missing: 3,
};

test('adopt-store tells how things are and asks, and does nothing without an answer', async () => {
  api.on('GET /retention/store', json(fencedStore));
  const refused = await cli('retention adopt-store');
  expect(refused.code).toBe(2);
  expect(refused.stderr).toContain('The store has gone on with another database.');
  expect(refused.stderr).toContain('Last written by drill-1.');
  expect(refused.stderr).toContain('It lacks 3 of the 1,204 objects that this database knows');
  expect(refused.stderr).toContain('Take it over without asking: --yes');
  expect(api.requests.map(({ method }) => method)).toEqual(['GET']);

  api.on('POST /retention/adopt-store', json({ ...fencedStore, state: 'own', problem: null }));
  const adopted = await cli('retention adopt-store --yes');
  expect(adopted.code).toBe(0);
  expect(adopted.stderr).toContain('The store is this database’s now.');
});

test('forget tells what is lost, and does nothing until the tenant’s name is typed', async () => {
  const lost = {
    ...{ id: null, dry_run: true, tenant: 'TX', object_key: 'records/a', versions_changed: 1 },
    problem: 'there is no object records/a',
    lost: { count: 1204, bytes: 1, digest: '0' },
    days: [{ store: 'DFW', day: '2001-03-05', count: 1204 }],
  };
  api.on('POST /retention/forget', json(lost));
  const noTerminal = await cli('retention forget records/a');
  expect([noTerminal.code, api.requests.length]).toEqual([2, 0]);
  const refused = await cli('retention forget records/a', { typed: 'y\n' });
  expect(refused.code).toBe(130);
  expect(refused.stderr).toContain('there is no object records/a.');
  expect(refused.stderr).toContain('Give up 1,204 records of TX? Type TX to do so:');
  const bodies = () => api.requests.map(({ body }) => JSON.parse(String(body)).dry_run);
  expect(bodies()).toEqual([true]);
  const done = await cli('retention forget records/a', { typed: 'TX\n' });
  expect(done.code).toBe(0);
  expect(done.stdout).toContain('2001-03-05');
  expect(bodies()).toEqual([true, true, false]);
});

test('adopt-store has nothing to do where the store is this database’s', async () => {
  api.on('GET /retention/store', json({ ...fencedStore, state: 'own', problem: null }));
  const { code, stderr } = await cli('retention adopt-store --yes');
  expect([code, stderr]).toEqual([0, 'The store is this database’s already.\n']);
  expect(api.requests.map(({ method }) => method)).toEqual(['GET']);
});

test('plan and run say that nothing can be moved while the store is another database’s', async () => {
  const totals = { move: none, delete: none, held: none, versioned: none };
  const answer = { data: [], totals, hot_space: null, store: fencedStore, next_cursor: null };
  api.on('GET /retention/plan', json(answer));
  const { stderr } = await cli('retention plan');
  expect(stderr).toContain('Nothing can be moved or deleted now. The store has gone on');
});
