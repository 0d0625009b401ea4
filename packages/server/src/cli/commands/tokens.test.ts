import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { rowOf } from '../testing/answers.ts';
import { prepareCli, refusesUsage } from '../testing/prepare-cli.ts';
import { json, noContent } from '../testing/receiver.ts';
import { ends, run } from '../testing/run.ts';

const { api, cli } = prepareCli();

const row = rowOf('GET /tokens', {
  id: 'tok_1',
  name: 'ops',
  scopes: ['enrichment:read'],
  tenants: ['TX'],
  creator: { id: 'tok_0', name: 'boss' },
});

test('tokens create prints the token alone on stdout, the talk on stderr', async () => {
  api.on('POST /tokens', json({ ...row, token: 'svc_secret' }, 201));
  const { stderr } = await ends(
    cli('tokens create --name ops --preset support-readonly'),
    0,
    'svc_secret\n',
    ['Made tok_1 "ops" with enrichment:read; never expires. It is shown only this once.'],
  );
  expect(stderr).not.toContain('svc_secret');
});

test.each([
  [['--preset', 'pipeline'], { preset: 'pipeline' }],
  [
    ['--scope', 'analytics:read', 'enrichment:read'],
    { scopes: ['analytics:read', 'enrichment:read'] },
  ],
  [['--scope', 'admin', '--scope', 'incidents:write'], { scopes: ['admin', 'incidents:write'] }],
  [
    ['--preset', 'curator', '--from', '10.0.0.0/8'],
    { preset: 'curator', addresses: ['10.0.0.0/8'] },
  ],
  [['--preset', 'curator', '--tenant', 'A', 'B'], { preset: 'curator', tenants: ['A', 'B'] }],
  [
    ['--preset', 'admin', '--expires', '30d'],
    { preset: 'admin', expires_at: '2026-04-04T12:00:00.000000Z' },
  ],
  [
    ['--preset', 'admin', '--expires', '2027-01-01T00:00:00Z'],
    { preset: 'admin', expires_at: '2027-01-01T00:00:00Z' },
  ],
])('tokens create %j asks for %j', async (argv, asked) => {
  api.on('POST /tokens', json({ ...row, token: 'svc_secret' }, 201));
  expect(await cli(['tokens', 'create', '--name', 'ops', ...argv])).toMatchObject({ code: 0 });
  expect(JSON.parse(String(api.requests[0]?.body))).toEqual({ name: 'ops', ...asked });
});

refusesUsage(api, [
  ['tokens rotate tok_1 --yes --overlap soon', 'no span such as 24h or 7d'],
  ['tokens create --name ops', 'give either --preset or --scope'],
  ['tokens create --name ops --preset admin --scope admin', 'give either --preset or --scope'],
  [
    'tokens create --name ops --preset admin --expires soon',
    'neither a span such as 30d nor a time',
  ],
  [
    'tokens create --name ops --preset admin --token svc_x',
    'shows in the process list. Use SVC_TOKEN',
  ],
]);

test('tokens ls is a table with relative times on a terminal, RFC 3339 in a pipe', async () => {
  api.on('GET /tokens', json({ data: [row], next_cursor: null }));
  const env = { ...api.env, NO_COLOR: '1' };
  const shown = await run(['tokens', 'ls'], { env, isTerminal: true });
  expect(shown.stdout).toBe(
    'ID     NAME  SCOPES           TENANTS  FROM      CREATED  EXPIRES  LAST USED  MADE BY\n' +
      'tok_1  ops   enrichment:read  TX       anywhere  2 h ago  never    –          boss\n',
  );
  const piped = await run(['tokens', 'ls'], { env });
  expect(piped.stdout).toBe(
    'tok_1\tops\tenrichment:read\tTX\tanywhere\t2026-03-05T10:00:00.000000Z\t\t\tboss\n',
  );
});

test('tokens show tells what the list has of one, and knows no other', async () => {
  api.on('GET /tokens', json({ data: [{ ...row, id: 'tok_2' }, row], next_cursor: null }));
  await ends(
    cli('tokens show tok_1', { isTerminal: true }),
    0,
    /^id +tok_1\nname +ops\n.*created +2026-03-05 10:00:00 UTC, 2 h ago\nexpires +never\n.*made by +boss\n$/s,
  );
  await ends(cli('tokens get tok_1 --json id,name'), 0, '{"id":"tok_1","name":"ops"}\n');
  await ends(cli('tokens show tok_3'), 3);
});

test.each([
  ['y\n', 0, 1, /Revoked tok_1\.\n$/],
  ['n\n', 130, 0, /\(interrupted\)\n$/],
  ['\n', 130, 0, /\(interrupted\)\n$/],
])('tokens revoke asks at a terminal: %j ends with %d', async (typed, exit, calls, said) => {
  api.on('DELETE /tokens/tok_1', noContent);
  await ends(cli('tokens revoke tok_1', { typed }), exit, [said]);
  expect(api.requests).toHaveLength(calls);
});

test('an id goes into the path as one segment', async () => {
  const { code } = await cli('tokens revoke ../me?x --yes');
  expect(code).toBe(3);
  expect(api.requests[0]?.path).toBe('/tokens/..%2Fme%3Fx');
});

test('config prints every setting with where it is from, secrets masked', async () => {
  const env = {
    SVC_PORT: '9000',
    DATABASE_URL: 'postgresql://u:geheim@h/d',
    SVC_SECRET_KEY: 'geheim',
  };
  const { stdout } = await run(['config', '--json'], { env });
  expect(stdout).not.toContain('geheim');
  const settings = JSON.parse(stdout) as { name: string; value: unknown; source: string }[];
  const named = (name: string) => settings.find((setting) => setting.name === name);
  expect(named('SVC_PORT')).toMatchObject({ value: 9000, source: 'environment' });
  expect(named('DATABASE_URL')).toMatchObject({ value: '********', source: 'environment' });
  expect(named('SVC_BLOB_URL')).toMatchObject({ value: null, source: 'default' });
  expect((await run(['config'], { env })).stdout).toContain(
    'SVC_ROLES\tapi,drainer,retention,exports\tdefault\t',
  );
});

test('login shows nothing of what is typed and ends with 130 when interrupted', async () => {
  const stdin = new PassThrough();
  stdin.write(`${api.token}x\u007f\r`);
  api.on('GET /me', json({ name: 'ops', scopes: ['admin'], tenants: null, expires_at: null }));
  const { stderr } = await ends(
    run(['login', '--url', api.url], { stdin, isTerminal: true }),
    0,
    '',
    [],
  );
  expect(stderr).not.toContain(api.token);
  const interrupt = new AbortController();
  const waiting = run(['login', '--url', api.url], {
    stdin: new PassThrough(),
    isTerminal: true,
    signal: interrupt.signal,
  });
  setImmediate(() => interrupt.abort());
  expect(await waiting).toMatchObject({ code: 130, stdout: '' });
});

test('tokens rotate prints the new secret alone on stdout, and says when the old one ends', async () => {
  const rotated = { ...row, overlap_until: '2026-03-06T12:00:00.000000Z', token: 'svc_new' };
  api.on('POST /tokens/tok_1/rotate', json(rotated));
  await ends(cli('tokens rotate tok_1 --overlap 24h --yes'), 0, 'svc_new\n', [
    'Rotated tok_1. It is shown only this once; the old one ends in 1 d.',
  ]);
  expect(JSON.parse(String(api.requests[0]?.body))).toEqual({ overlap_seconds: 86_400 });
});
