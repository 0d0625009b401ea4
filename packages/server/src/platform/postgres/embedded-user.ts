import { type ExecFileOptions, execFile } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';
import { userInfo } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { isCode, unusable } from './embedded-binaries.ts';

/** How to run PostgreSQL's programs: they refuse uid 0. */
export type ProgramUser = {
  /** Words put before the program, empty for none. */
  readonly prefix: readonly string[];
  /** Set when we are root: who has to own the cluster's files. Without a prefix, whom to run as. */
  readonly owner?: Owner;
};

export type Owner = { readonly uid: number; readonly gid: number };

const run = promisify(execFile);
const root: Owner = { uid: 0, gid: 0 };
const nobody = 65534;
const probeTimeoutMs = 10_000;

/**
 * Chooses the user for `postgres` and the cluster in `<dataDir>/postgres` (which need not exist yet).
 *
 * An ordinary user runs it as is. Root runs it in a user namespace that maps root to an ordinary
 * uid: no file changes hands, and they may lie where only root may enter. Where namespaces are
 * forbidden (containers under their default seccomp profile, any chroot) it runs as another uid, which
 * keeps the one capability that leads through closed folders. The cluster's files must be given to the
 * owner this answers with before a server is started on them.
 */
export async function chooseProgramUser(options: {
  postgres: string;
  dataDir: string;
  signal?: AbortSignal | undefined;
}): Promise<ProgramUser> {
  const { postgres, dataDir, signal } = options;
  const isRoot = process.getuid?.() === 0;
  if (!isRoot && hasName()) return { prefix: [] };

  const uid = await findOrdinaryUid();
  const namespace = ['unshare', '-U', `--map-user=${uid}`, `--map-group=${uid}`, '--'];
  const candidates: ProgramUser[] = isRoot
    ? await listUsersForRoot(path.join(dataDir, 'postgres'), namespace)
    : [{ prefix: namespace }];
  const failures: unknown[] = [];
  for (const user of candidates) {
    try {
      // Whether it can be run at all, and whether its user gets as far as the cluster.
      await runProgram(user, ['sh', '-c', 'cd "$1" && "$2" --version', 'sh', dataDir, postgres], {
        timeoutMs: probeTimeoutMs,
        signal,
      });
      return user;
    } catch (error) {
      signal?.throwIfAborted();
      failures.push(error);
    }
  }
  if (!isRoot) return { prefix: [] };
  throw unusable(
    'PostgreSQL refuses to run as root, and here root can neither make a user namespace nor become ' +
      `another user who gets to ${dataDir} and ${postgres} (in a container that takes the capabilities ` +
      'CHOWN, DAC_OVERRIDE, SETGID and SETUID, which are there unless they were dropped). Run svcctl ' +
      'as an ordinary user who owns that folder, or set DATABASE_URL to a PostgreSQL server of your ' +
      `own. What was tried: ${failures.map(describe).join('; ')}`,
    failures[0],
  );
}

/** In order of preference. Whose the cluster is decides first: then its files stay as they are. */
async function listUsersForRoot(clusterDir: string, namespace: string[]): Promise<ProgramUser[]> {
  const made = await findOwner(clusterDir);
  const isForeign = made !== undefined && made.uid !== root.uid;
  const owner = isForeign ? made : await findUnprivileged();
  const others: ProgramUser[] = [
    { prefix: [], owner },
    // Least rights first: containers have only the second of them.
    { prefix: otherUserPrefix(owner, 'dac_read_search'), owner },
    { prefix: otherUserPrefix(owner, 'dac_override'), owner },
  ];
  const inNamespace = { prefix: namespace, owner: root };
  return isForeign ? [...others, inNamespace] : [inNamespace, ...others];
}

/** setpriv is part of util-linux, as unshare is. */
function otherUserPrefix({ uid, gid }: Owner, capability: string): string[] {
  const ids = [`--reuid=${uid}`, `--regid=${gid}`, '--clear-groups'];
  return ['setpriv', ...ids, `--inh-caps=+${capability}`, `--ambient-caps=+${capability}`, '--'];
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
  const searchPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
  // '/': the current directory may be closed to the other user. LC_ALL: English messages, which
  // the start loop reads, and a locale that macOS needs to keep postgres single-threaded.
  const env = { PATH: searchPath, LC_ALL: 'C', TZ: 'UTC' };
  return { cwd: '/', env, ...(user.prefix.length === 0 ? user.owner : {}) };
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

/** A user to be mapped to. Not 65534: files of unmapped users look like its own. */
async function findOrdinaryUid(): Promise<number> {
  const uids = (await listNamedUsers()).map(({ uid }) => uid).filter((uid) => uid !== nobody);
  return uids.includes(1000) ? 1000 : (uids[0] ?? 1000);
}

/** A user to run as: nobody, or else any that initdb finds a name for. */
async function findUnprivileged(): Promise<Owner> {
  const users = await listNamedUsers();
  return users.find(({ uid }) => uid === nobody) ?? users[0] ?? { uid: nobody, gid: nobody };
}

async function listNamedUsers(): Promise<Owner[]> {
  const users = await readFile('/etc/passwd', 'utf8').catch(() => '');
  return [...users.matchAll(/^[^:\n]*:[^:\n]*:(\d+):(\d+):/gm)]
    .map(([, uid, gid]) => ({ uid: Number(uid), gid: Number(gid) }))
    .filter(({ uid }) => uid !== root.uid);
}

async function findOwner(dir: string): Promise<Owner | undefined> {
  try {
    const { uid, gid } = await stat(dir);
    return { uid, gid };
  } catch (error) {
    if (isCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}
