import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { realpathSync } from 'node:fs';
import { mkdtemp, readdir, readFile, readlink, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inject } from 'vitest';
import { copyCluster } from '../../packages/server/test/copy-cluster.ts';
import { createTestDatabase } from '../../packages/server/test/database.ts';
import { use } from '../../packages/server/test/use.ts';
import { type Answer, type CallOptions, callApi, type Target } from './api.ts';
import { findPostgresUrl, readPostmasterPid } from './postgres.ts';
import { waitFor } from './wait-for.ts';

export type Environment = Readonly<Record<string, string>>;
export type Exit = { code: number | null; signal: NodeJS.Signals | null };

/** A service process, running or ended. */
export type ServiceProcess = {
  readonly pid: number;
  /** What it has written on stdout and stderr so far. */
  output(): string;
  /** How it ended; undefined while it runs. */
  exit(): Exit | undefined;
  /** Kills it with SIGKILL, and waits until it is gone. */
  kill(): Promise<void>;
  /** Sends SIGTERM, and waits until the process has ended by itself. */
  stop(): Promise<Exit>;
  waitForExit(): Promise<Exit>;
};

/** A service that is ready. */
export type Service = ServiceProcess &
  Target & {
    /** Calls a path of the API. */
    call(method: string, path: string, options?: CallOptions): Promise<Answer>;
    /** Calls a path of the origin, such as /readyz. */
    probe(path: string): Promise<Answer>;
  };

/** A data folder, and all processes that work in it. */
export type Installation = {
  readonly dataDir: string;
  /**
   * Starts the built program. Unless `env` says otherwise it uses the installation's database and a free port. `command`
   * replaces the words that start svcctl: see container.ts.
   */
  spawn(env?: Environment, command?: readonly string[]): ServiceProcess;
  /** Starts another command of the built program on this data dir. */
  spawnCommand(
    args: readonly string[],
    env?: Environment,
    command?: readonly string[],
  ): ServiceProcess;
  /** Runs one to its end. */
  run(
    args: readonly string[],
    env?: Environment,
    command?: readonly string[],
  ): Promise<Exit & { output: string }>;
  /** Starts it and waits until it is ready. */
  start(env?: Environment, command?: readonly string[]): Promise<Service>;
  postgresUrl(): Promise<string>;
  /** Pids of the processes that work in the cluster's directory. */
  listPostgresProcesses(): Promise<number[]>;
  /** Kills the PostgreSQL and waits until nothing of it is left. */
  signalPostgres(signal: NodeJS.Signals): Promise<void>;
  /** Ends all processes, whatever they do, and removes the files. */
  remove(): Promise<void>;
};

const root = fileURLToPath(new URL('../..', import.meta.url));

/** The words that start svcctl, which may be installed in another folder than this repository. */
export function ownCommand(folder = root): string[] {
  return [process.execPath, join(folder, 'packages/server/bin/svcctl.cjs')];
}

/** A free port, and no retention at the usual time of day, which would move what a test has stored. */
const usual = { SVC_PORT: '0', SVC_RETENTION_SCHEDULE: 'off' };

/**
 * What an installation begins with: a migrated cluster, which its service runs itself (to make one takes 2 s of CPU time);
 * a migrated database of the tests' own server, which starts and ends sooner; or nothing at all.
 */
export type Beginning = 'cluster' | 'database' | 'nothing';

export async function createInstallation(begin: Beginning = 'cluster'): Promise<Installation> {
  // On macOS the folder for temporary files is a symbolic link, while PostgreSQL reports its directory with links
  // resolved.
  const dataDir = realpathSync(await mkdtemp(join(tmpdir(), 'svcctl-e2e-')));
  if (begin === 'cluster') await copyCluster(inject('preparedCluster'), join(dataDir, 'postgres'));
  const database = begin === 'database' ? await createTestDatabase() : undefined;
  const own = { SVC_DATA_DIR: dataDir, ...(database && { DATABASE_URL: database.url }) };
  const processes: ServiceProcess[] = [];

  const spawnHere = (
    args: readonly string[],
    env: Environment = {},
    command?: readonly string[],
  ) => {
    const started = spawnProgram(args, { ...usual, ...own, ...env }, command);
    processes.push(started);
    return started;
  };
  const installation: Installation = {
    dataDir,
    // The process has no terminal, so the service would not print the sign-in link by itself.
    spawn: (env, command) => spawnHere(['serve', '--print-sign-in'], env, command),
    spawnCommand: spawnHere,
    async run(args, env, command) {
      const started = spawnHere(args, env, command);
      const exit = await started.waitForExit();
      return { ...exit, output: started.output() };
    },
    start: (env, command) => waitUntilReady(dataDir, installation.spawn(env, command)),
    postgresUrl: async () => database?.url ?? findPostgresUrl(dataDir),
    listPostgresProcesses: () => listProcessesIn(join(dataDir, 'postgres')),
    async signalPostgres(signal) {
      const pid = await readPostmasterPid(dataDir);
      if (pid !== undefined) sendSignal(pid, signal);
    },
    async remove() {
      for (const started of processes) await started.kill();
      await installation.signalPostgres('SIGQUIT');
      await waitFor('PostgreSQL to end', async () => {
        const left = await installation.listPostgresProcesses();
        return left.length === 0;
      });
      await database?.drop();
      await rm(dataDir, { recursive: true, force: true, maxRetries: 5 });
    },
  };
  return installation;
}

/** An installation for all tests of a file, or one for each of them. */
export function useInstallation(when: 'once' | 'each' = 'once', begin?: Beginning): Installation {
  return use(
    () => createInstallation(begin),
    (made) => made.remove(),
    when,
  );
}

/** A service in such an installation, which ends it. */
export function useService(
  installation: Installation,
  env?: Environment,
  when: 'once' | 'each' = 'once',
): Service {
  const end = async () => {};
  return use(() => installation.start(env), end, when);
}

/**
 * Finds TCP ports that are free now. They are below the range from which the system picks ports for outgoing
 * connections, so that none of those takes them before they are used.
 */
export async function findFreePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  while (ports.size < count) {
    const port = randomInt(20_000, 30_000);
    if (await canListen(port)) ports.add(port);
  }
  return [...ports];
}

function canListen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

/** Waits until the service that was spawned has announced itself and answers that it is ready. */
export async function waitUntilReady(dataDir: string, started: ServiceProcess): Promise<Service> {
  const url = await waitFor('the service to be ready', async () => {
    refuseExit(started);
    const text = await readFile(join(dataDir, 'service.json'), 'utf8').catch(() => '');
    if (!text.endsWith('\n')) return undefined;
    const announced = JSON.parse(text) as { url: string; pid: number };
    return announced.pid === started.pid ? announced.url : undefined;
  });
  return waitUntilReadyAt(url, dataDir, started);
}

/** The same for a service whose url is known beforehand. */
export async function waitUntilReadyAt(
  url: string,
  dataDir: string,
  started: ServiceProcess,
): Promise<Service> {
  await waitFor(`${url}/readyz to answer 200`, async () => {
    refuseExit(started);
    return (await statusOf(`${url}/readyz`)) === 200;
  });
  const token = (await readFile(join(dataDir, 'admin-token'), 'utf8')).trim();
  const target = { url, token };
  return {
    ...started,
    ...target,
    call: (method, path, options) => callApi(target, method, `/api/v1${path}`, options),
    probe: (path) => callApi(target, 'GET', path, { token: null }),
  };
}

/** Answers the status of a GET, or 0 when there is no connection. */
export async function statusOf(url: string): Promise<number> {
  try {
    const response = await fetch(url);
    await response.text();
    return response.status;
  } catch {
    return 0;
  }
}

function refuseExit(started: ServiceProcess): void {
  const exit = started.exit();
  if (exit === undefined) return;
  throw new Error(`the service ended with ${exit.code ?? exit.signal}:\n${started.output()}`);
}

function spawnProgram(
  args: readonly string[],
  env: Environment,
  command: readonly string[] = ownCommand(),
): ServiceProcess {
  const child = spawn('/usr/bin/env', [...command, ...args], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    // The process sees no SVC_* variables of whoever runs the tests.
    env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', ...env },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  let exit: Exit | undefined;
  // If the test process ends before it has cleaned up, it must not leave this process behind.
  const killAtExit = () => child.kill('SIGKILL');
  process.once('exit', killAtExit);
  child.once('close', (code, signal) => {
    exit = { code, signal };
    process.off('exit', killAtExit);
  });
  return {
    pid: pidOf(child),
    output: () => output,
    exit: () => exit,
    async kill() {
      if (exit === undefined) child.kill('SIGKILL');
      await waitFor('a killed service to be gone', () => exit);
    },
    async stop() {
      child.kill('SIGTERM');
      return waitFor('the service to end after SIGTERM', () => exit);
    },
    waitForExit: () => waitFor('the service to end', () => exit),
  };
}

function pidOf(child: ChildProcess): number {
  if (child.pid === undefined) throw new Error('the service could not be started');
  return child.pid;
}

async function listProcessesIn(dir: string): Promise<number[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(
    pids.map(async (pid) => {
      const cwd = await readlink(`/proc/${pid}/cwd`).catch(() => '');
      return cwd === dir || cwd === `${dir} (deleted)` ? [Number(pid)] : [];
    }),
  );
  return found.flat();
}

function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    // The process has ended already.
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}
