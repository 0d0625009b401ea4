import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { newAccessToken } from '../kernel/ids.ts';
import { markRestore } from '../platform/restore-mark.ts';
import { useReceiver } from './testing/prepare-cli.ts';
import { json, problem, startReceiver } from './testing/receiver.ts';
import { ends, newFolder, run } from './testing/run.ts';

const me = { name: 'ops', scopes: ['admin'], tenants: null, expires_at: null };
const api = useReceiver();
let cwd: string;

beforeEach(async () => {
  cwd = await newFolder();
  api.on('GET /me', json(me));
});
afterEach(async () => {
  await rm(cwd, { recursive: true });
});

async function leaveLocalService(
  folder = join(cwd, 'data'),
  token = api.token,
  url = api.url,
): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'service.json'), JSON.stringify({ url, pid: 1 }));
  await writeFile(join(folder, 'admin-token'), `${token}\n`);
}

const login = (argv: string[] = [], token = api.token) =>
  run(['login', '--url', api.url, ...argv], { cwd, stdin: `${token}\n` });
const whoami = async (env: Record<string, string> = {}, argv: string[] = []) => {
  const { code, stdout, stderr } = await run([...argv, 'whoami', '--json', 'url,source,profile'], {
    cwd,
    env,
  });
  return code === 0 ? JSON.parse(stdout) : stderr;
};
const sentToken = () => api.requests.at(-1)?.headers.authorization?.replace('Bearer ', '');

test('the service of this folder is used without any login', async () => {
  await leaveLocalService();
  expect(await whoami()).toEqual({ url: api.url, source: 'local service', profile: null });
  expect(sentToken()).toBe(api.token);
});

test('the service of SVC_DATA_DIR is used without any login', async () => {
  await leaveLocalService(join(cwd, 'elsewhere'));
  expect(await whoami({ SVC_DATA_DIR: 'elsewhere' })).toMatchObject({ source: 'local service' });
});

test('a folder whose admin token cannot be read is no service', async () => {
  await leaveLocalService(undefined, '');
  expect(await whoami()).toContain('token_missing');
  const { stderr } = await run(['whoami'], { cwd });
  expect(stderr).toContain(`svcctl login --url ${api.url}`);
});

test('the default profile goes before the service of this folder, and says so if that is another', async () => {
  await leaveLocalService();
  await login();
  expect(await whoami()).toEqual({ url: api.url, source: 'profile', profile: 'default' });
  expect((await run(['whoami'], { cwd })).stderr).not.toContain('./data');

  await leaveLocalService(undefined, newAccessToken(), 'http://127.0.0.1:9');
  await ends(run(['whoami'], { cwd }), 0, [
    `note: this goes to ${api.url}, the default profile default, and not to the service of ./data at http://127.0.0.1:9`,
  ]);
});

test('SVC_DATA_DIR, which is given for the call, goes before the default profile', async () => {
  const stored = newAccessToken();
  await login([], stored);
  await leaveLocalService(join(cwd, 'elsewhere'));
  expect(await whoami({ SVC_DATA_DIR: 'elsewhere' })).toMatchObject({ source: 'local service' });
  expect(sentToken()).toBe(api.token);
  expect(await whoami({ SVC_DATA_DIR: 'elsewhere', SVC_PROFILE: 'default' })).toMatchObject({
    source: 'profile',
  });
});

test('where no service runs on SVC_DATA_DIR, the default profile is no substitute', async () => {
  await login();
  const before = api.requests.length;
  await ends(run(['whoami'], { cwd, env: { SVC_DATA_DIR: 'nowhere' } }), 4, [
    'SVC_DATA_DIR: no service runs on nowhere',
  ]);
  expect(api.requests.length).toBe(before);
  await mkdir(join(cwd, 'restored'));
  await markRestore({ dataDir: join(cwd, 'restored') }, { id: 'bkp_1', place: '/mnt' });
  await ends(run(['whoami'], { cwd, env: { SVC_DATA_DIR: 'restored' } }), 1, [
    'is half restored: the restore of bkp_1 out of /mnt goes on as process',
  ]);
});

test('the service of SVC_DATA_DIR without its admin token takes the token stored for its URL', async () => {
  await login();
  await leaveLocalService(join(cwd, 'elsewhere'), '');
  expect(await whoami({ SVC_DATA_DIR: 'elsewhere' })).toMatchObject({ profile: 'default' });
  const env = { SVC_DATA_DIR: 'elsewhere', SVC_TOKEN: newAccessToken() };
  expect(await whoami(env)).toMatchObject({ url: api.url, source: 'environment' });
});

test.each([
  ['tokens', 'revoke', 'tok_1'],
  ['endpoints', 'delete', 'ep_1'],
  ['endpoints', 'rotate-secret', 'ep_1'],
  ['notify', 'rm', 'ntt_1'],
  ['dlq', 'purge', 'dlv_1'],
  ['retention', 'orphans', 'rm', 'records/a'],
])('%s %s asks with the name of the service that a profile stands for', async (...argv) => {
  await login();
  await ends(run(argv, { cwd, isTerminal: true, stdin: 'n\n' }), 130, [
    `On ${api.url} (profile default): `,
  ]);

  const local = await run(argv, { cwd, isTerminal: true, stdin: 'n\n', env: api.env });
  expect(local.stderr).toContain('? ');
  expect(local.stderr).not.toContain('On http');
});

test('login goes to the service of SVC_DATA_DIR before that of the stored profile', async () => {
  await login();
  await leaveLocalService(join(cwd, 'elsewhere'), '', 'http://127.0.0.1:9');
  const env = { SVC_DATA_DIR: 'elsewhere' };
  const { stderr } = await run(['login'], { cwd, env, stdin: `${api.token}\n` });
  expect(stderr).toContain('127.0.0.1:9');
});

test('--profile and SVC_PROFILE choose a profile, the option first', async () => {
  const tokens = { a: newAccessToken(), b: newAccessToken() };
  await login(['--profile', 'a'], tokens.a);
  await login(['--profile', 'b'], tokens.b);
  expect(await whoami()).toMatchObject({ profile: 'a' });
  expect(await whoami({ SVC_PROFILE: 'b' })).toMatchObject({ profile: 'b' });
  expect(sentToken()).toBe(tokens.b);
  expect(await whoami({ SVC_PROFILE: 'b' }, ['--profile', 'a'])).toMatchObject({ profile: 'a' });
  expect(sentToken()).toBe(tokens.a);
});

test('SVC_URL and SVC_TOKEN go before any profile, and say so when one was named', async () => {
  await login(['--profile', 'a'], newAccessToken());
  const { stdout, stderr } = await run(['--profile', 'a', 'whoami'], { cwd, env: api.env });
  expect(stdout).toContain('SVC_URL and SVC_TOKEN');
  expect(stderr).toContain('SVC_TOKEN is set and goes before --profile a');
  expect(sentToken()).toBe(api.token);
});

test('SVC_URL may carry the base path', async () => {
  expect(await whoami({ ...api.env, SVC_URL: `${api.url}/api/v1/` })).toMatchObject({
    url: api.url,
  });
});

test('SVC_URL alone takes a stored token of that very URL only', async () => {
  await login();
  expect(await whoami({ SVC_URL: api.url })).toMatchObject({ source: 'profile' });
  const other = await startReceiver();
  other.on('GET /me', json(me));
  expect(await whoami({ SVC_URL: other.url })).toContain('token_missing');
  expect(other.requests).toEqual([]);
  await other.close();
});

test('SVC_TOKEN alone goes to the service of this folder', async () => {
  const token = newAccessToken();
  await leaveLocalService();
  const { stdout } = await run(['whoami'], { cwd, env: { SVC_TOKEN: token } });
  expect(stdout).toContain('the service running in this folder, with the token of SVC_TOKEN');
  expect(sentToken()).toBe(token);
});

test('SVC_TOKEN alone goes to the service of the profile', async () => {
  await login([], newAccessToken());
  expect(await whoami({ SVC_TOKEN: api.token })).toMatchObject({
    url: api.url,
    source: 'environment',
  });
  expect(sentToken()).toBe(api.token);
});

test('an unknown profile is a usage error that lists those there are', async () => {
  await login(['--profile', 'ops']);
  await ends(run(['--profile', 'opps', 'whoami'], { cwd }), 2, [
    'there is no profile "opps"',
    'There are: ops.',
  ]);
});

test.each(['not a url', 'ftp://x', 'http://u:p@x'])(
  'SVC_URL=%s is a usage error',
  async (SVC_URL) => {
    await ends(run(['whoami'], { cwd, env: { SVC_URL, SVC_TOKEN: api.token } }), 2, ['SVC_URL:']);
  },
);

test('login stores nothing that the service does not know', async () => {
  api.on('GET /me', problem(401, 'token_unknown', 'The access token is not known here.'));
  expect(await login()).toMatchObject({ code: 4 });
  expect(await login([], 'svc_mistyped')).toMatchObject({ code: 4 });
  expect(await whoami()).toContain('token_missing');
});

test('login never prints the token and stores it for its owner only', async () => {
  const { stderr } = await ends(login(), 0, '', [`Signed in to ${api.url} as "ops" with admin.`]);
  expect(stderr).not.toContain(api.token);
  const path = join(cwd, '.config', 'svcctl', 'config.json');
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect(JSON.parse(await readFile(path, 'utf8')).profiles.default.token).toBe(api.token);
});

test('XDG_CONFIG_HOME moves the profiles', async () => {
  const env = { XDG_CONFIG_HOME: join(cwd, 'xdg') };
  await run(['login', '--url', api.url], { cwd, env, stdin: api.token });
  expect((await stat(join(cwd, 'xdg', 'svcctl', 'config.json'))).isFile()).toBe(true);
});

test('logout forgets one profile and leaves the others', async () => {
  await login(['--profile', 'a']);
  await login();
  expect(await run(['logout'], { cwd })).toMatchObject({ code: 0, stdout: '' });
  expect(await whoami()).toMatchObject({ profile: 'a' });
  expect(await run(['logout', '--profile', 'none'], { cwd })).toMatchObject({ code: 2 });
});

test('a broken profile file is named', async () => {
  await mkdir(join(cwd, '.config', 'svcctl'), { recursive: true });
  await writeFile(join(cwd, '.config', 'svcctl', 'config.json'), '{');
  await ends(run(['whoami'], { cwd }), 1, ['config.json is not a profile file: it is not JSON']);
});

test.runIf(process.platform === 'linux')(
  'a login ends where the system lets nobody make the folder of profiles',
  async () => {
    const env = { XDG_CONFIG_HOME: '/proc/svcctl' };
    const { code, stderr } = await run(['login', '--url', api.url], {
      cwd,
      env,
      stdin: `${api.token}\n`,
    });
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('ENOENT') });
    expect(stderr).toContain('file_unreadable');
  },
);
