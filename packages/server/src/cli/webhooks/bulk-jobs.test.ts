import { expect, test } from 'vitest';
import { bulkRetry as job, bulkPreview as preview } from '../testing/bulk-jobs.ts';
import { prepareCli } from '../testing/prepare-cli.ts';
import { json } from '../testing/receiver.ts';
import { ends } from '../testing/run.ts';
import type { BulkJob } from './bulk-jobs.ts';

const { api, cli } = prepareCli();
const bodies = () =>
  api.requests
    .filter(({ method }) => method === 'POST')
    .map(({ body }) => JSON.parse(String(body)));

test('dlq purge --all shows which rows, asks, and follows the job to its end', async () => {
  const purge: BulkJob = { ...job, id: 'prg_1', action: 'purge' };
  api.on('POST /webhook/dlq/purge', (request, response) => {
    const isPreview = JSON.parse(String(request.body)).dry_run === true;
    (isPreview ? json({ ...preview, skipped: 0 }) : json(purge, 202))(request, response);
  });
  const ended = { ...purge, state: 'completed', rows_done: 1200, rows_skipped: 4 };
  api.on('GET /webhook/dlq/jobs/prg_1', json(ended));
  const argv = 'dlq purge --all --older-than 30d --type incident.';
  await ends(cli(argv, { typed: 'y\n' }), 0, '', [
    /ROWS +CLASS +ENDPOINT +TARGET\n1,204 +status +ep_1 +hooks/,
    'Discard 1,204 rows? It cannot be undone. [y/N]',
    '✓ Discarded 1,200 rows, 4 left alone, because they were changed meanwhile',
  ]);
  const filter = { older_than: '30d', event_type: 'incident.' };
  expect(bodies()).toEqual([{ ...filter, dry_run: true }, filter]);
  const { stderr } = await cli(`${argv} --dry-run`, { isTerminal: true });
  expect(stderr).toContain(
    '1,204 rows would be discarded · do it: svcctl dlq purge --all --type incident. --older-than 30d',
  );
});

const waiting: BulkJob = {
  ...job,
  state: 'completed',
  rows_total: 24,
  rows_done: 24,
  outcome: {
    counts: { failed_again: 1, waits_for_breaker: 23 },
    looked_at: '2026-03-05T11:00:00.000000Z',
    settled_at: null,
  },
};

test('dlq job shows what became of a job, with the command that lists the rows of each number', async () => {
  api.on('GET /webhook/dlq/jobs/rty_1', json(waiting));
  const { stdout } = await cli('dlq job rty_1', { isTerminal: true });
  expect(stdout).toMatch(
    /OUTCOME\n24 re-armed +svcctl deliveries ls --job rty_1\n1 failed again +svcctl deliveries ls --job rty_1 --outcome failed_again\n23 wait for the breaker +svcctl.* --outcome waits_for_breaker\nstill under way/,
  );
  const since = {
    counts: { delivered: 23, retried_since: 1 },
    looked_at: '',
    settled_at: '2026-03-05T11:00:00.000000Z',
  };
  api.on('GET /webhook/dlq/jobs/rty_1', json({ ...waiting, outcome: since }));
  const settled = (await cli('dlq job rty_1', { isTerminal: true })).stdout;
  expect(settled).toMatch(/23 delivered +svcctl.*\n1 retried since\n/);
  expect(settled).not.toContain('still under way');
  api.on('GET /webhook/dlq/jobs/rty_1', json({ ...waiting, state: 'paused' }));
  const paused = (await cli('dlq job rty_1', { isTerminal: true })).stdout;
  expect(paused).toMatch(/--outcome waits_for_breaker\npaused/);
  expect(paused).not.toContain('still under way');
});

test('dlq jobs lists retries and purges, and what became of them', async () => {
  const purge = { ...job, id: 'prg_1', action: 'purge', event_type: 'incident.*' };
  api.on('GET /webhook/dlq/jobs', json({ data: [purge, waiting], next_cursor: null }));
  const { stdout } = await cli('dlq jobs');
  const at = '2026-03-05T11:00:00.000000Z';
  expect(stdout).toBe(
    `purge\tprg_1\trunning\t0\t1204\t0\tstatus=abandoned type=incident.*\tops\t${at}\t0 discarded · nobody has looked yet\n` +
      `retry\trty_1\tcompleted\t24\t24\t0\tstatus=abandoned\tops\t${at}\t24 re-armed · 1 failed again · 23 wait for the breaker · still under way\n`,
  );
});
