import { expect, test } from 'vitest';
import { prepareCli } from '../testing/prepare-cli.ts';
import { inTurn, json } from '../testing/receiver.ts';
import { ends } from '../testing/run.ts';

const { api, cli, jsonOf, sent } = prepareCli();

const told = { count: 2_010, bytes: 1_005_000, looked: 750_000 };
const first = { ...told, count: 2_000, looked: 250_000, next_cursor: 'c1', searched_to: null };
const whole = { ...told, next_cursor: null, searched_to: null };
const job = { id: 'cnt_1', state: 'queued', total: 750_000, error: null, count: 0, looked: 0 };
const path = 'GET /enrichment/records/counts/cnt_1';
const words = 'records count --tenant TX --month 2001-01 --dataset training'.split(' ');
const where = ['--where', 'score >= 0.9'];
const filters = { tenant: 'TX', month: '2001-01', dataset: 'training', where: 'score >= 0.9' };

/** Offers a first stretch that is not all, and a job that becomes this. */
function offerJob(...states: object[]) {
  api.on('GET /enrichment/records/count', json(first));
  api.on('POST /enrichment/records/count', json(job, 202));
  api.on(path, inTurn(...states));
}

test('counts at once what one stretch holds', async () => {
  api.on('GET /enrichment/records/count', json(whole));
  const { stdout } = await cli([...words, ...where], { isTerminal: true });
  expect(stdout).toBe('2,010 records of 750,000 records (1.0 MB)\n');
  expect(api.requests.map(({ query }) => query)).toEqual([filters]);
});

test('counts in a job what takes longer, and from the start when asked to', async () => {
  offerJob({ ...job, state: 'running' }, { ...job, ...told, state: 'completed' });
  const { stdout } = await cli([...words, ...where], { isTerminal: true });
  expect(stdout).toBe('2,010 records of 750,000 records (1.0 MB)\n');
  expect(api.requests[0]?.query).toEqual(filters);
  expect(sent('POST', '/enrichment/records/count')).toEqual([filters]);
  offerJob({ ...job, ...told, state: 'completed' });
  expect(await jsonOf([...words, ...where, '--job', '--json', 'count,looked'])).toEqual({
    count: 2_010,
    looked: 750_000,
  });
});

test.each([
  ['failed', 'cnt_1 failed: Records of its slice were erased (job_failed)'],
  ['cancelled', 'cnt_1 was cancelled (job_failed)'],
])('ends with 1 when the job has %s', async (state, text) => {
  offerJob({ ...job, state, error: 'Records of its slice were erased.' });
  await ends(cli([...words, ...where]), 1, [text]);
});
