import { expect, test } from 'vitest';
import type { Overview } from '../../checks/contract.ts';
import { prepareCli } from '../testing/prepare-cli.ts';
import { json } from '../testing/receiver.ts';
import { ends, nowMillis } from '../testing/run.ts';
import { linesOf } from './status.ts';

const { api, cli, jsonOf } = prepareCli();

const at = '2026-03-05T11:00:00.000000Z';
const hoursOf = (count: number) => Array.from({ length: 48 }, (_, hour) => (hour < 24 ? 0 : count));
const told = { severity: 'warning', remedy: 'Mend it.', place: '#/' } as const;
const overview: Overview = {
  at,
  troubles: [
    {
      kind: 'endpoints_failing',
      count: 2,
      id: null,
      text: '2 endpoints failing',
      ...told,
      command: 'svcctl endpoints ls',
    },
    {
      kind: 'run_failed',
      count: 1,
      id: 'run_1',
      text: 'the last retention run failed',
      ...told,
      command: 'svcctl retention moves --run run_1',
    },
  ],
  records: {
    count: 3_003_034,
    bytes: 1_400_000_000,
    stored_bytes: 1,
    tenants: 40,
    hot_count: 2_045_063,
    cold_count: 957_971,
    counted_from: '2026-01-01',
    today: { count: 1030, week_ago: 1000 },
    hours: { from: at, count: [...Array.from({ length: 190 }, () => 0), 500, 1000] },
    days: { from: '2025-12-06', count: [], hot_count: [], cold_count: [] },
    by_tenant: { from: '2026-02-06', tenants: [] },
  },
  retention: {
    verification: {
      id: 'vrf_1',
      ok: true,
      problem_count: 0,
      segments_total: 52,
      finished_at: '2026-03-05T09:00:00.000000Z',
    },
    run: null,
  },
  webhooks: {
    abandoned: 72,
    pending: 115,
    oldest_failure_at: '2026-03-05T08:00:00.000000Z',
    hours: { from: at, delivered: hoursOf(99), failed: hoursOf(1), abandoned: hoursOf(0) },

    failing: 1,
    degraded: 0,
    gone: 0,
    disabled: 0,
    held: 0,
    full: 0,
    certificate: 0,
    endpoints: [],
    last_job: null,
  },
  work: [{ kind: 'export', id: 'exp_1', state: 'running', tenant: 'TX', done: 41, total: 100 }],
};
const nothingSeen: Overview = {
  at,
  troubles: [],
  records: null,
  retention: null,
  webhooks: null,
  work: [],
};

const expected = [
  ['STATUS', '2 endpoints failing · svcctl endpoints ls'],
  ['STATUS', 'the last retention run failed · svcctl retention moves --run run_1'],
  ['RECORDS', '3,003,034 · 68 % hot · 1.4 GB of 40 tenants · svcctl records ls'],
  [
    'TODAY',
    '1,030 ▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▅█ · +3 % on a week ago · svcctl records show --tenant TENANT --order newest',
  ],
  [
    'DELIVERIES',
    '2,376 in 24 h ████████████████████████ · 99 % of attempts · svcctl deliveries ls',
  ],
  ['DEAD LETTERS', '72 abandoned · 115 pending · oldest 4 h ago · svcctl dlq groups'],
  ['LAST VERIFICATION', 'equal · 52 segments · 3 h ago · svcctl retention verify vrf_1'],
  ['EXPORT', 'running 41 % · TX · svcctl jobs show exp_1'],
];

test('status says first what is wrong, and then how all goes', async () => {
  api.on('GET /stats/overview', json(overview));
  const piped = await cli('status');
  expect(piped).toMatchObject({ code: 0, stderr: '' });
  expect(piped.stdout.trimEnd().split('\n')).toEqual(expected.map((line) => line.join('\t')));
  const shown = await cli('status', { isTerminal: true });
  expect(shown.stdout).toContain('DEAD LETTERS       72 abandoned');
});

test('status says only what the token may see', () => {
  expect(linesOf(nothingSeen, nowMillis)).toEqual([
    { name: 'STATUS', text: 'Nothing was looked at: that takes enrichment:read' },
  ]);
});

test.each([
  [{ count: 5, week_ago: null }, ''],
  [{ count: 0, week_ago: 0 }, ''],
  [{ count: 5, week_ago: 0 }, ' · none a week ago'],
  [{ count: 100, week_ago: 100 }, ' · as much as a week ago'],
  [{ count: 80, week_ago: 100 }, ' · −20 % on a week ago'],
])('status compares %j with %j', (today, words) => {
  const records = overview.records && { ...overview.records, today };
  const line = linesOf({ ...overview, records }, nowMillis).find(({ name }) => name === 'TODAY');
  expect(line?.text.replace(/^.*[▁-█]| · svcctl.*$/g, '')).toBe(words);
});

test('status --json prints the answer as it came, or some of it', async () => {
  api.on('GET /stats/overview', json(nothingSeen));
  expect(await jsonOf('status --json')).toEqual(nothingSeen);
  const some = await cli('status --json troubles,work');
  expect(some.stdout).toBe('{"troubles":[],"work":[]}\n');
  await ends(cli('status --json trouble'), 2);
});

test('status --watch goes on through an outage until it is interrupted', async () => {
  let calls = 0;
  const stop = new AbortController();
  api.on('GET /stats/overview', (request, response) => {
    calls += 1;
    if (calls === 3) stop.abort();
    if (calls === 2)
      json({ code: 'database_unavailable', detail: 'Down.' }, 503)(request, response);
    else json(nothingSeen)(request, response);
  });
  const watched = await cli('status --watch --json at', { signal: stop.signal });
  expect(watched).toMatchObject({ code: 130, sleepsMillis: [15_000, 15_000] });
  expect(watched.stdout).toBe(`{"at":"${at}"}\n`);
  expect(watched.stderr).toContain('Down. Tried again in 15 s.');
});
