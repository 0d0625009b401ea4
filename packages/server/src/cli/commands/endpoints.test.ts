import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { rowOf } from '../testing/answers.ts';
import { prepareCli, refusesUsage } from '../testing/prepare-cli.ts';
import { json, pages } from '../testing/receiver.ts';
import { ends, slowly, useFolder } from '../testing/run.ts';
import type { Endpoint } from '../webhooks/endpoints.ts';

const folder = useFolder();
const { api, cli, jsonOf } = prepareCli(folder);

const endpoint: Endpoint = rowOf('GET /webhook/endpoints', {
  id: 'ep_1',
  tenant: 'TX',
  type: 'push',
  url: 'https://hooks.acme.example/in',
  event_types: ['*'],
  health: 'ok',
  enabled: true,
  retry_schedule: [5, 60],
  ordered: 'group',
  when_stuck: 'block',
  breaker: { state: 'closed', failures_in_row: 0, paused_until: null },
  backlog: { count: 0, is_exact: true, is_discarding: false },
});
const secret = 'whsec_c2VjcmV0';
const bodies = () => api.requests.map(({ body }) => JSON.parse(String(body)));
const create = 'endpoints create --tenant TX --url https://hooks.acme.example/in';

refusesUsage(api, [
  [`${create} --header X-Key`, 'written as "Name: value"'],
  [`${create} --header @nowhere.txt`, 'cannot be read'],
  [`${create} --retry-schedule 5,x`, 'not a list of seconds'],
  [`${create} --max-attempts 0`, 'not a whole number from 1'],
  ['endpoints change ep_1', 'say what to change'],
]);

test('endpoints create prints the secret alone on stdout, or the whole as JSON', async () => {
  api.on('POST /webhook/endpoints', json({ ...endpoint, secret }, 201));
  const { stderr } = await ends(cli(create), 0, `${secret}\n`, []);
  expect(stderr).toBe(
    'Registered ep_1 of TX: https://hooks.acme.example/in. The secret is shown only this once.\n',
  );
  expect(await jsonOf(`${create} --json`)).toEqual({ ...endpoint, secret });
});

test('endpoints create sends what is given, and reads a secret from stdin', async () => {
  api.on('POST /webhook/endpoints', json({ ...endpoint, secret }, 201));
  await cli(create);
  await cli(
    `${create} --event a.b c.d --max-attempts 3 --retry-schedule 5,60 --rate-limit default --description D --disabled --secret -`,
    { stdin: `${secret}\n` },
  );
  const least = { tenant: 'TX', url: endpoint.url };
  expect(bodies()).toEqual([
    least,
    {
      ...least,
      event_types: ['a.b', 'c.d'],
      max_attempts: 3,
      retry_schedule: [5, 60],
      description: 'D',
      enabled: false,
      secret,
    },
  ]);
});

test('endpoints change sends only what is named; default and an empty text are null', async () => {
  api.on('PATCH /webhook/endpoints/ep_1', json(endpoint));
  await cli('endpoints change ep_1 --rate-limit 20');
  expect(
    await jsonOf([...'endpoints change ep_1 --max-attempts default --description'.split(' '), '']),
  ).toEqual(endpoint);
  expect(bodies()).toEqual([{ rate_limit: 20 }, { max_attempts: null, description: null }]);
});

test('how it is sent to is set by options, and shown where it differs from the defaults', async () => {
  const delivery = { timeout_seconds: 5, no_retry_on: [400, 422], expires_after_seconds: 3600 };
  api.on('PATCH /webhook/endpoints/ep_1', json({ ...endpoint, delivery }));
  const options = '--timeout 5 --final-status 400,422 --expires-after 3600 --max-in-flight default';
  const { stdout } = await cli(`endpoints change ep_1 ${options}`, { isTerminal: true });
  expect(bodies()).toEqual([{ delivery: { ...delivery, max_in_flight: null } }]);
  expect(stdout).toMatch(/^time limit +5 s an attempt$/m);
  expect(stdout).toMatch(/^final answers +400, 422$/m);
  expect(stdout).toMatch(/^expires after +3600 s$/m);
  expect(stdout).not.toMatch(/^in flight/m);
  const wrong = await cli('endpoints change ep_1 --final-status 400,500');
  expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('not a list of 4xx') });
});

test('a signature in another form is one text, and the key that it has may be in a file', async () => {
  await writeFile(join(folder.path, 'key.txt'), 'as-it-was\n');
  const signature = { header: 'X-Sig', value: 't={timestamp},v1={hex}', signs: '{body}' };
  const delivery = { signature: { ...signature, has_own_secret: true }, public_key: 'whpk_x' };
  api.on('PATCH /webhook/endpoints/ep_1', json({ ...endpoint, delivery }));
  const change = 'endpoints change ep_1 --asymmetric on --signature-secret @key.txt --signature';
  const { stdout } = await cli([...change.split(' '), 'X-Sig: t={timestamp},v1={hex}'], {
    isTerminal: true,
  });
  await cli('endpoints change ep_1 --signature default --asymmetric off');
  const { header, value } = signature;
  expect(bodies()).toEqual([
    { delivery: { signature: { header, value, secret: 'as-it-was' }, asymmetric: true } },
    { delivery: { signature: null, asymmetric: false } },
  ]);
  expect(stdout).toMatch(/^signature +X-Sig: t=\{timestamp\},v1=\{hex\} of \{body\}$/m);
  expect(stdout).toMatch(/^public key +whpk_x$/m);
  expect(await cli('endpoints change ep_1 --signature-of {body}')).toMatchObject({ code: 2 });
});

test('certificates are read from files, and taken away by a word; the key goes with its own', async () => {
  for (const name of ['cert', 'key', 'ca']) await writeFile(join(folder.path, name), `${name}\n`);
  const shown = { subject: 'CN=a', expires_at: '2027-01-01T00:00:00.000000Z' };
  api.on(
    'PATCH /webhook/endpoints/ep_1',
    json({ ...endpoint, delivery: { tls: { certificate: shown } } }),
  );
  const all = 'endpoints change ep_1 --client-cert cert --client-key key --ca ca';
  const { stdout } = await cli(all, { isTerminal: true });
  await cli('endpoints change ep_1 --client-cert default');
  expect(bodies()).toEqual([
    { delivery: { tls: { certificate: 'cert', key: 'key', ca: 'ca' } } },
    { delivery: { tls: { certificate: null, key: null } } },
  ]);
  expect(stdout).toMatch(/^client certificate +CN=a, until 2027-01-01 00:00:00/m);
  expect(await cli('endpoints change ep_1 --ca missing.pem')).toMatchObject({ code: 2 });
});

test('headers are read from options and files; one without a value is taken away', async () => {
  await writeFile(join(folder.path, 'headers.txt'), 'Authorization: Bearer a:b\r\n\nX-Old:\n');
  api.on('PATCH /webhook/endpoints/ep_1', json({ ...endpoint, header_names: ['Authorization'] }));
  const change = 'endpoints change ep_1 --header @headers.txt'.split(' ');
  const { stdout } = await cli([...change, 'X-Key: k'], { isTerminal: true });
  expect(stdout).toMatch(/headers\s+Authorization\n/);
  expect(bodies()).toEqual([
    { headers: { Authorization: 'Bearer a:b', 'X-Old': null, 'X-Key': 'k' } },
  ]);
});

test('endpoints create and change say what is seldom meant', async () => {
  const warning = 'incident.craeted: not among incident.created.';
  const warnings = [warning];
  api.on('POST /webhook/endpoints', json({ ...endpoint, secret, warnings }, 201));
  api.on('PATCH /webhook/endpoints/ep_1', json({ ...endpoint, warnings }));
  expect((await cli(create)).stderr).toContain(`Mind: ${warning}\n`);
  const changed = await cli('endpoints change ep_1 --event incident.craeted');
  expect(changed.stderr).toContain(`Mind: ${warning}\n`);
});

test('endpoints enable and disable say what becomes of what waits', async () => {
  api.on('PATCH /webhook/endpoints/ep_1', json(endpoint));
  expect((await cli('endpoints enable ep_1')).stderr).toContain('Enabled ep_1 (https://hooks');
  expect((await cli('endpoints disable ep_1')).stderr).toContain('What comes for it waits');
  expect(bodies()).toEqual([{ enabled: true }, { enabled: false }]);
});

test.each<[string, Partial<Endpoint>]>([
  ['enabled', {}],
  ['degraded', { health: 'degraded' }],
  ['polled', { type: 'pull', url: 'pull:', name: 'SOC' }],
  ['waits for its poller', { type: 'pull', url: 'pull:', health: 'unpolled' }],
  ['disabled', { enabled: false, disabled_reason: 'operator' }],
  ['disabled (410 Gone)', { enabled: false, disabled_reason: 'gone' }],
  [
    'paused, again in 5 min',
    {
      breaker: { state: 'open', failures_in_row: 20, paused_until: '2026-03-05T12:05:00.000000Z' },
    },
  ],
  ['probing', { breaker: { state: 'probing', failures_in_row: 20, paused_until: null } }],
])('an endpoint shows as %s', async (state, change) => {
  const row = { ...endpoint, ...change };
  api.on('GET /webhook/endpoints', pages([JSON.stringify(row)]));
  api.on('GET /webhook/endpoints/ep_1', json(row));
  const { stdout } = await cli('endpoints ls');
  const { url, name } = row;
  expect(stdout).toBe(`ep_1\tTX\t${url}\t*\t${state}\t0\t${name ?? ''}\n`);
  const wide = (await cli('endpoints ls -o wide', { isTerminal: true })).stdout;
  expect(wide).toContain(row.type === 'pull' ? 'polled by its receiver' : 'hooks.acme.example/in');
  const shown = (await cli('endpoints show ep_1', { isTerminal: true })).stdout;
  const schedule = /^retry schedule +5, 60 s$/m;
  if (change.type === 'pull') expect(shown).not.toMatch(schedule);
  else expect(shown).toMatch(schedule);
  expect(shown.split('\n').find((line) => line.startsWith('state'))).toContain(state);
});

test('endpoints enable says what waited, and discards it instead when told to', async () => {
  const backlog = { count: 1204, is_exact: true, is_discarding: false };
  api.on('GET /webhook/endpoints/ep_1', json({ ...endpoint, enabled: false, backlog }));
  api.on('PATCH /webhook/endpoints/ep_1', json({ ...endpoint, backlog }));
  expect((await cli('endpoints enable ep_1')).stderr).toContain(
    'What waited for it (1,204 deliveries) is sent when the drainer runs.',
  );
  const discard = 'endpoints enable ep_1 --discard-backlog';
  expect(await cli(discard)).toMatchObject({ code: 2, stdout: '' });
  api.on('POST /webhook/endpoints/ep_1/discard-backlog', json(endpoint));
  expect((await cli(`${discard} --yes`)).stderr).toContain('Discarded what waited for ep_1');
  api.on(
    'POST /webhook/endpoints/ep_1/discard-backlog',
    json({ ...endpoint, enabled: false, backlog: { ...backlog, is_discarding: true } }),
  );
  expect((await cli(`${discard} --yes`)).stderr).toContain('is being discarded; then it is');
});

test('endpoints show says since when and by whom it is disabled, and what waits', async () => {
  const row = {
    ...endpoint,
    enabled: false,
    disabled_reason: 'operator',
    disabled_at: '2026-03-05T11:00:00.000000Z',
    disabled_by: 'ops',
    backlog: { count: 10_000, is_exact: false, is_discarding: false },
    held_back: { since: '2026-03-05T11:30:00.000000Z', until: null },
  };
  api.on('GET /webhook/endpoints/ep_1', json(row));
  const { stdout } = await cli('endpoints show ep_1', { isTerminal: true });
  expect(stdout).toMatch(/^disabled +since 2026-03-05 11:00:00.* UTC by ops$/m);
  expect(stdout).toMatch(/^backlog +10,000\+, held back$/m);
});

test('endpoints show tells the last error first, how it answered, and what to look at', async () => {
  const period = { attempts: 1204, delivered: 1195, success_share: 1195 / 1204, answered: 1200 };
  const times = { p50_ms: 20, p95_ms: 700, p99_ms: 1500 };
  const none = { attempts: 0, delivered: 0, success_share: null, answered: 0 };
  const attempt = { delivery_id: 'dlv_9', started_at: '2026-03-05T11:58:00.000000Z' };
  const failed = {
    status: 503,
    failure_class: 'status' as const,
    error: '503 Service Unavailable',
  };
  const story: Endpoint['story'] = {
    last_error: { at: attempt.started_at, delivery_id: 'dlv_9', ...failed, answer: 'down\n' },
    attempts: [
      { ...attempt, number: 3, duration_ms: 41, ...failed },
      {
        ...attempt,
        number: 2,
        duration_ms: 15_000,
        ...failed,
        status: null,
        failure_class: 'timeout_headers',
        error: null,
      },
      {
        ...attempt,
        delivery_id: 'dlv_8',
        number: 1,
        duration_ms: 12,
        status: 204,
        failure_class: null,
        error: null,
      },
    ],
    periods: [
      { hours: 24, ...period, ...times },
      { hours: 168, ...none, p50_ms: null, p95_ms: null, p99_ms: null },
    ],
    oldest_waiting: { since: '2026-03-05T10:00:00.000000Z', is_exact: false },
    polled: null,
    dead_letters: [{ status: 'abandoned', failure_class: 'status', count: 86 }],
    blocked: [
      {
        key: 'case 1',
        delivery_id: 'dlv_9',
        since: attempt.started_at,
        attempts: 8,
        max_attempts: 8,
        next_retry: null,
        status: 'abandoned',
        failure_class: 'status',
        error: failed.error,
        waiting: { count: 1000, is_exact: false },
      },
    ],
    jobs: [],
    replays: [],
  };
  api.on('GET /webhook/endpoints/ep_1', json({ ...endpoint, story }));
  const { stdout, stderr } = await cli('endpoints show ep_1', { isTerminal: true });
  expect(api.requests[0]?.query).toEqual({ include: 'story' });
  expect(stdout).toMatch(
    /^last error +2 min ago, 503 Service Unavailable \(refused by status\): down · svcctl dlq show dlv_9$/m,
  );
  expect(stdout).toMatch(
    /^24 h +99 % of 1,204 attempts delivered · answers p50 ≤ 20 ms, p95 ≤ 700 ms, p99 ≤ 1.5 s$/m,
  );
  expect(stdout).toMatch(/^7 d +no attempt$/m);
  expect(stdout).toMatch(/^oldest waiting +since 2026-03-05 10:00:00 UTC, 2 h ago, or longer$/m);
  expect(stdout).toMatch(/^dead letters +86 abandoned \(refused by status\)$/m);
  expect(stdout).toMatch(/41 ms {2}dlv_9 {2}503 Service Unavailable \(refused by status\)\n/);
  expect(stdout).toMatch(
    /15 s {2}dlv_9 {2}failed \(time-out: no answer\)\n.*dlv_8 {2}204 delivered/,
  );
  expect(stdout).toMatch(/^ordered +by group; what is abandoned blocks the others$/m);
  expect(stdout).toContain(
    'case 1  1,000+ waiting since 2026-03-05 11:58:00 UTC  dlv_9  503 Service Unavailable, abandoned',
  );
  expect(stderr).toContain("svcctl endpoints skip ep_1 --key 'case 1'");
  expect(stderr).toContain('svcctl dlq retry --all --status abandoned --endpoint ep_1');
  expect(await jsonOf('endpoints show ep_1 --json story')).toEqual({ story });

  for (const [attempts, said] of [
    [[], 'none: no attempt is remembered'],
    [
      story.attempts.slice(2),
      'none: its newest attempts were delivered, and it has no dead letter',
    ],
  ] as const) {
    const well = { ...story, last_error: null, dead_letters: [], blocked: [], attempts };
    api.on('GET /webhook/endpoints/ep_1', json({ ...endpoint, story: well }));
    const shown = await cli('endpoints show ep_1', { isTerminal: true });
    expect(shown.stdout).toMatch(new RegExp(`^last error +${said}$`, 'm'));
  }
});

test('endpoints skip names what was skipped, and what goes now', async () => {
  const answer = { key: 'case 1', skipped: 'dlv_9', next: 'dlv_10' };
  api.on('POST /webhook/endpoints/ep_1/skip', json(answer));
  const { stderr } = await cli(['endpoints', 'skip', 'ep_1', '--key', 'case 1']);
  expect(bodies()).toEqual([{ key: 'case 1' }]);
  expect(stderr).toBe(
    'Skipped dlv_9 of case 1. dlv_10 goes now. Send it after all: svcctl dlq retry dlv_9\n',
  );
});

test('endpoints delete and rotate-secret ask at a terminal; a no changes nothing', async () => {
  api.on('POST /webhook/endpoints/ep_1/rotate-secret', json({ ...endpoint, secret }));
  expect(await cli('endpoints delete ep_1', { typed: 'n\n' })).toMatchObject({
    code: 130,
    stdout: '',
  });
  expect(await cli('endpoints rotate-secret ep_1', { typed: '\n' })).toMatchObject({ code: 130 });
  expect(api.requests).toEqual([]);
  expect(await cli('endpoints rotate-secret ep_1', { typed: 'y\n' })).toMatchObject({
    code: 0,
    stdout: `${secret}\n`,
  });
});

test('what was polled is acknowledged when its reader has it', async () => {
  const taken: string[] = [];
  const takenBefore: string[][] = [];
  const answers = ['e1', 'e2', undefined];
  api.on('GET /webhook/endpoints/ep_1/deliveries/poll', (request, response) => {
    takenBefore.push([...taken]);
    const id = answers[takenBefore.length - 1];
    json({ data: id === undefined ? [] : [{ id }], next_cursor: id ?? null })(request, response);
  });
  const onStdout = async (text: string) => {
    await slowly();
    if (text !== '') taken.push(JSON.parse(text).id);
  };
  await ends(cli('endpoints poll ep_1 --once', { onStdout }), 0);
  expect(takenBefore).toEqual([[], ['e1'], ['e1', 'e2']]);
});
