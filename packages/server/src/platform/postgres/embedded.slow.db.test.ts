import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rm,
  stat,
  symlink,
  truncate,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import { afterEach, beforeEach, describe, expect, inject, it, vi } from 'vitest';
import { copyCluster } from '../../../test/copy-cluster.ts';
import { type EmbeddedPostgres, startEmbeddedPostgres } from './embedded.ts';
import { findBinaryPackage, linkLibraries } from './embedded-binaries.ts';
import { readPostmaster } from './embedded-postmaster.ts';

const timeoutMillis = 120_000;
const logged: { level: string; message: string }[] = [];
const children = new Set<ChildProcess>();
const started = new Set<EmbeddedPostgres>();
let dataDir = '';

beforeEach(async () => {
  dataDir = await mkdtemp(path.join(tmpdir(), 'svcctl-embedded-'));
  logged.length = 0;
});

afterEach(async () => {
  for (const child of children) await kill(child);
  for (const postgres of started) await postgres.stop();
  children.clear();
  started.clear();
  const left = await readPostmaster(clusterDir());
  if (left?.isRunning) process.kill(left.pid, 'SIGQUIT');
  await waitFor(async () => (await readPostmaster(clusterDir()))?.isRunning !== true);
  await rm(dataDir, { recursive: true, force: true, maxRetries: 5 });
});

describe('startEmbeddedPostgres', () => {
  it('refuses a cluster that svcctl did not create', async () => {
    await mkdir(clusterDir());
    await writeFile(path.join(clusterDir(), 'PG_VERSION'), '18\n');
    await expect(start()).rejects.toThrow(/svcctl did not create.*DATABASE_URL/);
  });

  it('says why when the directory holds something else', async () => {
    await mkdir(clusterDir());
    await writeFile(path.join(clusterDir(), 'notes.txt'), 'mine');
    await expect(start()).rejects.toThrow(/could not be created.*empty or absent/);
    expect(await readdir(dataDir)).toEqual(['postgres']);
  });

  it('says why when the server refuses to start', async () => {
    await beginWithCluster();
    await expect(start({ settings: { no_such_setting: '1' } })).rejects.toThrow(/no_such_setting/);
  });

  it('tells each try while the disk has no room for the lock file', async () => {
    await mkdir(clusterDir());
    await writeFile(path.join(clusterDir(), 'PG_VERSION'), '18\n');
    await writeFile(path.join(clusterDir(), 'svcctl-password'), 'secret');
    const full = 'could not write lock file "postmaster.pid": No space left on device';
    const script = `#!/bin/sh\n[ "$1" != -D ] || { echo 'FATAL: ${full}'; exit 1; }\n`;
    const programs = { initdb: '#!/bin/sh\n', postgres: script };
    const binDir = path.join(dataDir, 'bin');
    await mkdir(binDir);
    for (const [name, text] of Object.entries(programs)) {
      await writeFile(path.join(binDir, name), text, { mode: 0o755 });
    }
    const stop = new AbortController();
    const ended = expect(start({ binDir, signal: stop.signal })).rejects.toThrow('enough');
    const tries = () => logged.filter(({ message }) => /could not start, trying/.test(message));
    await waitFor(async () => tries().length >= 2);
    stop.abort(new Error('enough'));
    await ended;
  });

  it('gives up when the signal is aborted', async () => {
    const aborted = AbortSignal.abort(new Error('interrupted'));
    await expect(start({ signal: aborted })).rejects.toThrow('interrupted');
  });

  it('creates a cluster and serves the database svcctl in UTF-8 on 127.0.0.1 only', async () => {
    const { url } = await start();
    const rows = await query(
      url,
      `select current_database() as database, current_user as user,
              current_setting('server_encoding') as encoding,
              current_setting('listen_addresses') as addresses,
              current_setting('unix_socket_directories') as sockets`,
    );
    expect(rows).toEqual([
      { database: 'svcctl', user: 'svcctl', encoding: 'UTF8', addresses: '127.0.0.1', sockets: '' },
    ]);
    const { mode } = await stat(path.join(clusterDir(), 'svcctl-password'));
    expect(mode & 0o777).toBe(0o600);
  });

  it('keeps the data and the port over stop and start, and stop may be called twice', async () => {
    await beginWithCluster();
    const first = await start();
    await query(first.url, 'create table kept as select 42 as value');
    await Promise.all([first.stop(), first.stop()]);
    expect(await readPostmaster(clusterDir())).toBeUndefined();
    const second = await start();
    expect(second.url).toBe(first.url);
    expect(await query(second.url, 'select value from kept')).toEqual([{ value: 42 }]);
  });

  it('lets two starts on an empty directory share one server', async () => {
    const [mine, other, third] = await Promise.all([start(), startInChild(), start()]);
    expect(other.url).toBe(mine.url);
    expect(third.url).toBe(mine.url);
    expect(await query(mine.url, 'select 1 as one')).toEqual([{ one: 1 }]);
    expect((await readdir(dataDir)).sort()).toEqual(['postgres', 'postgres.log']);
  });

  it('removes an unfinished cluster that a crash left', async () => {
    const leftover = path.join(dataDir, 'postgres.new-crashed', 'cluster');
    await mkdir(leftover, { recursive: true });
    await writeFile(path.join(leftover, 'PG_VERSION'), '18\n');
    const { url } = await start();
    expect(await query(url, 'select 1 as one')).toEqual([{ one: 1 }]);
    expect((await readdir(dataDir)).sort()).toEqual(['postgres', 'postgres.log']);
  });

  it('replaces a log of more than 10 MB at start', async () => {
    await beginWithCluster();
    const logFile = path.join(dataDir, 'postgres.log');
    await writeFile(logFile, '');
    await truncate(logFile, 11 * 1024 * 1024);
    await start();
    expect((await stat(logFile)).size).toBeLessThan(1024 * 1024);
  });

  it('starts over a lock file whose pid now belongs to another process', async () => {
    await beginWithCluster();
    const first = await start();
    const lock = path.join(clusterDir(), 'postmaster.pid');
    const content = await readFile(lock, 'utf8');
    await first.stop();
    await writeFile(lock, content.replace(/^\d+/, String(process.ppid)), { mode: 0o600 });
    const second = await start();
    expect(await query(second.url, 'select 1 as one')).toEqual([{ one: 1 }]);
  });
});

describe('several processes', () => {
  beforeEach(beginWithCluster);

  it('adopts the server of a process that was killed', async () => {
    const parent = await startInChild();
    await query(parent.url, 'create table kept as select 42 as value');
    const before = await readPostmaster(clusterDir());
    await kill(parent.child);
    const adopted = await start();
    expect(adopted.url).toBe(parent.url);
    expect((await readPostmaster(clusterDir()))?.pid).toBe(before?.pid);
    expect(await query(adopted.url, 'select value from kept')).toEqual([{ value: 42 }]);
    await adopted.stop();
    expect(await readPostmaster(clusterDir())).toBeUndefined();
  });

  it('leaves the server running while another process holds it, even without connections', async () => {
    const mine = await start();
    const other = await startInChild();
    await mine.stop();
    expect(await query(other.url, 'select 1 as one')).toEqual([{ one: 1 }]);
    expect(await other.stop()).toBe(0);
    expect(await readPostmaster(clusterDir())).toBeUndefined();
  });

  it('leaves the server running while an application named svcctl is connected', async () => {
    const postgres = await start();
    const other = await connect(postgres.url, 'svcctl:other');
    await postgres.stop();
    expect((await other.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
    await other.end();
  });

  it('stops the server under connections of its own process and of strangers', async () => {
    const postgres = await start();
    const own = await connect(postgres.url, `svcctl:${process.pid}`);
    const stranger = await connect(postgres.url, 'psql');
    await postgres.stop();
    expect(await readPostmaster(clusterDir())).toBeUndefined();
    await Promise.all([own.end(), stranger.end()]);
  });

  it('stops the server when its last two holders stop at once', async () => {
    const [one, two] = [await start(), await start()];
    await Promise.all([one.stop(), two.stop()]);
    expect(await readPostmaster(clusterDir())).toBeUndefined();
  });
});

describe('a killed server', () => {
  beforeEach(beginWithCluster);

  it('comes back on the same port with its data', async () => {
    const postgres = await start();
    await query(postgres.url, 'create table kept as select 42 as value');
    await killServer();
    expect(await queryOnceBack(postgres.url, 'select value from kept')).toEqual([{ value: 42 }]);
    expect(logged.some(({ level, message }) => level === 'warn' && /lost/.test(message))).toBe(
      true,
    );
    await postgres.stop();
    expect(await readPostmaster(clusterDir())).toBeUndefined();
  });

  it('comes back when it was adopted, and when two processes hold it', async () => {
    const other = await startInChild();
    const mine = await start();
    await query(mine.url, 'create table kept as select 42 as value');
    await killServer();
    expect(await queryOnceBack(mine.url, 'select value from kept')).toEqual([{ value: 42 }]);
    expect(await other.stop()).toBe(0);
    expect(await queryOnceBack(mine.url, 'select value from kept')).toEqual([{ value: 42 }]);
  });

  it('stays stopped when stop comes first', async () => {
    const postgres = await start();
    await killServer();
    await postgres.stop();
    expect((await readPostmaster(clusterDir()))?.isRunning ?? false).toBe(false);
  });

  it('is started again by the next process while its backends still end', async () => {
    const parent = await startInChild();
    await query(parent.url, 'create table kept as select 42 as value');
    await kill(parent.child);
    await killServer();
    const next = await start();
    expect(await query(next.url, 'select value from kept')).toEqual([{ value: 42 }]);
  });
});

describe('the binaries', () => {
  it('are refused for an unsupported platform, naming DATABASE_URL', () => {
    expect(() => findBinaryPackage('win32-x64')).toThrow(/win32-x64.*DATABASE_URL/);
  });

  it('get their missing library links, also from two processes at once', async () => {
    const lib = path.join(dataDir, 'native', 'lib');
    await mkdir(lib, { recursive: true });
    await writeFile(path.join(lib, 'libpq.so.5.18'), 'library');
    await symlink('libpq.so.5.18', path.join(lib, 'libpq.so.5'));
    const links = ['libpq.so', 'libpq.so.5'].map((name) => ({
      source: 'native/lib/libpq.so.5.18',
      target: `native/lib/${name}`,
    }));
    await writeFile(path.join(dataDir, 'native', 'pg-symlinks.json'), JSON.stringify(links));
    const spare = path.join(dataDir, 'spare');
    await Promise.all([linkLibraries(dataDir, spare), linkLibraries(dataDir, spare)]);
    expect(await readdir(dataDir)).toEqual(['native']);
    expect(await readlink(path.join(lib, 'libpq.so'))).toBe('libpq.so.5.18');
    expect(await readFile(path.join(lib, 'libpq.so'), 'utf8')).toBe('library');
  });

  it('name the missing link that cannot be created', async () => {
    const links = [{ source: 'native/lib/libpq.so.5.18', target: 'native/lib/libpq.so' }];
    await mkdir(path.join(dataDir, 'native'));
    await writeFile(path.join(dataDir, 'native', 'pg-symlinks.json'), JSON.stringify(links));
    await expect(linkLibraries(dataDir, dataDir)).rejects.toThrow(/libpq\.so.*DATABASE_URL/);
  });
});

function clusterDir(): string {
  return path.join(dataDir, 'postgres');
}

/** For tests whose subject is not how a cluster is made: that takes 1.2 s of CPU time. */
function beginWithCluster(): Promise<void> {
  return copyCluster(inject('preparedCluster'), clusterDir());
}

async function start(
  options: { binDir?: string; settings?: Record<string, string>; signal?: AbortSignal } = {},
): Promise<EmbeddedPostgres> {
  const postgres = await startEmbeddedPostgres({
    dataDir,
    fsync: false,
    log: (level, message) => logged.push({ level, message }),
    ...options,
  });
  started.add(postgres);
  return postgres;
}

/** Another process on the same directory. Node 20 cannot run TypeScript, Vite's runner can. */
async function startInChild(): Promise<{
  child: ChildProcess;
  url: string;
  stop(): Promise<number | null>;
}> {
  const script = `
    import { runnerImport } from 'vite';
    const [file, dataDir] = process.argv.slice(1);
    const { module } = await runnerImport(file, { configFile: false, logLevel: 'error' });
    const postgres = await module.startEmbeddedPostgres({ dataDir, fsync: false, log: () => {} });
    process.stdout.write(postgres.url + '\\n');
    process.stdin.on('end', () => postgres.stop()).resume();
  `;
  const file = fileURLToPath(new URL('./embedded.ts', import.meta.url));
  const args = ['--input-type=module', '--eval', script, file, dataDir];
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  children.add(child);
  const exited = once(child, 'exit');
  for await (const url of createInterface({ input: child.stdout })) {
    const stop = async () => {
      child.stdin.end();
      await exited;
      return child.exitCode;
    };
    return { child, url, stop };
  }
  throw new Error('the child process ended before it had a server');
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}

async function killServer(): Promise<void> {
  const postmaster = await readPostmaster(clusterDir());
  if (postmaster?.isRunning !== true) throw new Error('no server to kill');
  process.kill(postmaster.pid, 'SIGKILL');
}

async function connect(url: string, name: string): Promise<Client> {
  const client = new Client({ connectionString: url, application_name: name });
  client.on('error', () => {});
  await client.connect();
  return client;
}

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = await connect(url, `svcctl:${process.pid}`);
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

function queryOnceBack(url: string, sql: string): Promise<unknown[]> {
  return vi.waitFor(() => query(url, sql), { timeout: timeoutMillis, interval: 20 });
}

async function waitFor(condition: () => Promise<boolean>): Promise<void> {
  await vi.waitFor(async () => expect(await condition()).toBe(true), { timeout: timeoutMillis });
}
