import { execFile, spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join, sep } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { settingRows } from '../packages/server/src/config/setting-rows.ts';
import { loadSettings } from '../packages/server/src/config/settings.ts';
import { copies } from './pack.mjs';
import { root } from './program.mjs';

const deploy = join(root, 'deploy');
const program = join(root, 'packages', 'server', 'bin', 'svcctl.cjs');
const settings = loadSettings({});
const known = Object.values(settingRows).map(({ env }) => env);
/** How long PostgreSQL may take to stop, after the service itself. */
const postgresSeconds = 35;

describe('the Dockerfile', () => {
  const instructions = readInstructions(join(deploy, 'Dockerfile'));
  const find = (name) => instructions.filter(([word]) => word === name).map(([, rest]) => rest);
  const ignored = readFileSync(join(root, '.dockerignore'), 'utf8').trim().split('\n');

  test('copies only what is there, and not left out of the context', () => {
    const copied = find('COPY')
      .filter((rest) => !rest.startsWith('--from='))
      .flatMap((rest) => rest.split(' ').slice(0, -1));
    for (const path of copied) {
      expect(existsSync(join(root, path)), path).toBe(true);
      expect(ignored).not.toContain(path.split('/')[0]);
    }
    // What the package holds of the repository, beside what is built.
    const packed = copies.map(({ from }) => from.replaceAll(sep, '/'));
    expect(copied).toEqual(
      expect.arrayContaining(packed.filter((from) => !from.endsWith('/dist'))),
    );
  });

  test('packs and installs the package, as e2e/slow/packed.test.ts does', () => {
    const commands = find('RUN').join('\n');
    expect(commands).toContain('npm pack --workspace packages/server --pack-destination');
    expect(commands).toMatch(/npm install --global .*svcctl-\*\.tgz/);
    expect(find('COPY')).toContain('--from=build /opt/svcctl /opt/svcctl');
  });

  test('runs svcctl as an ordinary user, who is asked by a signal to stop', () => {
    expect(find('USER')).toEqual(['node']);
    expect(JSON.parse(find('ENTRYPOINT')[0])).toEqual(['svcctl']);
    expect(JSON.parse(find('CMD')[0])).toEqual(['serve']);
    expect(find('STOPSIGNAL')).toEqual(['SIGTERM']);
    expect(find('EXPOSE')).toEqual([String(settings.port)]);
    for (const from of find('FROM')) expect(from).toMatch(/^node:22-[\w-]+( AS \w+)?$/);
    const variables = [...find('ENV')[0].matchAll(/(\w+)=(\S+)/g)];
    const env = Object.fromEntries(variables.map(([, name, value]) => [name, value]));
    const { NODE_ENV: _mode, ...own } = env;
    expect(loadSettings(own)).toMatchObject({ port: settings.port, dataDir: find('VOLUME')[0] });
  });

  test('asks whether the process lives, not whether it can serve', async () => {
    const [, command] = find('HEALTHCHECK')[0].split(' CMD ');
    expect(await answersOf(JSON.parse(command))).toEqual({ path: '/healthz', status: [0, 1, 1] });
  });
});

describe.each(['compose.yaml', 'compose.one.yaml'])('%s', (name) => {
  const { services } = parse(readFileSync(join(deploy, name), 'utf8'), { merge: true });
  const own = Object.entries(services).filter(([, { image }]) => image === 'svcctl');

  test('gives svcctl settings that there are', () => {
    expect(own).not.toEqual([]);
    for (const [, { environment }] of own) {
      const names = Object.keys(environment).filter((key) => !key.startsWith('AWS_'));
      expect(names.filter((key) => !known.includes(key))).toEqual([]);
    }
  });

  test('is waited for until it can serve', async () => {
    const checks = new Set(own.map(([, { healthcheck }]) => JSON.stringify(healthcheck.test)));
    expect([...checks]).toHaveLength(1);
    const [word, ...command] = JSON.parse([...checks][0].replaceAll('$$', '$'));
    expect(word).toBe('CMD');
    expect(await answersOf(command)).toEqual({ path: '/readyz', status: [0, 1, 1] });
  });

  test('builds the image, runs it read-only, and lets it end its work', () => {
    for (const [, service] of own) {
      expect(service.build).toEqual({ context: '..', dockerfile: 'deploy/Dockerfile' });
      expect(service).toMatchObject({ read_only: true, init: true, tmpfs: ['/tmp'] });
      const lead = Number(service.environment.SVC_SHUTDOWN_LEAD_SECONDS ?? 0);
      expect(parseInt(service.stop_grace_period, 10)).toBeGreaterThan(
        lead + settings.shutdownSeconds,
      );
    }
  });
});

test.each(['haproxy.cfg', 'proxies/haproxy.cfg'])(
  '%s drops what callers say of their address',
  (name) => {
    const text = readFileSync(join(deploy, name), 'utf8');
    expect(text).toMatch(/http-request del-header X-Forwarded-For\n +option forwardfor\n/);
  },
);

describe('svcctl.service', () => {
  const { text, unit } = readUnit('svcctl.service');

  test('gives svcctl settings that there are, and writes only where it may', () => {
    const names = [...text.matchAll(/\b(SVC_\w+)/g)].map(([, found]) => found);
    expect(names.filter((found) => !known.includes(found))).toEqual([]);
    expect(unit.Environment).toContain(`SVC_DATA_DIR=/var/lib/${unit.StateDirectory}`);
    expect(unit.ProtectSystem).toBe('strict');
  });

  test('lets it end its work, and does not start it again with a wrong setting', () => {
    const { shutdownLeadSeconds, shutdownSeconds } = settings;
    expect(Number(unit.TimeoutStopSec)).toBeGreaterThan(
      shutdownLeadSeconds + shutdownSeconds + postgresSeconds,
    );
    expect(unit).toMatchObject({ KillMode: 'mixed', RestartPreventExitStatus: '2' });
  });

  test('is told by a program of its own that it is ready, however long its start takes', () => {
    expect(unit).toMatchObject({ Type: 'notify', NotifyAccess: 'all' });
    expect(unit.TimeoutStartSec).toBe('infinity');
  });
});

describe('svcctl-backup', () => {
  const { unit: service } = readUnit('svcctl.service');
  const { unit: backup } = readUnit('svcctl-backup.service');

  test('runs a command that there is, as the user and with the settings of the service', () => {
    for (const name of ['User', 'Group', 'EnvironmentFile', 'WorkingDirectory', 'UMask']) {
      expect(backup[name], name).toBe(service[name]);
    }
    expect(backup.Environment).toContain(service.Environment);
    const words = backup.ExecStart.split(' ').slice(1);
    const filled = words.map((word) => (word.endsWith('{KEEP}') ? '30' : word));
    // Whatever is wrong with an option is said before anything else.
    const { status, stderr } = spawnSync(process.execPath, [program, ...filled.slice(1)], {
      encoding: 'utf8',
      env: { ...process.env, SVC_NO_SUCH: '1' },
    });
    expect({ status, stderr }).toEqual({
      status: 2,
      stderr: expect.stringContaining('SVC_NO_SUCH'),
    });
  });
});

describe('svcctl-here', () => {
  // What systemd and sudo would do is outside of this test: these tell what they were asked for.
  const fakes = {
    id: 'echo "$CALLER"',
    sudo: 'exec env CALLER=0 "$@"',
    systemctl: [
      'name=$(echo "$2" | cut -d= -f2)',
      'case "$4 $name" in',
      '"svcctl.service LoadState") echo loaded ;;',
      '*" LoadState") echo not-found ;;',
      '*" EnvironmentFiles") echo "$(sed -n "s/^EnvironmentFile=-//p" "$UNIT") (ignore_errors=yes)" ;;',
      '*) sed -n "s/^$name=//p" "$UNIT" ;;',
      'esac',
    ].join('\n'),
    'systemd-run': 'printf "%s\\n" "$@"',
  };
  const here = (args, env = {}) => {
    const folder = mkdtempSync(join(tmpdir(), 'svcctl-here-'));
    for (const [name, text] of Object.entries(fakes)) {
      writeFileSync(join(folder, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
    }
    const path = `${folder}:${process.env.PATH}`;
    const ran = spawnSync(join(root, 'packages', 'server', 'bin', 'svcctl-here'), args, {
      encoding: 'utf8',
      env: { PATH: path, CALLER: '1000', UNIT: join(deploy, 'svcctl.service'), ...env },
    });
    rmSync(folder, { recursive: true });
    return ran;
  };

  test('runs a command as the unit runs the service', () => {
    const { unit } = readUnit('svcctl.service');
    const { stdout, stderr, status } = here(['restore', '/mnt/a b', '--drill']);
    expect({ stderr, status }).toEqual({ stderr: '', status: 0 });
    const words = stdout.trimEnd().split('\n');
    expect(words.slice(words.indexOf('/usr/bin/env'))).toEqual([
      ...unit.ExecStart.split(' ').slice(0, 2),
      ...['restore', '/mnt/a b', '--drill'],
    ]);
    expect(words).toEqual(
      expect.arrayContaining([
        ...['--wait', `--uid=${unit.User}`, `--gid=${unit.Group}`],
        `--working-directory=${unit.WorkingDirectory}`,
        `--property=EnvironmentFile=${unit.EnvironmentFile}`,
        ...['Environment', 'StateDirectory', 'StateDirectoryMode', 'UMask'].map(
          (name) => `--property=${name}=${unit[name]}`,
        ),
      ]),
    );
  });

  test('says so where there is no such unit', () => {
    const { stderr, status } = here(['version'], { SVCCTL_UNIT: 'other.service' });
    expect({ stderr, status }).toEqual({
      stderr: expect.stringContaining('other.service'),
      status: 2,
    });
  });

  test('is a program of the package', () => {
    const manifest = join(root, 'packages', 'server', 'package.json');
    const { bin } = JSON.parse(readFileSync(manifest, 'utf8'));
    expect(bin['svcctl-here']).toBe('bin/svcctl-here');
  });
});

describe('the units', () => {
  const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;
  test.runIf(hasSystemd)('are what systemd understands', () => {
    const folder = mkdtempSync(join(tmpdir(), 'svcctl-unit-'));
    try {
      const names = readdirSync(deploy).filter((name) => /\.(service|timer)$/.test(name));
      expect(names).toHaveLength(3);
      for (const name of names) copyFileSync(join(deploy, name), join(folder, name));
      const paths = names.map((name) => join(folder, name));
      const { status, stderr } = spawnSync('systemd-analyze', ['verify', ...paths], {
        encoding: 'utf8',
      });
      expect({ status, stderr: stderr.replaceAll(/.*Special user.*\n/g, '') }).toEqual({
        status: 0,
        stderr: '',
      });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

/** The path that a health check asks, and how it ends after a 200, after a 503, and where nobody listens. */
async function answersOf([program, ...args]) {
  expect(program).toBe('node');
  const seen = { path: '', status: 200 };
  const server = createServer((request, response) => {
    seen.path = request.url;
    response.writeHead(seen.status).end();
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const env = { ...process.env, SVC_PORT: String(server.address().port) };
  const ask = () =>
    promisify(execFile)(process.execPath, args, { env }).then(
      () => 0,
      ({ code }) => code,
    );
  const status = [await ask()];
  seen.status = 503;
  status.push(await ask());
  await new Promise((resolve) => server.close(resolve));
  status.push(await ask());
  return { path: seen.path, status };
}

/** A unit's text and its settings; of those that stand there more than once, all, on one line. */
function readUnit(name) {
  const text = readFileSync(join(deploy, name), 'utf8');
  const unit = {};
  for (const [, key, value] of text.matchAll(/^(\w+)=(.*)$/gm)) {
    unit[key] = key in unit ? `${unit[key]} ${value}` : value;
  }
  return { text, unit };
}

/** The instructions of a Dockerfile, each as its word and the rest of its line. */
function readInstructions(path) {
  const text = readFileSync(path, 'utf8')
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/\\\n/g, ' ');
  return text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => [line.slice(0, line.indexOf(' ')), line.slice(line.indexOf(' ') + 1).trim()]);
}
