import { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { isCode, unusable } from './embedded-binaries.ts';
import { giveCluster } from './embedded-cluster.ts';
import {
  choosePort,
  type LaunchedPostmaster,
  launchPostmaster,
  readPostmaster,
} from './embedded-postmaster.ts';
import type { ProgramUser } from './embedded-user.ts';

export type EmbeddedPostgresLog = (
  level: 'info' | 'warn' | 'error',
  message: string,
  fields?: Record<string, unknown>,
) => void;

/** What is known of a cluster before a server runs on it. */
export type Cluster = {
  readonly dir: string;
  readonly logFile: string;
  readonly postgres: string;
  readonly user: ProgramUser;
  readonly password: string;
  readonly settings: Readonly<Record<string, string>>;
  readonly log: EmbeddedPostgresLog;
  /** The application_name of our own hold, by which other processes recognize it. */
  readonly holdName: string;
};

/** An open connection. By it other processes know that this one needs the server, and this one that it runs. */
export type Hold = {
  readonly client: Client;
  readonly socket: Socket;
  readonly pid: number;
  readonly port: number;
  /** Resolves when the connection has ended. */
  readonly ended: Promise<unknown>;
};

const availableWithinMillis = 60_000;
const pollMillis = 10;
const firstRetryMillis = 100;
const lastRetryMillis = 5_000;
const closeTimeoutMillis = 2_000;
/** The connections of a process that has ended may take this long to go. */
const lingerMillis = 2_000;

/**
 * Tries until it holds a connection to a server of this cluster, for at most a minute; then it throws
 * `database_unusable`. PostgreSQL's own lock file, which no crash can leave locked, decides which process starts the
 * server: the postmaster of the other process exits, and the loop finds the one that runs.
 */
export async function attachOrStart(
  cluster: Cluster,
  options: { port?: number; signal?: AbortSignal | undefined },
): Promise<Hold> {
  const { signal } = options;
  const deadline = performance.now() + availableWithinMillis;
  let launched: LaunchedPostmaster | undefined;
  let retryMillis = firstRetryMillis;
  let waitingFor = 'it to start';
  const backOff = async () => {
    await delay(retryMillis, undefined, { signal });
    retryMillis = Math.min(retryMillis * 2, lastRetryMillis);
  };
  try {
    while (performance.now() < deadline) {
      const postmaster = await readPostmaster(cluster.dir);
      if (postmaster?.isRunning && postmaster.isReady) {
        const held = await holdConnection(cluster, postmaster);
        if (!(held instanceof Error)) {
          const isOurs = held.pid === launched?.pid;
          cluster.log('info', isOurs ? 'PostgreSQL started' : 'attached to a running PostgreSQL', {
            postmasterPid: held.pid,
            port: held.port,
            clusterDir: cluster.dir,
          });
          return held;
        }
        waitingFor = held.message;
        await backOff();
      } else if (postmaster?.isRunning) {
        waitingFor = 'it to finish starting, recovering or shutting down';
      } else if (launched === undefined) {
        const { owner } = cluster.user;
        if (owner !== undefined) await giveCluster(cluster.dir, owner);
        const port = options.port ?? (await choosePort(cluster.dir));
        launched = await launchPostmaster({ ...cluster, clusterDir: cluster.dir, port });
      }
      if (launched?.hasExited()) {
        const { reason, isTransient } = await launched.failure();
        if (!isTransient) throw unusable(`PostgreSQL could not start in ${cluster.dir}: ${reason}`);
        waitingFor = reason;
        launched = undefined;
        // The first time another process was faster, as a rule.
        if (retryMillis > firstRetryMillis) {
          const fields = { clusterDir: cluster.dir, reason };
          cluster.log('warn', 'PostgreSQL could not start, trying again', fields);
        }
        await backOff();
      }
      await delay(pollMillis, undefined, { signal });
    }
  } catch (error) {
    if (signal?.aborted) {
      await launched?.cancel();
      throw signal.reason;
    }
    throw error;
  }
  // The server is left running: a long recovery goes on, and the next start attaches to it.
  throw unusable(
    `PostgreSQL in ${cluster.dir} was not available within ${availableWithinMillis / 1000} s, waiting ` +
      `for: ${waitingFor}. See ${cluster.logFile} and start again.`,
  );
}

/** Connects as our hold. Returns the error when trying again can help, else throws `database_unusable`. */
export async function holdConnection(
  cluster: Cluster,
  { pid, port }: { pid: number; port: number },
): Promise<Hold | Error> {
  const socket = new Socket();
  const client = new Client({
    host: '127.0.0.1',
    port,
    user: 'svcctl',
    password: cluster.password,
    database: 'postgres',
    application_name: cluster.holdName,
    ssl: false,
    stream: () => socket,
    connectionTimeoutMillis: 5_000,
    query_timeout: 10_000,
  });
  const ended = new Promise((resolve) => client.once('end', resolve));
  // Without this listener a lost connection would end the process. The event 'end' follows, and that one is handled.
  client.on('error', () => {});
  try {
    await client.connect();
    const { rows } = await client.query<{ data_directory: string }>('show data_directory');
    if (rows[0]?.data_directory !== cluster.dir) {
      throw new Error(`port ${port} serves ${rows[0]?.data_directory}`);
    }
    await ensureDatabase(client);
    // A process that forgets to call `stop` can still exit.
    socket.unref();
    return { client, socket, pid, port, ended };
  } catch (error) {
    socket.destroy();
    if (isCode(error, '28P01')) {
      throw unusable(
        `PostgreSQL refuses the password in ${cluster.dir}/svcctl-password. Put the right one there.`,
        error,
      );
    }
    return error instanceof Error ? error : new Error(String(error));
  }
}

async function ensureDatabase(client: Client): Promise<void> {
  const existing = await client.query("select 1 from pg_database where datname = 'svcctl'");
  if (existing.rowCount !== 0) return;
  try {
    await client.query('create database svcctl');
  } catch (error) {
    // Another process was faster. The unique index may notice that before the check of the name does.
    if (!isCode(error, '42P04', '23505')) throw error;
  }
  const lz4 = await client.query(
    "select 1 from pg_settings where name = 'default_toast_compression' and 'lz4' = any (enumvals)",
  );
  if (lz4.rowCount !== 0) {
    await client.query("alter database svcctl set default_toast_compression = 'lz4'");
  }
}

/** Ends the hold. Returns how many other connections use the server, or undefined when it cannot be asked. */
export async function leave({ client, socket }: Hold): Promise<number | undefined> {
  socket.ref();
  const others = await countOthers(client).catch(() => undefined);
  socket.setTimeout(closeTimeoutMillis, () => socket.destroy());
  await client.end();
  return others;
}

/**
 * Counts the connections of other processes and the other holds of this one. It takes this hold out of the count first,
 * so of two processes that stop at the same time the one that asks later sees nobody. The connections of a process that
 * has just ended or was killed are given a moment to go; they are told apart because a process that stays has a hold.
 */
async function countOthers(client: Client): Promise<number> {
  await client.query("set application_name to 'svcctl-leaving'");
  const deadline = performance.now() + lingerMillis;
  for (;;) {
    const { rows } = await client.query<{ others: number; holds: number }>(
      `select count(*)::int as others,
              count(*) filter (where split_part(application_name, ':', 3) like 'hold-%')::int as holds
         from pg_stat_activity
        where backend_type = 'client backend'
          and application_name like 'svcctl%'
          and application_name <> 'svcctl-leaving'
          and (split_part(application_name, ':', 2) <> $1
            or split_part(application_name, ':', 3) like 'hold-%')`,
      [String(process.pid)],
    );
    const { others = 0, holds = 0 } = rows[0] ?? {};
    if (others === 0 || holds > 0 || performance.now() > deadline) return others;
    await delay(pollMillis);
  }
}
