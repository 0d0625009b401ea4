import { spawn } from 'node:child_process';
import { open, readFile, readlink, realpath, rename, rm, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isRunning } from '../is-running.ts';
import { exists, isCode, unusable } from './embedded-binaries.ts';
import { type ProgramUser, programOptions, runProgram } from './embedded-user.ts';

/** What `postmaster.pid` says, and whether that process really serves this cluster. */
type Postmaster = {
  readonly pid: number;
  readonly port: number;
  /** Whether it accepts connections, and is not starting, recovering or shutting down. */
  readonly isReady: boolean;
  readonly isRunning: boolean;
};

/** A postmaster that this process started. It goes on when this process ends, unless it is stopped. */
export type LaunchedPostmaster = {
  readonly pid: number | undefined;
  hasExited(): boolean;
  /** Says why it exited, from the end of its log. `isTransient` means that trying again can help. */
  failure(): Promise<{ reason: string; isTransient: boolean }>;
  /** Shuts down a postmaster that nobody uses yet. */
  cancel(): Promise<void>;
};

const logLimitBytes = 10 * 1024 * 1024;
const logTailBytes = 4096;
const emptyLockFileMillis = 10_000;

const transientFailures = [
  'lock file', // another process was faster, or its server is just stopping
  'shared memory block', // the backends of a killed postmaster still hold it for a moment
  'could not bind', // another program took the port after it was found free
  'could not create any TCP/IP sockets',
  'terminated by signal',
];

/** Reads the lock file of a cluster; undefined when there is none, or when a power cut has left it empty. */
export async function readPostmaster(clusterDir: string): Promise<Postmaster | undefined> {
  const file = path.join(clusterDir, 'postmaster.pid');
  let content: string;
  try {
    content = await readFile(file, 'utf8');
  } catch (error) {
    if (isCode(error, 'ENOENT')) return undefined;
    throw error;
  }
  // The lines are: pid, data directory, start time, port, socket directory, address, shared memory, status.
  const lines = content.split('\n').map((line) => line.trim());
  // The number is negative when a single-user backend holds the lock.
  const pid = Math.abs(Number(lines[0]));
  if (!Number.isInteger(pid) || pid === 0) {
    await removeEmptyLockFile(file, content);
    return undefined;
  }
  return {
    pid,
    port: Number(lines[3]),
    isReady: lines[7] === 'ready',
    isRunning: await isServing(pid, clusterDir),
  };
}

/** Starts the server in a session of its own, so that Ctrl-C in the terminal of this process does not reach it. */
export async function launchPostmaster(options: {
  postgres: string;
  user: ProgramUser;
  clusterDir: string;
  logFile: string;
  port: number;
  settings: Readonly<Record<string, string>>;
}): Promise<LaunchedPostmaster> {
  await rotateLog(options.logFile);
  const stale = await readPostmaster(options.clusterDir);
  const log = await open(options.logFile, 'a', 0o600);
  try {
    if (options.user.owner !== undefined)
      await log.chown(options.user.owner.uid, options.user.owner.gid);
    const logStart = (await log.stat()).size;
    const words = [...options.user.prefix, options.postgres, '-D', options.clusterDir];
    words.push('-p', String(options.port));
    for (const [name, value] of Object.entries(options.settings)) {
      words.push('-c', `${name}=${value}`);
    }
    const [file = options.postgres, ...args] = words;
    const common = programOptions(options.user);
    // The pid in a lock file that was left over may belong to any process after a reboot, or to a zombie in a container
    // without init, and PostgreSQL would then refuse to start for ever. This variable, which exists for pg_ctl, makes
    // PostgreSQL disregard that one pid; its check of the shared memory still protects the data.
    if (stale?.isRunning === false) common.env.PG_GRANDPARENT_PID = String(stale.pid);
    const child = spawn(file, args, {
      ...common,
      detached: true,
      stdio: ['ignore', log.fd, log.fd],
    });
    child.unref();
    let spawnError: Error | undefined;
    child.on('error', (error) => {
      spawnError = error;
    });
    const hasExited = () =>
      spawnError !== undefined || child.exitCode !== null || child.signalCode !== null;
    return {
      pid: child.pid,
      hasExited,
      failure: async () => {
        if (spawnError !== undefined) return { reason: spawnError.message, isTransient: false };
        const tail = await readTail(options.logFile, logStart);
        const wasStopped = child.signalCode !== null || child.exitCode === 0;
        return {
          reason: tail || `it exited with ${child.signalCode ?? child.exitCode}`,
          isTransient: wasStopped || transientFailures.some((sign) => tail.includes(sign)),
        };
      },
      cancel: async () => {
        if (child.pid !== undefined) await sendSignal(options.user, child.pid, 'SIGINT');
        await waitUntil(hasExited, 10_000);
      },
    };
  } finally {
    await log.close();
  }
}

/**
 * Stops the server fast, after 30 s immediately (the next start recovers), then throws `database_unusable` after 5 s.
 */
export async function stopPostmaster(
  cluster: { dir: string; user: ProgramUser },
  pid: number,
): Promise<void> {
  const isGone = async () => !(await isServing(pid, cluster.dir));
  for (const [signal, timeoutMillis] of [
    ['SIGINT', 30_000],
    ['SIGQUIT', 5_000],
  ] as const) {
    if (await isGone()) return;
    await sendSignal(cluster.user, pid, signal);
    if (await waitUntil(isGone, timeoutMillis)) return;
  }
  throw unusable(`PostgreSQL (pid ${pid}) does not stop. See its log, then end it by hand.`);
}

/** Finds a free port, the last one first: another process may restart this server there, where its clients look. */
export async function choosePort(clusterDir: string): Promise<number> {
  const last = await readFile(path.join(clusterDir, 'postmaster.opts'), 'utf8').catch(() => '');
  const lastPort = Number(/"-p" "(\d+)"/.exec(last)?.[1] ?? 0);
  const port = (await listenOnce(lastPort)) ?? (await listenOnce(0));
  if (port === undefined) throw unusable('No TCP port is free on 127.0.0.1. Set DATABASE_URL.');
  return port;
}

/** Checks the condition every 20 ms until it is true. Returns false when the time is up. */
export async function waitUntil(
  condition: () => boolean | Promise<boolean>,
  timeoutMillis: number,
): Promise<boolean> {
  const deadline = performance.now() + timeoutMillis;
  while (!(await condition())) {
    if (performance.now() > deadline) return false;
    await delay(20);
  }
  return true;
}

/** Whether `pid` lives and works in `clusterDir`: numbers are used again, and a zombie serves nobody. */
async function isServing(pid: number, clusterDir: string): Promise<boolean> {
  if (process.platform !== 'linux') {
    if (!isRunning(pid)) return false;
    const name = await runProgram({ prefix: [] }, ['ps', '-o', 'comm=', '-p', String(pid)], {
      timeoutMillis: 5_000,
    }).catch(() => '');
    return name.includes('postgres');
  }
  const proc = `/proc/${pid}`;
  try {
    const dir = await realpath(clusterDir);
    try {
      return (await readlink(`${proc}/cwd`)) === dir;
    } catch (error) {
      if (!isCode(error, 'EACCES', 'EPERM')) throw error;
      // The process belongs to another user, and containers lack CAP_SYS_PTRACE. Everybody may read its command line.
      const words = (await readFile(`${proc}/cmdline`, 'utf8')).split('\0');
      return words.includes(dir) || words.includes(clusterDir);
    }
  } catch (error) {
    // ENOENT means a zombie or a process that has just gone. Any other error means that /proc is closed to us; then
    // connecting will tell, as it does where there is no /proc.
    if (!isCode(error, 'ENOENT', 'ESRCH')) return true;
    return !(await exists('/proc/self')) && isRunning(pid);
  }
}

/** Sends a signal, as the server's user where this process may not: root may lack CAP_KILL. */
async function sendSignal(user: ProgramUser, pid: number, signal: NodeJS.Signals): Promise<void> {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (isCode(error, 'ESRCH')) return;
    if (!isCode(error, 'EPERM')) throw error;
    const command = `kill -s ${signal.slice('SIG'.length)} ${pid}`;
    await runProgram(user, ['sh', '-c', command], { timeoutMillis: 5_000 });
  }
}

/** Removes an empty lock file, which only a power cut leaves behind, and PostgreSQL would never remove. */
async function removeEmptyLockFile(file: string, content: string): Promise<void> {
  if (content.trim() !== '') return;
  // A server that ends, or has no room for its lock, removes it meanwhile.
  const found = await stat(file).catch(() => null);
  if (found !== null && Date.now() - found.mtimeMs > emptyLockFileMillis)
    await rm(file, { force: true });
}

/** Returns the port if it is free now (0 takes any free port), or undefined when it is taken. */
function listenOnce(port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(undefined));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => {
      const address = server.address();
      const chosen = typeof address === 'object' && address !== null ? address.port : undefined;
      server.close(() => resolve(chosen));
    });
  });
}

async function rotateLog(file: string): Promise<void> {
  try {
    if ((await stat(file)).size > logLimitBytes) await rename(file, `${file}.1`);
  } catch (error) {
    if (!isCode(error, 'ENOENT')) throw error;
  }
}

/** Returns the last part of a log since `start`, or since its beginning when the log has been rotated. */
async function readTail(file: string, start: number): Promise<string> {
  const handle = await open(file, 'r');
  try {
    const { size } = await handle.stat();
    const from = Math.max(size < start ? 0 : start, size - logTailBytes);
    const { buffer, bytesRead } = await handle.read(
      Buffer.alloc(logTailBytes),
      0,
      logTailBytes,
      from,
    );
    return buffer.toString('utf8', 0, bytesRead).trim();
  } finally {
    await handle.close();
  }
}
