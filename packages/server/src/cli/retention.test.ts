import { expect, test } from 'vitest';
import type { Move } from './retention/moves.ts';
import type { PlanRow } from './retention/plan.ts';
import type { Run } from './retention/runs.ts';
import type { Verification } from './retention/verifications.ts';
import { answerOf, rowOf } from './testing/answers.ts';
import { prepareCli, refusesUsage } from './testing/prepare-cli.ts';
import { inTurn, json, pages } from './testing/receiver.ts';
import { ends } from './testing/run.ts';

const { api, cli, jsonOf, sent } = prepareCli();

const row: PlanRow = rowOf('GET /retention/plan', {
  tenant: 'TX',
  kind: 'move',
  first_day: '2001-01-01',
  last_day: '2001-04-30',
  count: 512_991,
  bytes: 246_000_000,
});
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
const move: Move = rowOf('GET /retention/moves', {
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
  segments_out: 1,
  copied_at: '2026-03-05T10:00:01.000000Z',
  verified_at: '2026-03-05T10:00:02.000000Z',
  switched_at: '2026-03-05T10:00:03.500000Z',
});
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
const started: Run = rowOf('GET /retention/runs', {
  id: 'run_1',
  state: 'queued',
  requested_by: 'ops',
});
const ended: Run = {
  ...started,
  state: 'completed',
  started_at: '2026-03-05T10:00:00.000000Z',
  finished_at: '2026-03-05T10:00:04.000000Z',
  total_count: 512_991,
  moved_count: 512_991,
  moved_bytes: 246_000_000,
};
const verification: Verification = answerOf('GET /retention/verify/:id', {
  id: 'vrf_1',
  state: 'completed',
  ok: true,
  requested_by: 'ops',
  started_at: '2026-03-05T10:00:00.000000Z',
  finished_at: '2026-03-05T10:00:03.200000Z',
  segments_total: 12,
  segments_done: 12,
  bytes_total: 1_200_000_000,
  bytes_done: 1_200_000_000,
  records_done: 3_000_000,
});
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
const offerPlan = (totals: object, ...rows: PlanRow[]) =>
  api.on('GET /retention/plan', json({ data: rows, totals, next_cursor: null }));
/** A run, and how it goes on. */
const offerRun = (...states: Run[]) => {
  api.on('POST /retention/run', json(started, 202));
  api.on('GET /retention/runs/run_1', inTurn(...states));
};

refusesUsage(api, [
  ['retention plan --before May', 'is not a date'],
  ['retention run --before 2001-02-30 --yes', 'is not a date'],
  ['retention verify vrf_1 --tenant TX', 'either an id or --tenant'],
  ['retention verify vrf_1 --sample 5', 'either an id or --tenant'],
  ['retention verify --since May', 'is not a date'],
  ['retention verify --sample 0', 'is not a percentage'],
  ['retention verify --sample 101', 'is not a percentage'],
]);

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
  expect(await jsonOf('retention plan --json tenant,count')).toEqual([
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
  const { stderr } = await ends(cli('retention run --tenant TX'), 0, '', []);
  expect(stderr).toBe(
    '512,991 records (246 MB) of 1 tenant would move to the cold tier\n' +
      '✓ 512,991 records (246 MB) moved to the cold tier, 128,248 records/s · 254 MB of hot space given back · 4.0 s\n',
  );
  expect(sent('POST', '/retention/run')).toEqual([{ tenant: 'TX' }]);
  expect(await jsonOf('retention run --json')).toEqual(freed);
});

test('run asks only where something would be deleted, and not without a terminal', async () => {
  offerPlan(deleteTotals, row, gone);
  offerRun(ended);
  await ends(cli('retention run'), 2, ['Delete without asking: --yes']);
  await ends(cli('retention run', { typed: 'n\n' }), 130, [
    'Delete 1,204 records (611 kB) of 1 tenant for good? [y/N]',
  ]);
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
  await ends(cli('retention run --delete-versioned', { typed: 'n\n' }), 130, [
    'Delete 1,204 records (611 kB) of 1 tenant, and 300 records (144 kB) of 1 tenant that DATASET VERSIONS keep for good? [y/N]',
  ]);
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
  await ends(cli('retention run'), 1, [
    '2 tenants passed over, because another move had them',
    '1 move failed; what was to be moved is where it was (move_failed)',
    '✗ mv_2  TX  2001-01-01 … 2001-01-31  segment_damaged: the object is not what was written',
  ]);
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
  expect(await jsonOf('retention move mv_1 --json source')).toEqual({ source: triple });
});

test('verify that finds nothing ends with 0, and its report is JSON', async () => {
  api.on('POST /retention/verify', json({ ...verification, state: 'queued', ok: null }, 202));
  api.on('GET /retention/verify/vrf_1', json(verification));
  const { stderr } = await ends(cli('retention verify --tenant TX'), 0, '', []);
  expect(stderr).toBe(
    '✓ 12 objects (1.2 GB) read back, 3,000,000 records: objects, catalogue and counters agree · 3.2 s\n',
  );
  expect(sent('POST', '/retention/verify')).toEqual([{ tenant: 'TX' }]);
  expect(await jsonOf('retention verify --json')).toEqual(verification);
  expect((await cli('retention verify --no-wait')).stdout).toBe('vrf_1\n');
  expect((await cli('retention verify vrf_1 --json ok')).stdout).toBe('{"ok":true}\n');
});

test('verify that finds differences prints each and ends with 1', async () => {
  api.on('GET /retention/verify/vrf_1', json(damaged));
  await ends(
    cli('retention verify vrf_1'),
    1,
    'object_damaged\tTX\ttenant=TX/2001-01-01_2001-01-31_seg_1.parquet\t\t2001-01-01\t2001-01-31\tThe object is not what was written. Put it back from a copy.\n',
    ['1 difference found (verify_failed)'],
  );
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
  await ends(cli('retention verify vrf_1'), 1, ['could not be done: cold_tier_unavailable: away']);
  api.on('GET /retention/verify/vrf_1', json({ ...verification, state: 'running', ok: null }));
  const running = await cli('retention verify vrf_1 --no-wait');
  expect(running).toMatchObject({ code: 0, stderr: 'vrf_1 is running.\n' });
});

test('plan and run say that nothing can be moved while the store is another database’s', async () => {
  const totals = { move: none, delete: none, held: none, versioned: none };
  const answer = {
    data: [],
    totals,
    hot_space: null,
    store: { state: 'elsewhere', problem: 'The store has gone on with another database.' },
    next_cursor: null,
  };
  api.on('GET /retention/plan', json(answer));
  const { stderr } = await cli('retention plan');
  expect(stderr).toContain('Nothing can be moved or deleted now. The store has gone on');
});
