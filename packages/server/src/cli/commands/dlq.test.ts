import { expect, test } from 'vitest';
import { rowOf } from '../testing/answers.ts';
import { bulkRetry as job, bulkPreview as preview } from '../testing/bulk-jobs.ts';
import { prepareCli, refusesUsage } from '../testing/prepare-cli.ts';
import { inTurn, json, noContent, pages, problem } from '../testing/receiver.ts';
import { ends } from '../testing/run.ts';
import type { BulkJob } from '../webhooks/bulk-jobs.ts';
import type { DeliveryRow } from '../webhooks/deliveries.ts';

const { api, cli, jsonOf } = prepareCli();

const row: DeliveryRow = rowOf('GET /webhook/dlq', {
  id: 'dlv_070t1x2y3Kq2LmNC7Kq2',
  idempotency_key: 'msg_4fTq9Zx7Kq2L91ac',
  target: 'https://hooks.acme.example/in',
  attempts: 8,
  max_attempts: 8,
  last_status: 503,
  error: 'Service Unavailable',
  failure_class: 'status',
  status: 'abandoned',
  last_attempt_at: '2026-03-05T10:00:00.000000Z',
  sequence: 1,
  tenant: 'TX',
  endpoint_id: 'ep_1',
  incident_id: 'inc_1',
  event_type: 'incident.created',
  created_at: '2026-03-05T09:00:00.000000Z',
});
const list = (rows: object[], total: number | null) =>
  json({ data: rows, next_cursor: null, total });
/** The API of bulk retries: a preview, a job, and how it goes on. */
const offerJob = (...states: Partial<BulkJob>[]) => {
  api.on('POST /webhook/dlq/retry', (request, response) => {
    const isPreview = JSON.parse(String(request.body)).dry_run === true;
    (isPreview ? json(preview) : json(job, 202))(request, response);
  });
  const jobs = states.map((state) => ({ ...job, ...state }));
  api.on('GET /webhook/dlq/jobs/rty_1', inTurn(...jobs));
};
const asked = (method: string) => api.requests.filter((request) => request.method === method);
const bodies = () => asked('POST').map(({ body }) => JSON.parse(String(body)));

refusesUsage(api, [
  ['dlq retry', 'give ids, or --all'],
  ['dlq retry dlv_1 --all --yes', 'give ids, or --all'],
  ['dlq retry dlv_1 --tenant TX', '--tenant goes with --all'],
  ['dlq retry dlv_1 --dry-run', '--dry-run goes with --all'],
  ['dlq retry --all', 'Retry without asking: --yes'],
  ['dlq retry --all --yes --from monday', 'neither a time'],
  ['dlq purge', 'give ids, or --all'],
  ['dlq purge dlv_1 --older-than 3d --yes', '--older-than goes with --all'],
  ['dlq purge --all --older-than soon --yes', 'no span such as'],
  ['dlq purge --all --older-than 3d --to 2026-03-05 --yes', 'Give one of them'],
  ['dlq purge --all', 'Discard without asking: --yes'],
  ['dlq resume rty_1 --rate 0', 'nor none'],
]);

test('dlq ls is a table with the total and what to do next on a terminal', async () => {
  const timedOut = { ...row, last_status: null, error: 'connect timed out after 5 s' };
  api.on('GET /webhook/dlq', list([row, timedOut], 2));
  const { code, stdout, stderr } = await cli(
    ['dlq', 'ls', '--status', 'abandoned', '--tenant', 'T X'],
    { isTerminal: true },
  );
  expect(code).toBe(0);
  const [header, first, second] = stdout.split('\n');
  expect(header).toMatch(/^ID +KEY +TARGET +ATTEMPTS +LAST +FAILED +ERROR$/);
  expect(first).toMatch(
    /^dlv_070t1x2y3Kq2LmNC7Kq2 {2}msg…91ac +hooks\.acme\.example\/in +8\/8 +503 +2 h ago +Serv/,
  );
  expect(second).toMatch(/8\/8 +– +2 h ago +connect/);
  expect(stderr).toBe(
    "2 of 2 abandoned · retry one: svcctl dlq retry dlv_… · retry all: svcctl dlq retry --all --status abandoned --tenant 'T X'\n",
  );
  expect(api.requests[0]?.query).toEqual({ status: 'abandoned', tenant: 'T X', limit: '200' });
});

test.each(['pending', 'abandoned'])(
  'dlq ls of %s rows tells targets apart on a terminal of 80 columns',
  async (status) => {
    const long = (part: string) => `https://hooks.${part}.example/webhooks/of/svcctl/${part}-last`;
    const error = 'the receiver closed the connection without an answer';
    const rows = ['first', 'second'].map((part) => ({ ...row, target: long(part), error, status }));
    api.on('GET /webhook/dlq', list(rows, 2));
    const options = { isTerminal: true, columns: 80 };
    const { stdout } = await cli(`dlq ls --status ${status}`, options);
    const [header, ...lines] = stdout.trimEnd().split('\n');
    expect(header).toMatch(/^ID +TARGET +ATTEMPTS +LAST +(NEXT RETRY|FAILED)$/);
    expect(lines[0]).toMatch(/^dlv_070t1x2y3Kq2LmNC7Kq2 {2}hooks\.first\S+…\S+first-last +8\/8/);
    expect(lines[1]).toMatch(/ {2}hooks\.second\S*…\S*second-last /);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(80);
  },
);

test('a pending row that waits for its disabled endpoint says so', async () => {
  const next_retry = '2026-03-05T11:30:00.000000Z';
  const waiting = { ...row, status: 'pending', next_retry, waits_for_endpoint: true };
  api.on('GET /webhook/dlq', list([waiting], 1));
  const { stdout } = await cli('dlq ls --status pending', { isTerminal: true });
  expect(stdout).toMatch(/ 8\/8 +503 +disabled +Serv/);
});

test('a pending row says until when its endpoint is paused, where that is later', async () => {
  const soon = '2026-03-05T12:00:40.000000Z';
  const paused = { ...row, status: 'pending', next_retry: soon };
  const until = (paused_until: string) => ({ ...paused, paused_until });
  api.on('GET /webhook/dlq', list([until('2026-03-05T12:05:00.000000Z'), until(soon)], 2));
  const { stdout } = await cli('dlq ls --status pending', { isTerminal: true });
  expect(stdout).toMatch(/ 503 +paused, in 5 min +Serv/);
  expect(stdout).toMatch(/ 503 +in 40 s +Serv/);
});

test('a pending row whose time has come, and that its endpoint holds up, is due', async () => {
  const waiting = { ...row, status: 'pending', next_retry: '2026-03-05T11:30:00.000000Z' };
  api.on('GET /webhook/dlq', list([waiting], 1));
  const { stdout } = await cli('dlq ls --status pending', { isTerminal: true });
  expect(stdout).toMatch(/ 8\/8 +503 +due +Serv/);
});

test('dlq ls of pending rows says when they are tried next', async () => {
  const pending = {
    ...row,
    attempts: 3,
    status: 'pending',
    next_retry: '2026-03-05T12:30:00.000000Z',
  };
  api.on('GET /webhook/dlq', list([pending], 1));
  const shown = await cli('dlq ls --status pending', { isTerminal: true });
  expect(shown.stdout).toMatch(/NEXT RETRY +ERROR\n.* 3\/8 +503 +in 30 min +Serv/);
  const piped = await cli('dlq ls --status pending');
  expect(piped).toMatchObject({ stderr: '' });
  expect(piped.stdout).toBe(
    `${row.id}\t${row.idempotency_key}\t${row.target}\t3\t503\t2026-03-05T12:30:00.000000Z\tService Unavailable\n`,
  );
});

test('dlq ls without a status lists the pending rows and then the abandoned ones', async () => {
  const pending = { ...row, id: 'dlv_p', status: 'pending' };
  const answer: Parameters<typeof api.on>[1] = (request, response) =>
    (request.query.status === 'pending' ? list([pending], 1) : list([row, row], 2))(
      request,
      response,
    );
  api.on('GET /webhook/dlq', answer);
  const { stdout, stderr } = await cli('dlq ls', { isTerminal: true });
  expect(stdout).toMatch(/ STATUS +FAILED.*\ndlv_p.* pending .*\ndlv_0.* abandoned .*\ndlv_0/);
  expect(stderr).toContain(
    '3 of 3 pending or abandoned · retry one: svcctl dlq retry dlv_… · retry all: svcctl dlq retry --all\n',
  );
  const ids = await jsonOf('dlq ls --json id');
  expect(ids).toEqual([{ id: 'dlv_p' }, { id: row.id }, { id: row.id }]);
  api.requests.length = 0;
  const cut = await cli('dlq ls --limit 1', { isTerminal: true });
  expect(cut.stdout.trimEnd().split('\n')).toHaveLength(2);
  expect(cut.stderr).toContain('1 of 3 pending or abandoned · more: --all · ');
  expect(api.requests.map(({ query }) => query)).toEqual([
    { status: 'pending', limit: '1' },
    { status: 'abandoned', limit: '1' },
  ]);
  api.on('GET /webhook/dlq', list([], 0));
  expect(await cli('dlq ls --json')).toMatchObject({ code: 0, stdout: '[]\n' });
});

test('dlq ls turns all pages in a pipe, 200 rows each, with all its filters', async () => {
  api.on('GET /webhook/dlq', pages([JSON.stringify(row)], [JSON.stringify(row)]));
  const filters = ['--endpoint', 'ep_1', '--class', 'status', '--q', 'acme'];
  expect(
    await jsonOf(['dlq', 'ls', '--status', 'abandoned', ...filters, '--json', 'id,attempts']),
  ).toEqual(Array(2).fill({ id: row.id, attempts: 8 }));
  const query = { status: 'abandoned', endpoint_id: 'ep_1', failure_class: 'status', q: 'acme' };
  expect(api.requests.map((request) => request.query)).toEqual([
    { ...query, limit: '200' },
    { ...query, limit: '200', cursor: 'c1' },
  ]);
});

test.each([
  [[], 'DLQ is clean: none pending.'],
  [['--q', 'x'], 'None pending that match.'],
])('dlq ls %j says so when there is nothing', async (argv, text) => {
  api.on('GET /webhook/dlq', list([], 0));
  const { stdout, stderr } = await cli(['dlq', 'ls', '--status', 'pending', ...argv], {
    isTerminal: true,
  });
  expect({ stdout, stderr }).toEqual({ stdout: '', stderr: `${text}\n` });
});

test('dlq ls stops at its limit and says that there is more; it offers no retry of what --q finds', async () => {
  api.on('GET /webhook/dlq', pages([JSON.stringify(row)], [JSON.stringify(row)]));
  const argv = ['ls', '--status', 'abandoned', '--limit', '1', '--q', 'acme'];
  const { stderr } = await cli(['dlq', ...argv], { isTerminal: true });
  expect(stderr).toBe('1 abandoned · more: --all · retry one: svcctl dlq retry dlv_…\n');
});

const detail = {
  ...row,
  payload: { type: 'incident.created', timestamp: row.created_at, data: { n: 1 } },
  body: '{}',
  attempt_log: [
    {
      number: 8,
      started_at: '2026-03-05T10:00:00.000000Z',
      duration_ms: 120,
      target: row.target,
      status: 503,
      failure_class: 'status',
      error: '503 Service Unavailable',
      response: 'down\u001b[31m for\u009b31m maintenance',
    },
  ],
  waiting: {
    reason: 'parked',
    until: null,
    text: '8 of 8 attempts failed: retry to send it again',
  },
};

test('dlq show tells why it waits, what it sends and its attempts, without control characters', async () => {
  api.on(`GET /webhook/dlq/${row.id}`, json(detail));
  const { stdout, stderr } = await cli(`dlq show ${row.id}`, { isTerminal: true });
  expect(stdout).toMatch(/^waiting +8 of 8 attempts failed: retry to send it again$/m);
  expect(stdout).toContain('PAYLOAD\n{\n  "type": "incident.created",\n');
  expect(stdout).toMatch(
    /^ {2}8 {2}2026-03-05 10:00:00 +120 ms {2}503 Service Unavailable \(status\)$/m,
  );
  expect(stdout).toContain('     down [31m for 31m maintenance\n');
  expect(stdout).not.toMatch(/[\u001b\u009b]/);
  expect(stderr).toContain(`retry: svcctl dlq retry ${row.id}`);
  expect(await jsonOf(`dlq show ${row.id}`)).toEqual(detail);
  expect(await jsonOf(`dlq show ${row.id} --json waiting`)).toEqual({ waiting: detail.waiting });
});

test('dlq show --local tells its times in the zone of the machine, and the payload as it is', async () => {
  const payload = { said: '2026-03-05 10:00:00 UTC' };
  const told = { ...detail, next_retry: '2026-03-05T12:30:00.000000Z', payload };
  api.on(`GET /webhook/dlq/${row.id}`, json(told));
  const env = { ...api.env, TZ: 'Asia/Tokyo' };
  const show = `dlq show ${row.id} --local`;
  const { stdout } = await cli(show, { env, isTerminal: true });
  expect(stdout).toMatch(/^next retry +2026-03-05 21:30:00 \+09:00, /m);
  expect(stdout).toContain('\nATTEMPTS (Asia/Tokyo)\n');
  expect(stdout).toMatch(/^ {2}8 {2}2026-03-05 19:00:00 \+09:00 +120 ms/m);
  await ends(cli(`${show} --json`, { isTerminal: true }), 2, ['told in words']);
  await ends(cli(show), 2, ['told in words']);
});

test('dlq retry says where it goes, and that the drainer sends it', async () => {
  api.on(`POST /webhook/dlq/${row.id}/retry`, json({ ...row, status: 'queued' }, 202));
  expect(await cli(`dlq retry ${row.id}`)).toMatchObject({
    code: 0,
    stdout: '',
    stderr: `Retry queued for ${row.id} (https://hooks.acme.example/in). The drainer sends it when it runs.\n`,
  });
  expect(await jsonOf(`dlq retry ${row.id} ${row.id} --json`)).toEqual([
    { ...row, status: 'queued' },
  ]);
});

test('dlq retry of several ids goes on after a refusal and ends with 7', async () => {
  api.on('POST /webhook/dlq/dlv_1/retry', json(row, 202));
  api.on(
    'POST /webhook/dlq/dlv_2/retry',
    problem(409, 'endpoint_disabled', 'The endpoint is off.'),
  );
  api.on('POST /webhook/dlq/dlv_3/retry', json(row, 202));
  await ends(cli('dlq retry dlv_1 dlv_2 dlv_3'), 7, [
    '✗ dlv_2: The endpoint is off. (409 endpoint_disabled)\n',
    'Retry queued for dlv_3',
    'error: 1 of 3 refused (partly_done)',
  ]);
});

test.each([
  [404, 'delivery_not_found', 3],
  [409, 'delivery_finished', 6],
])('dlq retry of one id that is refused with %d %s ends with %d', async (status, code, exit) => {
  api.on('POST /webhook/dlq/dlv_1/retry', problem(status, code, 'No.'));
  expect(await cli('dlq retry dlv_1 --json')).toMatchObject({ code: exit, stdout: '' });
});

test('dlq retry of several ids stops at what would befall them all', async () => {
  api.on('POST /webhook/dlq/dlv_1/retry', json(row, 202));
  api.on('POST /webhook/dlq/dlv_2/retry', problem(401, 'token_revoked', 'The token is revoked.'));
  expect(await cli('dlq retry dlv_1 dlv_2 dlv_3')).toMatchObject({ code: 4 });
  expect(api.requests.map(({ path }) => path)).not.toContain('/webhook/dlq/dlv_3/retry');
});

test('dlq retry --all --dry-run prints what it would do and does nothing', async () => {
  offerJob();
  const argv = 'retry --all --status abandoned --from 2h --to 2026-03-05 --dry-run'.split(' ');
  expect((await cli(['dlq', ...argv])).stdout).toBe(`1204\tstatus\tep_1\t${row.target}\n`);
  expect(bodies()).toEqual([
    {
      status: 'abandoned',
      failed_from: '2026-03-05T10:00:00.000000Z',
      failed_to: '2026-03-05T23:59:59.999999Z',
      dry_run: true,
    },
  ]);
  expect(await jsonOf(['dlq', ...argv, '--json'])).toEqual(preview);
  expect((await cli(['dlq', ...argv], { isTerminal: true })).stderr).toContain(
    '1,204 rows would be retried; 3 left alone, because their endpoint is disabled · do it: svcctl dlq retry --all --status abandoned --from 2h --to 2026-03-05',
  );
});

test('dlq retry --all shows which rows, asks, and follows the job to its end', async () => {
  offerJob({ rows_done: 500 }, { state: 'completed', rows_done: 1201, rows_skipped: 3 });
  await ends(cli('dlq retry --all --rate 100', { typed: 'y\n' }), 0, '', [
    /ROWS +CLASS +ENDPOINT +TARGET\n1,204 +status +ep_1 +hooks/,
    'Retry 1,204 rows? [y/N]',
    '✓ Retry queued for 1,201 rows, 3 left alone, because their endpoint is disabled.',
  ]);
  expect(bodies()).toEqual([{ dry_run: true }, { rate: 100 }]);
});

test('dlq retry --all does nothing after a no', async () => {
  offerJob();
  expect(await cli('dlq retry --all', { typed: 'n\n' })).toMatchObject({ code: 130, stdout: '' });
  expect(bodies()).toEqual([{ dry_run: true }]);
});

test('dlq retry --all says so when there is nothing to retry', async () => {
  api.on('POST /webhook/dlq/retry', json({ count: 0, skipped: 0, groups: [] }));
  expect(await cli('dlq retry --all --yes')).toMatchObject({
    code: 0,
    stderr: 'Nothing to retry.\n',
  });
  expect(asked('POST')).toHaveLength(1);
});

test('dlq retry --all --no-wait prints the job alone; --json prints it whole', async () => {
  offerJob({ state: 'completed', rows_done: 1204 });
  expect((await cli('dlq retry --all --yes --no-wait')).stdout).toBe('rty_1\n');
  expect(asked('GET')).toEqual([]);
  expect(await jsonOf('dlq retry --all --yes --json')).toMatchObject({
    state: 'completed',
    rows_done: 1204,
  });
});

test('dlq retry --all leaves the job at work on Ctrl-C and says how to look and to stop it', async () => {
  offerJob({ rows_done: 500 });
  const interrupt = new AbortController();
  const waiting = cli('dlq retry --all --yes', { signal: interrupt.signal });
  await expect.poll(() => asked('GET').length).toBeGreaterThan(0);
  interrupt.abort();
  const { code, stderr } = await waiting;
  expect(code).toBe(130);
  expect(stderr).toContain(
    'goes on without this command. Look: svcctl dlq jobs · stop it: svcctl dlq cancel rty_1',
  );
  expect(asked('DELETE')).toEqual([]);
});

test('dlq retry --all tells a pause once and ends with 7 when the job is cancelled', async () => {
  offerJob({ state: 'paused' }, { state: 'paused' }, { state: 'cancelled', rows_done: 500 });
  const { code, stderr } = await cli('dlq retry --all --yes');
  expect(code).toBe(7);
  expect(stderr.match(/rty_1 is paused\. Go on: svcctl dlq resume rty_1/g)).toHaveLength(1);
  expect(stderr).toContain('rty_1 was cancelled after 500 of 1,204 rows');
});

test('dlq retry --all says once that it waits for its endpoint, and goes on when that is enabled', async () => {
  const waits = { waits_for_endpoint: true, endpoint_id: 'ep_1', rows_done: 500 };
  offerJob(waits, waits, { state: 'completed', rows_done: 1204 });
  const { code, stderr } = await cli('dlq retry --all --endpoint ep_1 --yes');
  expect(code).toBe(0);
  expect(stderr.match(/waits: its endpoint is disabled/g)).toHaveLength(1);
  expect(stderr).toContain('Go on: svcctl endpoints enable ep_1');
});

test('dlq retry --all ends with 7 and the command for the rest when an endpoint was disabled meanwhile', async () => {
  offerJob({ state: 'completed', rows_done: 1000, rows_skipped: 204, rows_left: 201 });
  await ends(cli('dlq retry --all --tenant TX --yes'), 7, [
    '201 were left alone, because their endpoint was disabled meanwhile',
    'ask for the rest: svcctl dlq retry --all --tenant TX',
  ]);
});

test('dlq retries lists the jobs with their filters', async () => {
  api.on('GET /webhook/dlq/retries', json({ data: [{ ...job, rate: 5 }], next_cursor: null }));
  const { stdout } = await cli('dlq retries');
  expect(stdout).toBe(
    'rty_1\trunning\t0\t1204\t0\tstatus=abandoned rate=5\tops\t2026-03-05T11:00:00.000000Z\n',
  );
});

test('dlq pause, resume and cancel change the job', async () => {
  api.on('PATCH /webhook/dlq/jobs/rty_1', json({ ...job, rows_done: 7 }));
  api.on('DELETE /webhook/dlq/jobs/rty_1', noContent);
  api.on('GET /webhook/dlq/jobs/rty_1', json({ ...job, state: 'completed' }));
  expect((await cli('dlq pause rty_1')).stderr).toContain('Paused rty_1 at 7 of 1,204.');
  await cli('dlq resume rty_1');
  await cli('dlq resume rty_1 --rate none');
  expect(asked('PATCH').map(({ body }) => JSON.parse(String(body)))).toEqual([
    { state: 'paused' },
    { state: 'running' },
    { state: 'running', rate: null },
  ]);
  expect((await cli('dlq cancel rty_1')).stderr).toBe('rty_1 had ended already: completed.\n');
});

test('dlq groups sums up by endpoint and class', async () => {
  const group = {
    endpoint_id: 'ep_1',
    tenant: 'TX',
    target: row.target,
    failure_class: 'status',
    count: 1204,
    first_seen: '2026-03-05T09:00:00.000000Z',
    last_seen: '2026-03-05T11:00:00.000000Z',
    error: 'Service Unavailable',
  };
  api.on('GET /webhook/dlq/groups', json({ data: [group], next_cursor: null }));
  const { stdout } = await cli('dlq groups', { isTerminal: true });
  expect(stdout).toMatch(/\n1,204 +status +TX +ep_1 +hooks.* 3 h ago +1 h ago +Serv/);
  expect(api.requests[0]?.query).toEqual({ status: 'abandoned', limit: '100' });
});

test.each([
  ['y\n', 0, 2],
  ['n\n', 130, 0],
])('dlq purge asks at a terminal: %j ends with %d', async (typed, exit, calls) => {
  api.on('*', noContent);
  await ends(cli('dlq purge dlv_1 dlv_2', { typed }), exit, [
    'Discard 2 deliveries? It cannot be undone. [y/N]',
  ]);
  expect(asked('DELETE')).toHaveLength(calls);
});
