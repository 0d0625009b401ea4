// What several scripts share. It has no dependencies, because setup runs before anything is installed.
import { spawn } from 'node:child_process';
import {
  constants as access,
  accessSync,
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statfsSync,
} from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The root of the repository. */
export const root = fileURLToPath(new URL('..', import.meta.url));

/** Whether the script with this `import.meta.url` was started directly, rather than imported by another. */
export function isMain(moduleUrl) {
  const [, started] = process.argv;
  return started !== undefined && realpathSync(started) === fileURLToPath(moduleUrl);
}

/** Does the work of a script. What it throws is told, and ends the script with 1. */
export async function tellingFaults(work) {
  try {
    await work();
  } catch (error) {
    process.stderr.write(`error: ${error.message}\n`);
    process.exitCode = 1;
  }
}

/** The path of a program that npm installed. */
export function installed(name) {
  return join(root, 'node_modules', '.bin', name);
}

/**
 * Runs a program in the root of the repository and answers its exit code and output. With `inherit` the output goes to
 * our own instead. Throws if the program cannot start.
 */
export async function run(command, args, { inherit = false, env = process.env } = {}) {
  const stdio = inherit ? 'inherit' : ['ignore', 'pipe', 'pipe'];
  const child = spawn(command, args, { cwd: root, stdio, env });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text) => {
      output += text;
    });
  }
  const code = await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (status, signal) => resolve(status ?? signal));
  });
  return { code, output };
}

/**
 * Runs a program that starts others, such as the tests, as `run` with `inherit` does, with a folder of its own for
 * temporary files. When it has ended, or we are told to end, nothing that works in this folder is left: services and
 * databases outlive whoever started them.
 */
export async function runLeavingNothing(command, args, env = process.env) {
  const folders = [tmpdir(), ...findMemory()].map((parent) => {
    const made = realpathSync(mkdtempSync(join(parent, 'svcctl-run-')));
    // Like /tmp itself: some of what is started runs as another user.
    chmodSync(made, 0o1777);
    return made;
  });
  const [folder, room = folder] = folders;
  const clear = () => {
    for (const pid of folders.flatMap(processesIn)) endProcess(pid);
    for (const made of folders) rmSync(made, { recursive: true, force: true, maxRetries: 5 });
  };
  const stop = (signal) => {
    clear();
    // As a shell reports a process that a signal has ended.
    process.exit(128 + constants.signals[signal]);
  };
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
  for (const signal of signals) process.once(signal, stop);
  try {
    const own = { TMPDIR: folder, SVC_TEST_ROOM: room };
    return await run(command, args, { inherit: true, env: { ...env, ...own } });
  } finally {
    for (const signal of signals) process.off(signal, stop);
    clear();
  }
}

const plentyBytes = 10 * 2 ** 30;

/**
 * The folder that lies in memory, where there is plenty of it. The tests' PostgreSQL has its files there: to make and drop
 * a database of 250 files, as for each file of tests, took 99 ms of its time on a disk, and takes 45. What it writes
 * between two checkpoints is 4 GB at most.
 */
function findMemory() {
  const memory = '/dev/shm';
  if (!existsSync(memory) || process.availableMemory() < plentyBytes) return [];
  const { bavail, bsize } = statfsSync(memory);
  return bavail * bsize < plentyBytes || !mayWrite(memory) ? [] : [memory];
}

function mayWrite(folder) {
  try {
    accessSync(folder, access.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** The processes that work in the folder, or were told of it when they were started. Only Linux tells. */
function processesIn(folder) {
  const pids = existsSync('/proc') ? readdirSync('/proc').filter((name) => /^\d+$/.test(name)) : [];
  return pids.map(Number).filter((pid) => {
    try {
      return (
        pid !== process.pid &&
        (readlinkSync(`/proc/${pid}/cwd`).startsWith(folder) ||
          readFileSync(`/proc/${pid}/environ`, 'utf8').includes(folder))
      );
    } catch {
      // It has ended, or belongs to somebody else.
      return false;
    }
  });
}

function endProcess(pid) {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended meanwhile.
  }
}
