import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { json, pages, problem, type Receiver, startReceiver } from './testing/receiver.ts';
import { newFolder, run } from './testing/run.ts';
import type { Endpoint } from './webhooks/endpoints.ts';

let api: Receiver;
beforeAll(async () => {
  api = await startReceiver();
});
afterEach(() => api.reset());
afterAll(() => api.close());

const endpoint: Endpoint = {
  id: 'ep_1',
  tenant: 'TX',
  url: 'https://hooks.acme.example/in',
  description: null,
  event_types: ['*'],
  health: 'ok',
  enabled: true,
  disabled_reason: null,
  disabled_at: null,
  disabled_by: null,
  max_attempts: null,
  retry_schedule: [5, 60],
  rate_limit: null,
  disable_after_days: null,
  failing_since: null,
  breaker: { state: 'closed', failures_in_row: 0, paused_until: null },
  backlog: { count: 0, is_exact: true, is_discarding: false },
  throttled_until: null,
  previous_secret_until: null,
  created_at: '2026-03-05T10:00:00.000000Z',
  updated_at: '2026-03-05T10:00:00.000000Z',
};
const secret = 'whsec_c2VjcmV0';
const call = (words: string, options: { isTerminal?: boolean; stdin?: string } = {}) =>
  run(words.split(' '), { env: { ...api.env, NO_COLOR: '1' }, ...options });
const bodies = () => api.requests.map(({ body }) => JSON.parse(String(body)));
const create = 'endpoints create --tenant TX --url https://hooks.acme.example/in';

test.each([
  ['endpoints create --url https://x.example', '--tenant is missing'],
  ['endpoints create --tenant TX', '--url is missing'],
  [`${create} --retry-schedule 5,x`, 'not a list of seconds'],
  [`${create} --max-attempts 0`, 'not a whole number from 1'],
  ['endpoints change ep_1', 'say what to change'],
  ['endpoints delete ep_1', 'Delete without asking: --yes'],
  ['endpoints rotate-secret ep_1', 'Rotate without asking: --yes'],
  ['incidents send --type a.b', '--tenant is missing'],
  ['incidents send --tenant TX', '--type is missing'],
  ['incidents send --tenant TX --type a.b --data x.json', 'it is not JSON'],
  ['deliveries ls --status lost', 'Allowed choices are queued'],
])('%s is a usage error, before anything is asked', async (words, message) => {
  const { code, stdout, stderr } = await call(words);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain(message);
  expect(api.requests).toEqual([]);
});

test('endpoints create prints the secret alone on stdout, or the whole as JSON', async () => {
  api.on('POST /webhook/endpoints', json({ ...endpoint, secret }, 201));
  const { code, stdout, stderr } = await call(create);
  expect({ code, stdout }).toEqual({ code: 0, stdout: `${secret}\n` });
  expect(stderr).toBe(
    'Registered ep_1 of TX: https://hooks.acme.example/in. The secret is shown only this once.\n',
  );
  expect(JSON.parse((await call(`${create} --json`)).stdout)).toEqual({ ...endpoint, secret });
});

test('endpoints create sends what is given, and reads a secret from stdin', async () => {
  api.on('POST /webhook/endpoints', json({ ...endpoint, secret }, 201));
  await call(create);
  await call(
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
  await call('endpoints change ep_1 --rate-limit 20');
  const { stdout } = await run(
    [...'endpoints change ep_1 --max-attempts default --description'.split(' '), ''],
    { env: api.env },
  );
  expect(JSON.parse(stdout)).toEqual(endpoint);
  expect(bodies()).toEqual([{ rate_limit: 20 }, { max_attempts: null, description: null }]);
});

test('endpoints create and change say what is seldom meant', async () => {
  const warning = 'incident.craeted: not among incident.created.';
  const warnings = [warning];
  api.on('POST /webhook/endpoints', json({ ...endpoint, secret, warnings }, 201));
  api.on('PATCH /webhook/endpoints/ep_1', json({ ...endpoint, warnings }));
  expect((await call(create)).stderr).toContain(`Mind: ${warning}\n`);
  const changed = await call('endpoints change ep_1 --event incident.craeted');
  expect(changed.stderr).toContain(`Mind: ${warning}\n`);
});

test('endpoints enable and disable say what becomes of what waits', async () => {
  api.on('PATCH /webhook/endpoints/ep_1', json(endpoint));
  expect((await call('endpoints enable ep_1')).stderr).toContain('Enabled ep_1 (https://hooks');
  expect((await call('endpoints disable ep_1')).stderr).toContain('What comes for it waits');
  expect(bodies()).toEqual([{ enabled: true }, { enabled: false }]);
});

test.each<[string, Partial<Endpoint>]>([
  ['enabled', {}],
  ['degraded', { health: 'degraded' }],
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
  const { stdout } = await call('endpoints ls');
  expect(stdout).toBe(`ep_1\tTX\thttps://hooks.acme.example/in\t*\t${state}\t0\n`);
  const shown = (await call('endpoints show ep_1', { isTerminal: true })).stdout;
  expect(shown).toMatch(/^retry schedule +5, 60 s$/m);
  expect(shown.split('\n').find((line) => line.startsWith('state'))).toContain(state);
});

test('endpoints enable says what waited, and discards it instead when told to', async () => {
  const backlog = { count: 1204, is_exact: true, is_discarding: false };
  api.on('GET /webhook/endpoints/ep_1', json({ ...endpoint, enabled: false, backlog }));
  api.on('PATCH /webhook/endpoints/ep_1', json({ ...endpoint, backlog }));
  expect((await call('endpoints enable ep_1')).stderr).toContain(
    'What waited for it (1,204 deliveries) is sent when the drainer runs.',
  );
  const discard = 'endpoints enable ep_1 --discard-backlog';
  expect(await call(discard)).toMatchObject({ code: 2, stdout: '' });
  api.on('POST /webhook/endpoints/ep_1/discard-backlog', json(endpoint));
  expect((await call(`${discard} --yes`)).stderr).toContain('Discarded what waited for ep_1');
  api.on(
    'POST /webhook/endpoints/ep_1/discard-backlog',
    json({ ...endpoint, enabled: false, backlog: { ...backlog, is_discarding: true } }),
  );
  expect((await call(`${discard} --yes`)).stderr).toContain('is being discarded; then it is');
});

test('endpoints show says since when and by whom it is disabled, and what waits', async () => {
  const row = {
    ...endpoint,
    enabled: false,
    disabled_reason: 'operator',
    disabled_at: '2026-03-05T11:00:00.000000Z',
    disabled_by: 'ops',
    backlog: { count: 10_000, is_exact: false, is_discarding: false },
  };
  api.on('GET /webhook/endpoints/ep_1', json(row));
  const { stdout } = await call('endpoints show ep_1', { isTerminal: true });
  expect(stdout).toMatch(/^disabled +since 2026-03-05 11:00:00.* UTC by ops$/m);
  expect(stdout).toMatch(/^backlog +10,000\+$/m);
});

test('endpoints delete and rotate-secret ask at a terminal; a no changes nothing', async () => {
  api.on('POST /webhook/endpoints/ep_1/rotate-secret', json({ ...endpoint, secret }));
  const asked = async (words: string, typed: string) => {
    const stdin = new PassThrough();
    stdin.write(typed);
    return run(words.split(' '), { env: api.env, stdin, isTerminal: true });
  };
  expect(await asked('endpoints delete ep_1', 'n\n')).toMatchObject({ code: 130, stdout: '' });
  expect(await asked('endpoints rotate-secret ep_1', '\n')).toMatchObject({ code: 130 });
  expect(api.requests).toEqual([]);
  expect(await asked('endpoints rotate-secret ep_1', 'y\n')).toMatchObject({
    code: 0,
    stdout: `${secret}\n`,
  });
});

test('incidents ls passes its filters on, and says what became of the deliveries', async () => {
  const counts = { queued: 0, pending: 0, abandoned: 1, delivered: 2, discarded: 0 };
  const at = '2026-03-05T14:07:09.000000Z';
  const times = { occurred_at: at, created_at: at };
  const incident = { id: 'inc_1', tenant: 'TX', store: null, type: 'a.b', ...times };
  const data = [{ ...incident, delivery_counts: counts }];
  api.on('GET /incidents', json({ data, next_cursor: null }));
  const ls = (...argv: string[]) => run(['incidents', 'ls', ...argv], { env: api.env });
  const days = ['--from', '2026-03-01', '--to', '2026-03-05'];
  const { stdout } = await ls('--failed', '--type', 'a.', '--store', 'S', ...days);
  expect(stdout).toContain('1 abandoned, 2 delivered');
  expect(api.requests.at(-1)?.query).toEqual({
    ...{ deliveries: 'failed', type: 'a.', store: 'S', from: '2026-03-01', to: '2026-03-05' },
    ...{ include: 'delivery_counts', limit: '100' },
  });
  expect(JSON.parse((await ls('--json', 'id,delivery_counts')).stdout)).toEqual([
    { id: 'inc_1', delivery_counts: counts },
  ]);
  expect(await ls('--from', '2026-03-01')).toMatchObject({ code: 2 });
});

test('incidents send takes data as JSON, from a file and from stdin, and prints the id', async () => {
  const cwd = await newFolder();
  await writeFile(join(cwd, 'i.json'), '{"from":"file"}');
  api.on('POST /incidents', json({ id: 'inc_1', deliveries: [{ id: 'dlv_1' }] }, 202));
  const send = (argv: string[], stdin = '') =>
    run(['incidents', 'send', '--tenant', 'TX', '--type', 'a.b', ...argv], {
      env: api.env,
      cwd,
      stdin,
    });
  const { stdout, stderr } = await send([]);
  expect(stdout).toBe('inc_1\n');
  expect(stderr).toBe('Accepted, with 1 delivery. Look: svcctl incidents show inc_1\n');
  await send(['--data', '[1]']);
  await send(['--data', '@i.json']);
  await send(['--data', '-'], '{"from":"stdin"}');
  expect(bodies().map(({ data }) => data)).toEqual([{}, [1], { from: 'file' }, { from: 'stdin' }]);
  expect(await send(['--data', '@none.json'])).toMatchObject({ code: 1 });
  await send(['--data', '{"id": 12345678901234567890}']);
  expect(String(api.requests.at(-1)?.body)).toContain('"data":{"id": 12345678901234567890}}');
});

test('incidents send ends with 130 on Ctrl-C while it waits for stdin', async () => {
  const interrupt = new AbortController();
  const waiting = run('incidents send --tenant TX --type a.b --data -'.split(' '), {
    env: api.env,
    stdin: new PassThrough(),
    signal: interrupt.signal,
  });
  setImmediate(() => interrupt.abort());
  expect(await waiting).toMatchObject({ code: 130, stdout: '' });
  expect(api.requests).toEqual([]);
});

test('incidents send is repeated while the service is busy only with a key', async () => {
  const busy = problem(503, 'not_ready', 'Starting.', { headers: { 'retry-after': '1' } });
  let calls = 0;
  api.on('POST /incidents', (request, response) => {
    calls += 1;
    (calls % 2 === 1 ? busy : json({ id: 'inc_1', deliveries: [] }, 202))(request, response);
  });
  const words = 'incidents send --tenant TX --type a.b';
  expect(await call(words)).toMatchObject({ code: 5 });
  calls = 0;
  const { code, stderr } = await call(
    `${words} --key k --store S --occurred-at 2026-03-05T00:00:00Z`,
  );
  expect(code).toBe(0);
  expect(stderr).toBe('Accepted. No endpoint of TX wants a.b: nothing to deliver.\n');
  expect(bodies().at(-1)).toEqual({
    tenant: 'TX',
    type: 'a.b',
    data: {},
    store: 'S',
    occurred_at: '2026-03-05T00:00:00Z',
    idempotency_key: 'k',
  });
});

test('deliveries ls asks with its filters and says that there are older ones', async () => {
  const row = JSON.stringify({
    id: 'dlv_1',
    target: endpoint.url,
    status: 'delivered',
    attempts: 1,
  });
  api.on('GET /webhook/deliveries', pages([row], [row]));
  const filters = '--status delivered --tenant TX --endpoint ep_1 --incident inc_1';
  const { stderr } = await call(`deliveries ls ${filters} --limit 1`, { isTerminal: true });
  expect(stderr).toBe('1 delivery · there are older ones: --limit · one: svcctl dlq show dlv_…\n');
  expect(api.requests.map(({ query }) => query)).toEqual([
    { status: 'delivered', tenant: 'TX', endpoint_id: 'ep_1', incident_id: 'inc_1', limit: '1' },
  ]);
});
