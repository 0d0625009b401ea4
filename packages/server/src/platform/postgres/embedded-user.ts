import { type ExecFileOptions, execFile } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';
import { userInfo } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { isCode, unusable } from './embedded-binaries.ts';

/** How to run PostgreSQL's programs, which refuse to run as uid 0. */
export type ProgramUser = {
  /** The words to put before the program; empty when none are needed. */
  readonly prefix: readonly string[];
  /** Present for root: who must own the cluster's files and, without a prefix, run the programs. */
  readonly owner?: Owner;
  /** The search path of the programs' libraries, where they do not find them by themselves. */
  readonly libraries?: string;
};

export type Owner = { readonly uid: number; readonly gid: number };

const run = promisify(execFile);
const root: Owner = { uid: 0, gid: 0 };
const nobody = 65534;
const probeTimeoutMillis = 10_000;

/**
 * Chooses the user for `postgres` and the cluster in `<dataDir>/postgres`, which need not exist yet.
 *
 * An ordinary user runs PostgreSQL directly. Root runs it in a user namespace that maps root to an ordinary uid: no
 * file changes its owner, and the files may lie in a folder that only root may enter. Where namespaces are forbidden
 * (in containers with the default seccomp profile, in any chroot) it runs as another uid, with the one capability that
 * lets it pass closed folders. Before a server is started, the cluster's files must be given to the owner in the
 * result.
 *
 * Throws `database_unusable` when root can use none of these ways.
 */
export async function chooseProgramUser(options: {
  initdb: string;
  postgres: string;
  libraries?: string | undefined;
  dataDir: string;
  signal?: AbortSignal | undefined;
}): Promise<ProgramUser> {
  const { initdb, postgres, dataDir, signal } = options;
  const paths = options.libraries === undefined ? {} : { libraries: options.libraries };
  const isRoot = process.getuid?.() === 0;
  if (!isRoot && hasName()) return { prefix: [], ...paths };

  const uid = await findOrdinaryUid();
  const namespace = ['unshare', '-U', `--map-user=${uid}`, `--map-group=${uid}`, '--'];
  const clusterDir = path.join(dataDir, 'postgres');
  const owner = await findOwner(clusterDir);
  const candidates: ProgramUser[] = isRoot
    ? await listUsersForRoot(owner, namespace)
    : [{ prefix: namespace }];
  const failures: unknown[] = [];
  for (const candidate of candidates) {
    const user = { ...candidate, ...paths };
    // Neither program changes anything, but both look for their files as the user they would run as. initdb also asks
    // for that user's name, which the owner of an existing cluster need not have.
    const isTheirs = owner !== undefined && owner.uid === user.owner?.uid;
    const program = isTheirs ? [postgres, '-C', 'data_directory'] : [initdb, '--show'];
    const probe = ['-c', 'cd "$0" && exec "$@"', dataDir, ...program, '-D', clusterDir];
    try {
      await runProgram(user, ['sh', ...probe], { timeoutMillis: probeTimeoutMillis, signal });
      return user;
    } catch (error) {
      signal?.throwIfAborted();
      failures.push(error);
    }
  }
  if (!isRoot) return { prefix: [], ...paths };
  throw unusable(
    'PostgreSQL refuses to run as root, and here root can neither make a user namespace nor become ' +
      `another user who gets to ${dataDir} and ${postgres} (in a container that takes the capabilities ` +
      'CHOWN, DAC_OVERRIDE, SETGID, SETPCAP and SETUID, which are there unless they were dropped). Run ' +
      'svcctl as an ordinary user who owns that folder, or set DATABASE_URL to a PostgreSQL server of your ' +
      `own. What was tried: ${failures.map(describe).join('; ')}`,
    failures[0],
  );
}

/** The possible users, the best first: the owner of an existing cluster, whose files then stay as they are. */
async function listUsersForRoot(
  made: Owner | undefined,
  namespace: readonly string[],
): Promise<ProgramUser[]> {
  const isForeign = made !== undefined && made.uid !== root.uid;
  const owner = isForeign ? made : await findUnprivileged();
  const others = [
    { prefix: [], owner },
    { prefix: await otherUserPrefix(owner), owner },
  ];
  const inNamespace = { prefix: namespace, owner: root };
  return isForeign ? [...others, inNamespace] : [inNamespace, ...others];
}

/**
 * Returns the prefix that runs a program as another user whom closed folders let pass. Two capabilities allow that. The
 * lesser one is used if this process has it; containers have only the other one. setpriv is part of util-linux, as
 * unshare is.
 */
async function otherUserPrefix({ uid, gid }: Owner): Promise<string[]> {
  const held = await readCapabilities();
  const capability = held & (1n << 2n) ? 'dac_read_search' : 'dac_override';
  const words = ['setpriv', `--reuid=${uid}`, `--regid=${gid}`, '--clear-groups'];
  words.push(`--inh-caps=+${capability}`, `--ambient-caps=+${capability}`);
  // PostgreSQL looks at its own programs with access(2), which asks for the rights of the real uid. These include no
  // capabilities unless this bit is set, and setting it takes CAP_SETPCAP.
  if (held & (1n << 8n)) words.push('--securebits=+no_setuid_fixup');
  return [...words, '--'];
}

/**
 * Returns the effective capabilities of this process as bits, numbered as in capabilities(7). Where there is no `/proc`
 * these are taken to be CAP_SETPCAP, as root has it almost everywhere.
 */
async function readCapabilities(): Promise<bigint> {
  const status = await readFile('/proc/self/status', 'utf8').catch(() => '');
  return BigInt(`0x${/^CapEff:\t(\w+)/m.exec(status)?.[1] ?? '100'}`);
}

/** Runs a program to its end and returns what it wrote to stdout. Throws with its output when it fails. */
export async function runProgram(
  user: ProgramUser,
  [program, ...args]: readonly [string, ...string[]],
  options: { timeoutMillis: number; signal?: AbortSignal | undefined },
): Promise<string> {
  const [file = program, ...words] = [...user.prefix, program, ...args];
  const limits: ExecFileOptions = { ...programOptions(user), timeout: options.timeoutMillis };
  if (options.signal !== undefined) limits.signal = options.signal;
  const { stdout } = await run(file, words, limits);
  return String(stdout);
}

/** Options for `spawn` and `execFile`, with an environment made here: no PGDATA or secret is inherited. */
export function programOptions(user: ProgramUser): {
  cwd: string;
  env: Record<string, string>;
  uid?: number;
  gid?: number;
} {
  const searchPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
  // The folder is '/', because the current directory may be closed to the other user. LC_ALL gives the English messages
  // that the start loop reads, and a locale with which PostgreSQL stays single-threaded on macOS.
  const env: Record<string, string> = { PATH: searchPath, LC_ALL: 'C', TZ: 'UTC' };
  if (user.libraries !== undefined) env.LD_LIBRARY_PATH = user.libraries;
  return { cwd: '/', env, ...(user.prefix.length === 0 ? user.owner : {}) };
}

/** Returns the last lines that a failed program wrote, for use in a message. */
export function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const stderr = 'stderr' in error ? String(error.stderr).trim() : '';
  return stderr === '' ? error.message : stderr.split('\n').slice(-5).join('\n');
}

/** Returns whether this user has a name. initdb looks it up, and with `docker run --user 12345` there is none. */
function hasName(): boolean {
  try {
    return userInfo().username !== '';
  } catch {
    return false;
  }
}

/** A user to be mapped to; not 65534, whose files look like those of unmapped users. */
async function findOrdinaryUid(): Promise<number> {
  const uids = (await listNamedUsers()).map(({ uid }) => uid).filter((uid) => uid !== nobody);
  return uids.includes(1000) ? 1000 : (uids[0] ?? 1000);
}

/** Returns a user to run as: nobody, or else any other user that has a name, as initdb needs one. */
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
