import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { expect, test } from 'vitest';
import { startText } from './start-text.ts';

const source = join(import.meta.dirname, '..');

/** Every module that is loaded before a command runs: static imports only, types aside. */
function loadedAtStart(file: string, seen = new Set<string>()): Set<string> {
  if (seen.has(file)) return seen;
  seen.add(file);
  const code = readFileSync(file, 'utf8');
  for (const [, specifier = ''] of code.matchAll(
    /^(?:import|export) (?!type )[^;]*?from '([^']+)';/gm,
  )) {
    if (specifier.startsWith('.')) loadedAtStart(join(dirname(file), specifier), seen);
    else seen.add(specifier);
  }
  return seen;
}

test('the program starts without commander, its commands, the service, the schemas and the network', () => {
  const loaded = [...loadedAtStart(join(source, 'cli', 'main.ts'))];
  const packages = loaded.filter((name) => !name.startsWith('/')).sort();
  const others = loaded
    .filter((name) => name.startsWith('/'))
    .map((name) => relative(source, name))
    .filter((name) => !/^(cli\/[^/]+|kernel\/[^/]+|config\/release\.ts)$/.test(name));
  expect(others).toEqual([]);
  expect(packages.filter((name) => !name.startsWith('node:'))).toEqual([]);
  expect(packages).not.toContain('node:http');
  expect(packages).not.toContain('node:crypto');
});

test('the start says where the service is and what to try, in words that can be pasted', () => {
  const io = {
    env: {},
    cwd: '/srv',
    platform: 'linux x64 glibc',
    now: () => Date.UTC(2026, 2, 5, 12),
    stdout: { isTTY: true },
  };
  const service = {
    url: 'http://127.0.0.1:8080',
    publicUrl: 'http://127.0.0.1:8080',
    adminTokenPath: '/srv/data/admin-token',
    isFirstStart: true,
    signInLink: 'http://127.0.0.1:8080/#/sign-in?code=abc',
    roles: ['api'],
    dataDir: '/srv/data',
  };
  const text = startText(io as never, service);
  expect(text).toContain(
    'Console        http://127.0.0.1:8080/#/sign-in?code=abc (signs you in, once',
  );
  expect(text).toContain('http://127.0.0.1:8080/docs');
  expect(text).toContain('/srv/data/admin-token (made just now');
  expect(text).toContain('\n  svcctl records ls\n');
  expect(text).toContain('--tenant demo --month 2026-03 --format csv');
  const logged = startText({ ...io, stdout: {} } as never, service);
  expect(text.startsWith(logged)).toBe(true);
  expect(logged).toMatch(/admin-token \(made just now[^\n]+\n$/);
});

test('the start names no file of a token that is not there, but the way to another', () => {
  const io = { env: {}, cwd: '/', platform: 'linux x64 glibc', now: () => 0, stdout: {} } as never;
  const service = {
    url: 'http://x',
    publicUrl: 'http://x',
    isFirstStart: false,
    signInLink: null,
    adminTokenPath: null,
    roles: ['api'],
    dataDir: '/data',
  };
  expect(startText(io, service)).toMatch(
    /Admin token {4}one from before; without any: svcctl tokens create --local --name admin --preset admin\n$/,
  );
});

test('the start on a platform without tests says so', () => {
  const io = { env: {}, cwd: '/srv', platform: 'linux arm64 musl', now: () => 0, stdout: {} };
  const service = {
    url: 'http://127.0.0.1:8080',
    publicUrl: 'http://127.0.0.1:8080',
    adminTokenPath: '/srv/data/admin-token',
    isFirstStart: false,
    signInLink: null,
    roles: ['drainer'],
    dataDir: '/srv/data',
  };
  expect(startText(io as never, service)).toMatch(
    /\nAttention: this is linux arm64 musl, and svcctl is tested on linux x64 glibc alone\./,
  );
});

test('an older Node is refused in one sentence', () => {
  const folder = mkdtempSync(join(tmpdir(), 'svcctl-node-'));
  try {
    const pretend = join(folder, 'pretend.cjs');
    writeFileSync(
      pretend,
      `Object.defineProperty(process, 'version', { value: 'v20.18.3' });
       Object.defineProperty(process.versions, 'node', { value: '20.18.3' });`,
    );
    const program = join(source, '..', 'bin', 'svcctl.cjs');
    const run = spawnSync(process.execPath, ['--require', pretend, program, 'serve']);
    expect([run.status, String(run.stdout)]).toEqual([2, '']);
    expect(String(run.stderr)).toBe(
      'error: svcctl needs Node.js 20.19 or newer, and this is v20.18.3.\n',
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('under npm start the commands are those of this clone, elsewhere they name the data folder', () => {
  const env = { npm_lifecycle_event: 'start' };
  const io = { env, cwd: '/clone', now: () => 0, stdout: { isTTY: true } } as never;
  const service = {
    url: 'http://x',
    publicUrl: 'https://svcctl.example',
    adminTokenPath: '/var/d/admin-token',
    isFirstStart: false,
    signInLink: null,
    roles: ['api'],
    dataDir: '/clone/data',
  };
  expect(startText(io, service)).toContain('\n  node_modules/.bin/svcctl records ls\n');
  expect(startText(io, { ...service, dataDir: '/var/my d' })).toContain(
    "\n  SVC_DATA_DIR='/var/my d' node_modules/.bin/svcctl records ls\n",
  );
});
