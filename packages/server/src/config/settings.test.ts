import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { roles, settingRows } from './setting-rows.ts';
import { loadSettings } from './settings.ts';

test('an empty environment gives the defaults', () => {
  const settings = loadSettings({});
  expect(settings.host).toBe('127.0.0.1');
  expect(settings.port).toBe(8080);
  expect(settings.dataDir).toBe(resolve('./data'));
  expect(settings.databaseUrl).toBeUndefined();
  expect(settings.roles).toEqual(['api', 'drainer', 'retention', 'exports']);
});

test('every setting is read from its variable', () => {
  const settings = loadSettings({
    SVC_PORT: '0',
    SVC_ROLES: 'api, exports,api',
    SVC_ALLOW_TARGETS: '127.0.0.0/8,fd00::/8',
    SVC_INGEST_MAX_BYTES: '2MiB',
    SVC_PUBLIC_URL: 'HTTPS://Svcctl.Example:443/',
    SVC_TRUSTED_PROXIES: '10.0.0.0/8,::1/128',
    DATABASE_URL: 'postgresql://u:p@h/d',
    SVC_BLOB_URL: 's3://bucket/prefix?endpoint=http://x&region=y',
  });
  expect(settings.port).toBe(0);
  expect(settings.roles).toEqual(['api', 'exports']);
  expect(settings.allowTargets).toEqual(['127.0.0.0/8', 'fd00::/8']);
  expect(settings.publicUrl).toBe('https://svcctl.example');
  expect(settings.trustedProxies).toEqual(['10.0.0.0/8', '::1/128']);
  expect(settings.ingestMaxBytes).toBe(2 * 2 ** 20);
  expect(settings.databaseUrl).toBe('postgresql://u:p@h/d');
});

test.each([
  ['SVC_PORT', 'http'],
  ['SVC_PORT', '65536'],
  ['SVC_PORT', '1e3'],
  ['SVC_ROLES', 'api,web'],
  ['SVC_LOG_LEVEL', 'loud'],
  ['SVC_ALLOW_TARGETS', '10.0.0.0'],
  ['SVC_ALLOW_TARGETS', '10.0.0.0/33'],
  ['SVC_ALLOW_TARGETS', 'localhost'],
  ['SVC_INGEST_MAX_BYTES', '32MB'],
  ['SVC_BLOB_URL', 'ftp://x'],
  ['SVC_PUBLIC_URL', 'svcctl.example'],
  ['SVC_PUBLIC_URL', 'ftp://svcctl.example'],
  ['SVC_PUBLIC_URL', 'https://svcctl.example/console'],
  ['SVC_PUBLIC_URL', 'https://me:secret@svcctl.example'],
  ['SVC_TRUSTED_PROXIES', '10.0.0.1'],
  ['SVC_TRUSTED_PROXIES', 'all'],
  ['SVC_DATADIR', '/x'],
])('%s=%s stops the start with a message that names it', (name, value) => {
  expect(() => loadSettings({ [name]: value })).toThrow(name);
});

test('a wrong DATABASE_URL is named without repeating it', () => {
  expect(() => loadSettings({ DATABASE_URL: 'mysql://u:geheim@h' })).toThrow(
    expect.not.objectContaining({ message: expect.stringContaining('geheim') }),
  );
});

test('no two settings share a variable', () => {
  const names = Object.values(settingRows).map((row) => row.env);
  expect(new Set(names).size).toBe(names.length);
});

test('the load balancer passes no metrics on, however their path is spelled', () => {
  const config = readFileSync(new URL('../../../../deploy/haproxy.cfg', import.meta.url), 'utf8');
  const [frontend = ''] = /^frontend .*?(?=^backend)/ms.exec(config) ?? [];
  expect(frontend).toMatch(
    /^ {2}http-request deny deny_status 404 if \{ path,url_dec \/metrics \}$/m,
  );
});

test('the compose file has settings that there are, each role, and time enough to stop', () => {
  const deploy = (name: string) =>
    readFileSync(new URL(`../../../../deploy/${name}`, import.meta.url), 'utf8');
  type Part = { build?: unknown; environment: Record<string, string>; stop_grace_period: string };
  const parsed: { services: Record<string, Part> } = parse(deploy('compose.yaml'), { merge: true });
  const [, inter, fall] = /inter (\d+)s fall (\d+)/.exec(deploy('haproxy.cfg')) ?? [];
  const noticedSeconds = Number(inter) * Number(fall);
  const own = Object.values(parsed.services).filter(({ build }) => build !== undefined);
  const started = own.flatMap(({ environment, stop_grace_period: grace }) => {
    const given = Object.entries(environment).map(([name, value]) => [
      name,
      value.replace(
        /\$\{\w+(?::-([^}]*)|:\?[^}]*)\}/g,
        (_, fallback) => fallback ?? 'x'.repeat(32),
      ),
    ]);
    const settings = loadSettings(Object.fromEntries(given));
    const { shutdownLeadSeconds, shutdownSeconds } = settings;
    expect(Number.parseInt(grace, 10)).toBeGreaterThan(shutdownLeadSeconds + shutdownSeconds);
    if (settings.roles.includes('api')) {
      expect(shutdownLeadSeconds).toBeGreaterThan(noticedSeconds);
    }
    return settings.roles;
  });
  expect(started.toSorted()).toEqual(roles.toSorted());
});
