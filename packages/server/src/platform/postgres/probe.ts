import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import sql, { raw } from 'sql-template-tag';
import { AppError } from '../../kernel/errors.ts';
import { randomText } from '../../kernel/ids.ts';
import { type Database, onlyRow, type Queryable, type Session } from './database.ts';
import { sqlState } from './errors.ts';
import { advisoryLocks } from './locks.ts';

const oldestVersion = 150_000;
const answerMillis = 10_000;
/** How often another session tries to be given the backend of the first: a busy pooler may miss it once or twice. */
const rounds = 3;

/** Throws `database_unusable` with a remedy for what will not pass by itself, `database_unavailable` for what may. */
export async function refuseUnfit(database: Database): Promise<void> {
  try {
    refuseServer(await readServer(database));
    await refuseSharedSessions(database);
  } catch (error) {
    throw explain(error);
  }
}

type Server = {
  version: string;
  version_number: number;
  encoding: string;
  name: string;
  role: string;
  is_standby: boolean;
  is_read_only: boolean;
  search_path: string;
  /** Where new tables go. It is null when no schema of the search path exists, or the role may use none. */
  schema: string | null;
  may_create: boolean | null;
  /** Where the tables of svcctl are. */
  home: string | null;
  /** Who owns the tables, if the role has not the rights of the owner. */
  foreign_owner: string | null;
};

async function readServer(db: Queryable): Promise<Server> {
  const rows = await db.query<Server>(sql`
    select current_setting('server_version') as version,
      current_setting('server_version_num')::int as version_number,
      current_setting('server_encoding') as encoding, current_database() as name, current_user as role,
      pg_is_in_recovery() as is_standby, current_setting('transaction_read_only') = 'on' as is_read_only,
      current_setting('search_path') as search_path, current_schema() as schema,
      has_schema_privilege(current_schema(), 'create') as may_create,
      (
        select nspname from pg_class join pg_namespace on pg_namespace.oid = relnamespace
        where pg_class.oid = to_regclass('enrichment_records')
      ) as home,
      (
        select pg_get_userbyid(relowner) from pg_class
        where oid = to_regclass('enrichment_records') and not pg_has_role(relowner, 'usage')
      ) as foreign_owner`);
  return onlyRow(rows);
}

function refuseServer(server: Server): void {
  const { name, role, schema, home } = server;
  if (server.version_number < oldestVersion) {
    throw unfit(
      `The server is PostgreSQL ${server.version}. Use PostgreSQL 15 or newer: the data moves there by pg_dump.`,
    );
  }
  if (server.encoding !== 'UTF8') {
    throw unfit(
      `The database ${name} holds text as ${server.encoding}. Make one that holds UTF8: create database … encoding 'UTF8' template template0.`,
    );
  }
  if (server.is_standby) {
    throw new AppError('database_unavailable', {
      detail:
        'The server is a standby, which only reads. It is waited for until it becomes the primary.',
      retryAfterSeconds: 1,
    });
  }
  if (server.is_read_only) {
    throw unfit(
      `Transactions of ${role} in the database ${name} only read. Look for default_transaction_read_only at the role, the database and the server.`,
    );
  }
  if (schema === null) {
    throw unfit(
      `No schema of the search path ${server.search_path} exists and may be used by ${role}. Make one, or change it: alter role ${role} set search_path = public.`,
    );
  }
  if (home !== null && home !== schema) {
    throw unfit(
      `The tables of svcctl are in the schema ${home}, and new ones would go to ${schema}. Put ${home} first: alter role ${role} set search_path = ${home}.`,
    );
  }
  if (server.may_create !== true) {
    throw unfit(
      `${role} may not make tables in the schema ${schema}. Allow it: grant usage, create on schema ${schema} to ${role}.`,
    );
  }
  if (server.foreign_owner !== null) {
    throw unfit(
      `The tables of svcctl belong to ${server.foreign_owner}, and ${role} has not its rights, so it cannot add the table of a new month. Allow it: grant ${server.foreign_owner} to ${role}, or connect as ${server.foreign_owner}.`,
    );
  }
}

/**
 * Throws when what one session sets, locks or prepares reaches another one, or is lost: behind a pooler in transaction
 * mode a session gets any backend for each transaction. While another session is in a transaction, the first asks which
 * backend it has now, and whether its setting is still there.
 */
async function refuseSharedSessions(database: Database): Promise<void> {
  const mark = randomText(16).toLowerCase();
  const channel = `svcctl_probe_${mark}`;
  const place = randomInt(2 ** 31 - 1);
  const first = await database.openSession({ answerMillis });
  let second: Session | undefined;
  try {
    const heard = new Promise<'heard'>((resolve) => first.onNotification(() => resolve('heard')));
    await first.query(sql`listen ${raw(channel)}`);
    const before = await look(first, place, mark);
    second = await database.openSession({ answerMillis });
    for (let round = 1; round <= rounds; round += 1) {
      await second.query(sql`begin`);
      const other = await look(second, place);
      const now = await look(first, place);
      await second.query(sql`commit`);
      const isKept = now.pid === before.pid && now.mark === mark && now.is_locked;
      const isApart = other.pid !== now.pid && other.mark !== mark && !other.is_locked;
      if (!isKept || !isApart) throw shared();
    }
    await second.query(sql`select pg_notify(${channel}, '')`);
    const late = delay(answerMillis, 'late', { ref: false });
    if ((await Promise.race([heard, late])) === 'late') {
      if (first.lost.aborted) throw new AppError('database_unavailable', { retryAfterSeconds: 1 });
      throw unfit(
        'A notification of the database did not arrive. The pooler in front of it must pass LISTEN and NOTIFY on; or connect to the server itself.',
      );
    }
  } finally {
    await first.close();
    await second?.close();
  }
}

type Sight = { pid: number; mark: string | null; is_locked: boolean };

/** Looks which backend serves the session, what mark is set there, and whether it gets the lock. A mark that is given is set. */
async function look(session: Queryable, place: number, mark?: string): Promise<Sight> {
  const rows = await session.query<Sight>(sql`
    select pg_backend_pid() as pid,
      ${mark === undefined ? raw(`current_setting('svcctl.probe', true)`) : sql`set_config('svcctl.probe', ${mark}, false)`} as mark,
      pg_try_advisory_lock(${advisoryLocks.probes}, ${place}) as is_locked`);
  return onlyRow(rows);
}

/** The prepared statement of this session is not there, or is there already: another session's backend serves it. */
const sharedStates = new Set(['26000', '42P05']);

/** What will not pass by itself, by SQLSTATE and message, and what to do. Poolers use 08P01 for everything. */
const remedies: readonly [RegExp, string][] = [
  [/^28P01|authentication failed/, 'Correct the user and the password in DATABASE_URL.'],
  [/^28000/, 'Correct the user in DATABASE_URL, or let it in: pg_hba.conf of the server decides.'],
  [/^3D000/, "Correct DATABASE_URL, or make the database: create database … encoding 'UTF8'."],
  [/^42501/, 'Allow it: grant connect on database … to the user of DATABASE_URL.'],
  [
    /startup parameter/,
    'Leave it out of DATABASE_URL: svcctl needs none. Or let the pooler skip it (pgbouncer: ignore_startup_parameters).',
  ],
  [/no such (database|user)/, 'Correct DATABASE_URL, or tell the pooler of it.'],
];

/** Returns `database_unusable` for a fault that will not pass by itself, and any other error as it came. */
function explain(error: unknown): unknown {
  const state = sqlState(error) ?? '';
  if (sharedStates.has(state)) return shared(error);
  const isTranslated = error instanceof AppError;
  if (isTranslated && error.code !== 'database_unavailable') return error;
  const cause = isTranslated ? error.cause : error;
  if (!(cause instanceof Error)) return error;
  if (/transaction blocks not allowed/.test(cause.message)) return shared(error);
  const [, remedy] = remedies.find(([sign]) => sign.test(`${state} ${cause.message}`)) ?? [];
  if (remedy === undefined && isTranslated) return error;
  return unfit(
    `The database cannot be used: ${cause.message}. ${remedy ?? 'Correct DATABASE_URL or the server.'}`,
    cause,
  );
}

function shared(cause?: unknown): AppError {
  return unfit(
    'The pooler in front of the database lends its connections for single transactions. svcctl needs sessions: let it pool sessions (pgbouncer: pool_mode = session), or connect to the server itself.',
    cause,
  );
}

function unfit(detail: string, cause?: unknown): AppError {
  return new AppError('database_unusable', { detail, cause });
}
