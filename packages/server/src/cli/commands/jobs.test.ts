import { describe, expect, test } from 'vitest';
import type { ListedJob } from '../../platform/jobs/contract.ts';
import { rowOf } from '../testing/answers.ts';
import { prepareCli } from '../testing/prepare-cli.ts';
import { inTurn, json, pages, problem } from '../testing/receiver.ts';
import { ends } from '../testing/run.ts';

const { api, cli, jsonOf, sent } = prepareCli();

const job: ListedJob = rowOf('GET /jobs', {
  id: 'exp_1',
  kind: 'export',
  state: 'running',
  tenant: 'TX',
  requested_by: 'ops',
  started_at: '2026-03-05T10:00:01.000000Z',
  progress: { done: 364_120, total: 512_991, unit: 'records' },
  summary: 'Exports records of TX to TX.csv.',
  href: '/api/v1/exports/exp_1',
});
const completed: ListedJob = {
  ...job,
  state: 'completed',
  finished_at: '2026-03-05T10:00:05.000000Z',
  progress: { done: 512_991, total: 512_991, unit: 'records' },
};
const scheduled: ListedJob = {
  ...job,
  id: 'vrf_1',
  kind: 'verification',
  tenant: null,
  requested_by: null,
  progress: { done: 0, total: null, unit: 'bytes' },
};

test('jobs ls asks with its filters, and says how far each job is', async () => {
  api.on('GET /jobs', pages([JSON.stringify(job), JSON.stringify(scheduled)]));
  const words = 'jobs ls --kind export --state running --tenant TX';
  const { stdout, stderr } = await cli(words, { isTerminal: true });
  expect(stdout).toMatch(/exp_1 +export +running +70 % .* ops +Exports records of TX to TX.csv\./);
  expect(stdout).toMatch(/vrf_1 +verification +running +– .* the schedule /);
  expect(stderr).toBe('2 jobs · look at one: svcctl jobs show ID\n');
  const filters = { kind: 'export', state: 'running', tenant: 'TX' };
  expect(api.requests[0]?.query).toMatchObject(filters);
  expect(await jsonOf('jobs ls --json id,progress')).toEqual([
    { id: 'exp_1', progress: job.progress },
    { id: 'vrf_1', progress: scheduled.progress },
  ]);
});

test.each([
  [job, ['364,120 of 512,991 records', 'by ops', 'GET /api/v1/exports/exp_1']],
  [{ ...job, progress: { done: 2000, total: 4000, unit: 'bytes' } }, ['2.0 kB of 4.0 kB']],
  [{ ...job, progress: { done: 1, total: 1, unit: 'deliveries' } }, ['1 delivery']],
  [{ ...job, state: 'failed', error: 'a day is damaged' }, ['a day is damaged']],
])('jobs show tells of %j', async (shown, told) => {
  api.on('GET /jobs/exp_1', json(shown));
  const { stdout } = await cli('jobs show exp_1', { isTerminal: true });
  for (const text of told) expect(stdout).toContain(text);
});

describe('jobs wait', () => {
  test('waits until the job has ended, and shows it', async () => {
    api.on('GET /jobs/exp_1', inTurn(job, job, completed));
    expect(await jsonOf('jobs wait exp_1 --json state')).toEqual({ state: 'completed' });
  });

  test.each([
    [{ ...job, state: 'failed', error: 'a day is damaged' }, 'exp_1 failed: a day is damaged'],
    [{ ...job, state: 'cancelled' }, 'exp_1 was cancelled'],
  ])('ends with 1 after %j', async (ended, message) => {
    api.on('GET /jobs/exp_1', inTurn(job, ended));
    await ends(cli('jobs wait exp_1'), 1, [message, 'svcctl jobs show exp_1']);
  });

  test.each([
    [{ state: 'waiting', error: 'the store is away' }, 'goes on by itself: the store is away'],
    [{ state: 'paused' }, 'exp_1 is paused. Go on: svcctl jobs resume exp_1'],
  ])('says for what it waits: %j', async (held, message) => {
    api.on('GET /jobs/exp_1', inTurn({ ...job, ...held }, completed));
    expect((await cli('jobs wait exp_1')).stderr).toContain(message);
  });
});

test('jobs cancel says what was cancelled, and what was refused', async () => {
  api.on('POST /jobs/exp_1/cancel', json({ ...job, state: 'cancelled' }));
  api.on('POST /jobs/run_1/cancel', problem(409, 'job_not_cancellable', 'It goes on.'));
  expect(await cli('jobs cancel exp_1')).toMatchObject({ code: 0, stderr: 'Cancelled exp_1.\n' });
  await ends(cli('jobs cancel run_1'), 6, ['it goes on (409 job_not_cancellable)']);
  await ends(cli('jobs cancel exp_1 run_1'), 7, ['✗ run_1: It goes on. (409 job_not_cancellable)']);
});

test.each([
  ['retry', '/webhook/dlq/jobs/j_1'],
  ['purge', '/webhook/dlq/jobs/j_1'],
  ['replay', '/webhook/replays/j_1'],
] as const)('jobs pause and resume change a %s by its own route', async (kind, path) => {
  const held = { ...job, id: 'j_1', kind, progress: { done: 2, total: 5, unit: 'deliveries' } };
  api.on('GET /jobs/j_1', json(held));
  api.on(`PATCH ${path}`, json({}));
  const { stderr } = await cli('jobs pause j_1');
  expect(stderr).toBe('Paused j_1 at 2 of 5 deliveries. Go on: svcctl jobs resume j_1\n');
  for (const rate of ['50', 'none']) await cli(`jobs resume j_1 --rate ${rate}`);
  await cli('jobs resume j_1');
  expect(sent('PATCH', path)).toEqual([
    { state: 'paused' },
    { state: 'running', rate: 50 },
    { state: 'running', rate: null },
    { state: 'running' },
  ]);
});

test('jobs pause and resume change a count, which has no pace', async () => {
  const progress = { done: 2, total: 5, unit: 'records' };
  api.on('GET /jobs/cnt_1', json({ ...job, id: 'cnt_1', kind: 'count', progress }));
  api.on('PATCH /enrichment/records/counts/cnt_1', json({}));
  await cli('jobs pause cnt_1');
  await cli('jobs resume cnt_1');
  const changes = [{ state: 'paused' }, { state: 'running' }];
  expect(sent('PATCH', '/enrichment/records/counts/cnt_1')).toEqual(changes);
  await ends(cli('jobs resume cnt_1 --rate 50'), 2, ['a count has no --rate']);
});

test('jobs pause refuses what cannot be held', async () => {
  api.on('GET /jobs/exp_1', json(job));
  await ends(cli('jobs pause exp_1'), 2, [
    'only counts, bulk retries, bulk purges and replays can be paused',
  ]);
});
