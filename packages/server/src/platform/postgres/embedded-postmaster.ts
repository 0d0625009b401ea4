import { spawn } from 'node:child_process';
import { open, readFile, readlink, realpath, rename, rm, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isCode, unusable } from './embedded-binaries.ts';
import { type ProgramUser, programOptions, runProgram } from './embedded-user.ts';

/** What `postmaster.pid` says, and whether that process really serves this cluster. */
export type Postmaster = {
  readonly pid: number;
  readonly port: number;
  /** It accepts connections (as opposed to starting, recovering or shutting down). */
  readonly isReady: boolean;
  readonly isRunning: boolean;
};

/** A postmaster we spawned. It outlives us unless stopped. */
export type LaunchedPostmaster = {
  readonly pid: number | undefined;
  hasExited(): boolean;
  /** Why it exited: the end of its log. `isTransient`: trying again can help. */
  failure(): Promise<{ reason: string; isTransient: boolean }>;
  /** Fast shutdown of one that is not yet in use. */
  cancel(): Promise<void>;
};

const logLimitBytes = 10 * 1024 * 1024;
const logTailBytes = 4096;
const emptyLockFileMillis = 10_000;

const transientFailures = [
  'lock file', // another process was faster, or is just stopping
  'shared memory block', // backends of a killed postmaster still have it for a moment
  'could not bind', // the port was taken since we looked
  'could not create any TCP/IP sockets',
  'terminated by signal',
];

export async function readPostmaster(clusterDir: string): Promise<Postmaster | undefined> {
  const file = path.join(clusterDir, 'postmaster.pid');
  let content: string;
  try {
    content = await readFile(file, 'utf8');
  } catch (error) {
    if (isCode(error, 'ENOENT')) return undefined;
    throw error;
  }
  // Lines: pid, data directory, start time, port, socket directory, address, shared memory, status.
  const lines = content.split('\n').map((line) => line.trim());
  // Negative: a single-user backend.
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

/** Starts the server in a session of its own, so that Ctrl-C in our terminal does not reach it. */
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
    // After a reboot the pid in a leftover lock file may be anybody's, in a container without init a
    // zombie's, and PostgreSQL would refuse to start for ever. This variable, made for pg_ctl, tells
    // it to disregard that one pid; its check of the shared memory still guards the data.
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

/** Fast shutdown; an immediate one (recovered at the next start) when that takes over 30 s. */
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

/**
 * A free port, the last one if possible: another process may be restarting this server at the same
 * moment on the port that its clients know.
 */
export async function choosePort(clusterDir: string): Promise<number> {
  const last = await readFile(path.join(clusterDir, 'postmaster.opts'), 'utf8').catch(() => '');
  const lastPort = Number(/"-p" "(\d+)"/.exec(last)?.[1] ?? 0);
  const port = (await listenOnce(lastPort)) ?? (await listenOnce(0));
  if (port === undefined) throw unusable('No TCP port is free on 127.0.0.1. Set DATABASE_URL.');
  return port;
}

/** Polls every 20 ms; false when time is up. */
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

/** Whether `pid` is a live process working in `clusterDir`: pids are reused, zombies do not serve. */
async function isServing(pid: number, clusterDir: string): Promise<boolean> {
  if (process.platform !== 'linux') {
    if (!mayBeSignalled(pid)) return false;
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
      // Another uid's, and containers lack CAP_SYS_PTRACE. The command line is open to all.
      const words = (await readFile(`${proc}/cmdline`, 'utf8')).split('\0');
      return words.includes(dir) || words.includes(clusterDir);
    }
  } catch (error) {
    // ENOENT: a zombie or just gone. Otherwise /proc is closed to us: connecting will tell.
    return !isCode(error, 'ENOENT', 'ESRCH');
  }
}

/** A server of another uid may be signalled by that uid, if not by us: root may lack CAP_KILL. */
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

function mayBeSignalled(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Left by a power cut. A postmaster fills its lock file at once; PostgreSQL never removes it. */
async function removeEmptyLockFile(file: string, content: string): Promise<void> {
  if (content.trim() !== '') return;
  const { mtimeMs } = await stat(file);
  if (Date.now() - mtimeMs > emptyLockFileMillis) await rm(file, { force: true });
}

/** The port if it is free now (port 0: any); undefined when it is taken. */
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
