import { type ExecFileOptions, execFile } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { promisify } from 'node:util';
import { isCode } from './embedded-binaries.ts';

/** How to run PostgreSQL's programs: they refuse uid 0. */
export type ProgramUser = {
  /** Words put before the program, empty for none. */
  readonly prefix: readonly string[];
  /** Set when the programs run as another user, who must then own the cluster. */
  readonly owner?: { readonly uid: number; readonly gid: number };
};

const run = promisify(execFile);
const nobody = { uid: 65534, gid: 65534 };
const probeTimeoutMs = 10_000;

/**
 * Chooses the user for `postgres` and a cluster in `clusterDir` (which need not exist yet).
 *
 * An ordinary user runs it as is. Root runs it in a user namespace that maps root to an ordinary
 * uid: nothing has to be chowned and the files may lie where only root may enter. Where namespaces
 * are forbidden (Docker's default seccomp profile) root falls back to `nobody`.
 */
export async function chooseProgramUser(options: {
  postgres: string;
  clusterDir: string;
  signal?: AbortSignal | undefined;
}): Promise<ProgramUser> {
  const uid = process.getuid?.();
  if (uid !== 0 && hasName()) return { prefix: [] };

  const owner = await findOwner(options.clusterDir);
  const candidates: ProgramUser[] = [];
  // PostgreSQL insists on owning its files: a cluster made by another user stays that user's.
  if (uid === 0 && owner !== undefined && owner.uid !== 0) candidates.push({ prefix: [], owner });
  else {
    candidates.push({ prefix: await namespacePrefix() });
    if (uid === 0 && owner === undefined) candidates.push({ prefix: [], owner: nobody });
  }
  const failures: unknown[] = [];
  for (const user of candidates) {
    try {
      await runProgram(user, [options.postgres, '--version'], {
        timeoutMs: probeTimeoutMs,
        signal: options.signal,
      });
      return user;
    } catch (error) {
      options.signal?.throwIfAborted();
      failures.push(error);
    }
  }
  if (uid !== 0) return { prefix: [] };
  throw new Error(
    'PostgreSQL refuses to run as root, and neither a user namespace (unshare -U) nor an ' +
      `unprivileged user can run ${options.postgres} here. Run svcctl as an ordinary user, or set ` +
      `DATABASE_URL to a PostgreSQL server of your own. ${failures.map(describe).join(' ')}`,
    { cause: failures[0] },
  );
}

/** Runs a program to its end and returns its output; throws with the output when it fails. */
export async function runProgram(
  user: ProgramUser,
  [program, ...args]: readonly [string, ...string[]],
  options: { timeoutMs: number; signal?: AbortSignal | undefined },
): Promise<string> {
  const [file = program, ...words] = [...user.prefix, program, ...args];
  const limits: ExecFileOptions = { ...programOptions(user), timeout: options.timeoutMs };
  if (options.signal !== undefined) limits.signal = options.signal;
  const { stdout } = await run(file, words, limits);
  return String(stdout);
}

/** Options for `spawn` and `execFile`. The environment is ours alone: no PGDATA, no secrets. */
export function programOptions(user: ProgramUser): {
  cwd: string;
  env: Record<string, string>;
  uid?: number;
  gid?: number;
} {
  const path = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
  // '/': the current directory may be closed to the other user. LC_ALL: English messages, which
  // the start loop reads, and a locale that macOS needs to keep postgres single-threaded.
  return { cwd: '/', env: { PATH: path, LC_ALL: 'C', TZ: 'UTC' }, ...user.owner };
}

/** The last words of a failed program, for a message. */
export function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const stderr = 'stderr' in error ? String(error.stderr).trim() : '';
  return stderr === '' ? error.message : stderr.split('\n').slice(-5).join('\n');
}

/** initdb looks its user up by name; `docker run --user 12345` has none. */
function hasName(): boolean {
  try {
    return userInfo().username !== '';
  } catch {
    return false;
  }
}

/** Maps us to a uid that has a name. Not 65534: files of unmapped users look like its own. */
async function namespacePrefix(): Promise<string[]> {
  const users = await readFile('/etc/passwd', 'utf8').catch(() => '');
  const uids = [...users.matchAll(/^[^:\n]*:[^:\n]*:(\d+):/gm)]
    .map((match) => Number(match[1]))
    .filter((uid) => uid !== 0 && uid !== 65534);
  const uid = uids.includes(1000) ? 1000 : (uids[0] ?? 1000);
  return ['unshare', '-U', `--map-user=${uid}`, `--map-group=${uid}`, '--'];
}

async function findOwner(dir: string): Promise<{ uid: number; gid: number } | undefined> {
  try {
    const { uid, gid } = await stat(dir);
    return { uid, gid };
  } catch (error) {
    if (isCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}
