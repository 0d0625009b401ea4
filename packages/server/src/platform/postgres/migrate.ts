import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { setTimeout } from 'node:timers/promises';
import type pg from 'pg';
import sql from 'sql-template-tag';
import { AppError } from '../../kernel/errors.ts';
import { isRunning } from '../is-running.ts';
import {
  type Applied,
  baseline,
  findGap,
  lastReplaced,
  refuseOlder,
  replaced,
  withBaseline,
} from './baseline.ts';
import { commit, longestTimerMillis, usualLimits } from './client.ts';
import { type Connection, cancelling, type Database, type Queryable } from './database.ts';
import { sqlState } from './errors.ts';
import { advisoryLocks } from './locks.ts';
import { refuseUnfit } from './probe.ts';

const migrationsDir = new URL('../../../migrations/', import.meta.url);
const fileName = /^\d{4}-[a-z0-9-]+\.sql$/;

/** The last migration of the previous release. A release sets it to the last one that its predecessor had. */
const previousRelease = baseline;
/** How a migration says that the previous release survives it; `needs` names the last one that this must have. */
const survival = /^-- The previous release survives this migration/m;

/** How long a migration waits for a lock, and how long it lets others go first. */
const lockMillis = 2000;
const pauseMillis = 1000;
/** A lock that was not obtained, and a deadlock. */
const passing = new Set(['55P03', '40P01']);

type Migration = { name: string; text: string; checksum: string };

/**
 * Brings the schema to this version and returns the names of the migrations that it applied. Each new file of
 * migrations/ runs in a transaction of its own, in the order of the names. One lock makes sure that only one process
 * migrates, however many start. Throws `database_unusable` when the database is none that svcctl can work with, when a
 * newer version made it in a way that this one does not survive, or when an applied file has changed; and
 * `database_older` when it was made before the baseline, by another build than the last one. Then nothing was changed.
 * When the signal aborts, waiting ends, the migration under way is undone, and the reason of the signal is thrown.
 */
export async function migrate(
  database: Database,
  signal: AbortSignal = new AbortController().signal,
  options: MigrateOptions = {},
): Promise<string[]> {
  const migrations = await readMigrations();
  await refuseUnfit(database);
  return database.withConnection((connection) =>
    cancelling(connection, signal, () =>
      migrateAlone(connection, migrations, { ...options, signal }),
    ),
  );
}

type MigrateOptions = {
  /** The migrations to apply; by default all that are missing. */
  readonly only?: ReadonlySet<string>;
  /** Whether this is part of a restore. Nobody else migrates a database that is half restored. */
  readonly isRestoring?: boolean;
};

type Migrating = MigrateOptions & { readonly signal: AbortSignal };

async function migrateAlone(
  connection: Connection,
  migrations: Migration[],
  options: Migrating,
): Promise<string[]> {
  // Waiting for another process and changing a large table may both take long.
  await connection.client.query('set statement_timeout = 0; set lock_timeout = 0');
  await runPatiently(connection, `select pg_advisory_lock(${advisoryLocks.migrations})`);
  const applied = await applyMissing(connection, migrations, options);
  // If this fails, the connection is destroyed and the lock goes with it.
  await connection.query(sql`select pg_advisory_unlock(${advisoryLocks.migrations})`);
  await connection.query(usualLimits);
  return applied;
}

async function applyMissing(
  connection: Connection,
  migrations: Migration[],
  { only, isRestoring = false, signal }: Migrating,
): Promise<string[]> {
  const rows = await readJournal(connection);
  refuseJournal(rows, migrations);
  if (!isRestoring) await refuseHalfRestored(connection);
  const missing = missingOf(rows, migrations).filter(({ name }) => only?.has(name) ?? true);
  if (!isRestoring) await requireSurvivors(connection, missing);
  await prepareJournal(connection);
  await noteBaseline(connection, rows, migrations);
  for (const migration of missing) await apply(connection, migration, signal);
  return missing.map((migration) => migration.name);
}

/** A row of the table of what was applied. Early builds kept no `needs`. */
type JournalRow = Applied & { readonly needs: string | null };

/** Returns what was applied, by name; nothing where there is no table of it yet. */
export async function readJournal(db: Queryable): Promise<JournalRow[]> {
  if (!(await hasTable(db, 'schema_migrations'))) return [];
  return db.query(sql`
    select name, checksum, to_jsonb(row) ->> 'needs' as needs from schema_migrations row order by name`);
}

/** The migrations that were not applied, neither as they are nor by what the baseline replaced. */
export function missingOf<Named extends Pick<Migration, 'name'>>(
  rows: readonly Applied[],
  migrations: readonly Named[],
): Named[] {
  const applied = new Set(withBaseline(rows.map(({ name }) => name)));
  return migrations.filter(({ name }) => !applied.has(name));
}

/** Notes the baseline where the migrations it replaced have run. Older builds read their rows and survive its own. */
async function noteBaseline(
  connection: Connection,
  rows: readonly Applied[],
  migrations: readonly Migration[],
): Promise<void> {
  const isNoted = rows.some(({ name }) => name === baseline);
  if (isNoted || !rows.some(({ name }) => replaced.has(name))) return;
  const checksum = migrations.find(({ name }) => name === baseline)?.checksum;
  await connection.query(sql`
    insert into schema_migrations (name, checksum, needs) values (${baseline}, ${checksum}, ${lastReplaced})`);
}

async function hasTable(db: Queryable, name: string): Promise<boolean> {
  return (await db.query(sql`select where to_regclass(${name}) is not null`)).length > 0;
}

/** A restore into this database that has not ended; undefined when there is none, or not even its table. */
export async function findOpenRestore(
  db: Queryable,
): Promise<{ backup_id: string; place: string } | undefined> {
  if (!(await hasTable(db, 'restores'))) return undefined;
  const [open] = await db.query<{ backup_id: string; place: string }>(
    sql`select backup_id, place from restores where finished_at is null`,
  );
  return open;
}

/** Throws `database_unusable` while a restore into this database has not ended. */
async function refuseHalfRestored(db: Queryable): Promise<void> {
  const open = await findOpenRestore(db);
  if (open === undefined) return;
  throw new AppError('database_unusable', {
    detail: `The database is half restored: the restore of ${open.backup_id} out of ${open.place} has not ended. Run the same svcctl restore again, which goes on; or use an empty database.`,
  });
}

/** Makes the table of what was applied. */
async function prepareJournal(connection: Connection): Promise<void> {
  await connection.client.query(`create table if not exists schema_migrations (
    name text collate "C" not null,
    checksum text not null,
    applied_at timestamptz not null default now(),
    needs text collate "C",
    constraint schema_migrations_pkey primary key (name)
  )`);
}

/** The last migration that a release must know to go on beside this one; null when none can. */
function needsOf({ name, text }: Pick<Migration, 'name' | 'text'>): string | null {
  return name > previousRelease && survival.test(text) ? previousRelease : null;
}

/** Three beats of a process: one that has missed them is busy or gone. */
const silentSeconds = 30;

/** Throws `database_unusable`, with names, when a live process might not go on beside one of these migrations. */
export async function requireSurvivors(
  db: Queryable,
  missing: readonly Migration[],
): Promise<void> {
  if (missing.length === 0 || !(await hasTable(db, 'processes'))) return;
  const seen = await db.query<{ host: string; pid: number; version: string; known: string | null }>(
    sql`
    select host, pid, version, migration as known
    from processes where seen_at > now() - make_interval(secs => ${silentSeconds}) order by since, id`,
  );
  // A process of this machine that was killed is still in the table for a while.
  const live = seen.filter((one) => one.host !== hostname() || isRunning(one.pid));
  for (const migration of missing) {
    const needs = needsOf(migration);
    const ended = live.filter(({ known }) => needs === null || (known ?? '') < needs);
    if (ended.length === 0) continue;
    const names = ended.map(({ host, pid, version }) => `${host}:${pid} (${version})`).join(', ');
    throw new AppError('database_unusable', {
      detail: `This release brings the migration ${migration.name}, beside which processes that run now cannot work: ${names}. Stop them first, then start this release.`,
    });
  }
}

/**
 * Changes the schema, and what the journal says of it, in one transaction. Processes of the previous release may be at
 * work meanwhile: whoever wants a table that the change waits for waits behind it, so it gives up soon and tries again.
 */
async function apply(
  connection: Connection,
  { name, text, checksum }: Migration,
  signal: AbortSignal,
): Promise<void> {
  const needs = needsOf({ name, text });
  for (;;) {
    signal.throwIfAborted();
    try {
      await connection.client.query(`begin; set local lock_timeout = ${lockMillis}`);
      for (const statement of statementsOf(text)) await runPatiently(connection, statement);
      await connection.query(sql`
        insert into schema_migrations (name, checksum, needs) values (${name}, ${checksum}, ${needs})`);
      await commit(connection.client);
      return;
    } catch (error) {
      if (!passing.has(sqlState(error) ?? '')) throw error;
      await connection.client.query('rollback');
      await setTimeout(pauseMillis);
    }
  }
}

/**
 * Cuts a migration into its statements, at each semicolon outside of comments, texts and function bodies. Citus hands some
 * statements on to its workers as the whole text that came with them, which must be one statement then.
 */
function statementsOf(text: string): string[] {
  const tokens =
    text.match(/--[^\n]*|'[^']*'|\$\$[\s\S]*?\$\$|\$(\w+)\$[\s\S]*?\$\1\$|;|[^;'$-]+|[\s\S]/g) ??
    [];
  const statements = [''];
  for (const token of tokens) {
    if (token === ';') statements.push('');
    else if (!token.startsWith('--')) statements.push(`${statements.pop() ?? ''}${token}`);
  }
  return statements.filter((statement) => statement.trim() !== '');
}

/** A migration of a newer release, and whether this one can work on a database that has it. */
type NewerMigration = { readonly name: string; readonly isSurvived: boolean };

/** Returns the applied migrations that this release does not know. Throws when there is no table of what was applied. */
export async function listNewerMigrations(db: Queryable): Promise<NewerMigration[]> {
  const own = await listMigrations();
  const rows = await db.query<{ name: string; needs: string | null }>(sql`
    select name, needs from schema_migrations where name <> all(${own}) order by name`);
  return newerOf(
    rows,
    own.map((name) => ({ name })),
  );
}

/** Returns those of the applied migrations that this release does not know. */
export function newerOf(
  rows: readonly Pick<JournalRow, 'name' | 'needs'>[],
  migrations: readonly Pick<Migration, 'name'>[],
): NewerMigration[] {
  const known = new Set(migrations.map(({ name }) => name));
  const newest = migrations.at(-1)?.name ?? '';
  return rows
    .filter(({ name }) => !known.has(name) && !replaced.has(name))
    .map(({ name, needs }) => ({ name, isSurvived: needs !== null && needs <= newest }));
}

/** Throws what a start refuses a database for by what was applied: see `migrate`. */
function refuseJournal(rows: readonly JournalRow[], migrations: readonly Migration[]): void {
  refuseOlder(rows);
  const known = new Map(migrations.map((migration) => [migration.name, migration]));
  for (const row of rows) refuseChanged(row, known.get(row.name));
  const fatal = newerOf(rows, migrations).find(({ isSurvived }) => !isSurvived);
  if (fatal === undefined) return;
  throw new AppError('database_unusable', {
    detail: `The database has the migration ${fatal.name}, which this version of svcctl does not know and cannot work beside. Start a newer version.`,
  });
}

/** Runs a statement without the client's usual time-out. */
function runPatiently({ client }: Connection, text: string) {
  return client.query({ text, query_timeout: longestTimerMillis } as pg.QueryConfig);
}

function refuseChanged(row: Applied, known: Migration | undefined): void {
  if (known === undefined || known.checksum === row.checksum) return;
  throw new AppError('database_unusable', {
    detail: `The migration ${row.name} was changed after it had been applied. Restore the file as released.`,
  });
}

/** The last migration applied: by time, because the names of the replaced migrations do not tell it. */
export const newestApplied = sql`
  select name from schema_migrations order by applied_at desc, name desc limit 1`;

/** The name of the last migration of this release. */
export async function newestMigration(): Promise<string> {
  return (await listMigrations()).at(-1) ?? '';
}

/** The names of the migrations of this release, in their order. */
export async function listMigrations(): Promise<string[]> {
  return (await readdir(migrationsDir)).filter((name) => fileName.test(name)).sort();
}

/** The tables that the migrations of this release make. A test compares schema.sql with what they make. */
export async function listTables(): Promise<string[]> {
  const text = await readFile(new URL('schema.sql', migrationsDir), 'utf8');
  return [...text.matchAll(/^create table (\w+) \(/gm)].map(([, name = '']) => name);
}

export async function readMigrations(): Promise<Migration[]> {
  return Promise.all(
    (await listMigrations()).map(async (name) => {
      const text = await readFile(new URL(name, migrationsDir), 'utf8');
      return { name, text, checksum: createHash('sha256').update(text).digest('hex') };
    }),
  );
}

/** How the schema of a database stands to this release. */
export type SchemaState = {
  /** The last migration that the database has; null when it has none. */
  readonly database: string | null;
  /** What a start would apply, in its order. */
  readonly missing: readonly string[];
  /** What newer releases have applied. */
  readonly newer: readonly string[];
  /** Why this release cannot start on it; null when it can. */
  readonly problem: string | null;
};

/** Compares the schema of a database with this release, and changes nothing. */
export async function checkSchema(db: Database): Promise<SchemaState> {
  const migrations = await readMigrations();
  const rows = await readJournal(db);
  const names = rows.map(({ name }) => name);
  const applied = findGap(rows) === undefined ? withBaseline(names) : names;
  const missing = missingOf(rows, migrations);
  return {
    database: applied.at(-1) ?? null,
    missing: missing.map(({ name }) => name),
    newer: newerOf(rows, migrations).map(({ name }) => name),
    problem: await findProblem(async () => {
      await refuseUnfit(db);
      refuseJournal(rows, migrations);
      await requireSurvivors(db, missing);
    }),
  };
}

/** Returns what a start would refuse the database for. */
async function findProblem(work: () => Promise<void>): Promise<string | null> {
  try {
    await work();
    return null;
  } catch (error) {
    const refusals: readonly string[] = ['database_unusable', 'database_older'];
    if (error instanceof AppError && refusals.includes(error.code)) return error.detail ?? '';
    throw error;
  }
}
