import { describe, expect, test } from 'vitest';
import type { ReplayPreview, ReplayRow } from '../../webhooks/contract.ts';
import { answerOf } from '../testing/answers.ts';
import { prepareCli, refusesUsage } from '../testing/prepare-cli.ts';
import { inTurn, json } from '../testing/receiver.ts';
import { ends } from '../testing/run.ts';

const { api, cli, jsonOf, sent } = prepareCli();

const until = '2026-03-05T12:00:00.000000Z';
const preview: ReplayPreview = {
  ...(answerOf('POST /webhook/endpoints/:id/replay') as ReplayPreview),
  until,
  count: 1234,
  missed: 1200,
  discarded: 34,
  failed: 2,
  delivered: 5,
  notes: ['Discarded before: 34 deliveries.'],
};
const job: ReplayRow = answerOf('GET /webhook/replays/:id', {
  id: 'rpl_1',
  state: 'running',
  tenant: 'TX',
  endpoint_id: 'ep_1',
  since: preview.since,
  until: preview.until,
  only: 'missed',
  ids: 'new',
  filters: 'apply',
  rows_total: 1234,
  created_by: 'ops',
  outcome: null,
  created_at: '2026-03-05T12:00:00.000000Z',
  updated_at: '2026-03-05T12:00:00.000000Z',
});
const outcome = {
  counts: { waits_for_breaker: 3, delivered: 1229, failed_again: 1, abandoned: 1 },
  looked_at: until,
  settled_at: null,
};
const ended: ReplayRow = { ...job, state: 'completed', rows_done: 1234, outcome };
const at = '/webhook/endpoints/ep_1/replay';
const command = 'endpoints replay ep_1 --since 2h';

refusesUsage(api, [
  ['endpoints replay ep_1', 'say what to replay'],
  [`${command} --incident inc_1`, 'say what to replay'],
  [command, 'Replay without asking: --yes'],
  [`${command} --only some`, 'Allowed choices are missed, failed, delivered, all'],
  ['endpoints replay ep_1 --since monday --dry-run', 'neither a time'],
]);

test('--dry-run says what would be sent, and makes nothing', async () => {
  api.on(`POST ${at}`, json(preview));
  const { stdout, stderr } = await cli(`${command} --only all --ids same --dry-run`, {
    isTerminal: true,
  });
  expect(stdout).toMatch(
    /^INCIDENTS +WHAT\n +1,200 +never got\n +34 +discarded\n +2 +dead letters/,
  );
  expect(stderr).toBe(
    'Discarded before: 34 deliveries.\n1,234 deliveries would be sent of what was reported from 2026-03-05 10:00:00 to 2026-03-05 12:00:00.\n',
  );
  expect(await jsonOf(`${command} --dry-run --json`)).toEqual(preview);
  expect(sent('POST', at)).toMatchObject([
    { only: 'all', ids: 'same', since: '2026-03-05T10:00:00.000000Z', dry_run: true },
    { dry_run: true },
  ]);
});

test('says at least how much is sent where not all was counted, and begins all the same', async () => {
  const counted = { ...preview, counted_until: preview.until };
  api.on(`POST ${at}`, inTurn(counted, { ...counted, count: 0 }, job));
  expect((await cli(`${command} --dry-run`)).stderr).toContain('at least 1,234 deliveries would');
  expect((await cli(`${command} --yes --no-wait`)).stdout).toBe('rpl_1\n');
});

describe('after a yes', () => {
  test('follows the job, and says what has become of its deliveries', async () => {
    api.on(`POST ${at}`, inTurn(preview, job));
    api.on('GET /webhook/replays/rpl_1', inTurn(job, ended));
    const words = `${command} --event incident.created --rate 50 --ignore-filters`;
    const { stderr } = await cli(words, { typed: 'y\n' });
    expect(stderr).toContain('Send 1,234 deliveries to ep_1?');
    expect(stderr).toContain(
      '✓ 1,234 queued · 1,229 delivered · 1 failed · 1 abandoned · 3 wait for the breaker · still under way.',
    );
    const asked = { event_types: ['incident.created'], filters: 'ignore', rate: 50 };
    expect(sent('POST', at)[1]).toEqual({ ...asked, since: '2026-03-05T10:00:00.000000Z' });
  });

  test('tells no more of what is under way once the last look has seen all of it', async () => {
    api.on(`POST ${at}`, inTurn(preview, job));
    const delivered = { ...outcome, counts: { delivered: 1234 } };
    api.on('GET /webhook/replays/rpl_1', inTurn({ ...ended, outcome: delivered }));
    expect((await cli(`${command} --yes`)).stderr).toContain('✓ 1,234 queued · 1,234 delivered.');
    const some = { ...outcome, counts: { delivered: 1233 } };
    api.on(`POST ${at}`, inTurn(preview, job));
    api.on('GET /webhook/replays/rpl_1', inTurn({ ...ended, outcome: some }));
    expect((await cli(`${command} --yes`)).stderr).toContain('1,233 delivered · still under way.');
  });

  test('of one that ends before anybody has looked says how many are queued', async () => {
    api.on(`POST ${at}`, inTurn(preview, job));
    api.on('GET /webhook/replays/rpl_1', inTurn({ ...ended, outcome: null }));
    expect((await cli(`${command} --yes`)).stderr).toContain('✓ 1,234 queued.');
  });

  test('tells that the endpoint is disabled, and of a cancel ends with 7', async () => {
    api.on(`POST ${at}`, inTurn(preview, job));
    const cancelled = { ...job, state: 'cancelled', rows_done: 20 };
    const held = { ...job, waits_for_endpoint: true };
    api.on('GET /webhook/replays/rpl_1', inTurn(held, cancelled));
    await ends(cli(`${command} --yes`), 7, [
      'svcctl endpoints enable ep_1',
      'rpl_1 was cancelled after 20 of 1,234',
    ]);
    api.on(`POST ${at}`, inTurn(preview, job));
    api.on('GET /webhook/replays/rpl_1', inTurn({ ...cancelled, rows_total: null }));
    await ends(cli(`${command} --yes`), 7, ['rpl_1 was cancelled after 20 deliveries']);
  });

  test('leaves the job at work with --no-wait, and does nothing where there is nothing', async () => {
    api.on(`POST ${at}`, inTurn(preview, job, { ...preview, count: 0 }));
    expect((await cli(`${command} --yes --no-wait`)).stdout).toBe('rpl_1\n');
    expect((await cli(`${command} --yes`)).stderr).toContain('Nothing to replay.');
    expect(sent('POST', at)).toHaveLength(3);
  });
});
