import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { setTimeout } from 'node:timers/promises';
import type pg from 'pg';
import sql, { type Sql } from 'sql-template-tag';
import { AppError } from '../../kernel/errors.ts';
import { longestTimerMillis, usualLimits } from './client.ts';
import type { Connection, Database, Queryable } from './database.ts';
import { sqlState } from './errors.ts';
import { advisoryLocks } from './locks.ts';
import { refuseUnfit } from './probe.ts';
import { type Revision, revisions } from './revisions.ts';

const migrationsDir = new URL('../../../migrations/', import.meta.url);
const fileName = /^\d{4}-[a-z0-9-]+\.sql$/;

/** The last migration of the previous release. A release sets it to the last one that its predecessor had. */
const previousRelease = '0016-tenant-months.sql';
/**
 * How a newer migration says that the previous release can go on while it is there. Then `needs` of its row names the
 * last migration that a release must have to do so.
 */
const survival = /^-- The previous release survives this migration/m;

/** How long a migration waits for a lock, and how long it lets others go first. */
const lockMillis = 2000;
const pauseMillis = 1000;
const lockNotAvailable = '55P03';

type Migration = { name: string; text: string; checksum: string };

/**
 * Brings the schema to this version and returns the names of the migrations that it applied. Each new file of
 * migrations/ runs in a transaction of its own, in the order of the names. One lock makes sure that only one process
 * migrates, however many start. Throws `database_unusable` when a newer version made the database in a way that this
 * one does not survive, or when an applied file has changed, and before anything else when the database is none that
 * svcctl can work with. When the signal aborts, waiting ends, the migration under way is undone, and the reason of the
 * signal is thrown.
 */
export async function migrate(
  database: Database,
  signal: AbortSignal = new AbortController().signal,
  options: MigrateOptions = {},
): Promise<string[]> {
  const migrations = await readMigrations();
  await refuseUnfit(database);
  return database.withConnection(async (connection) => {
    const cancel = () => void connection.cancel().catch(() => {});
    signal.addEventListener('abort', cancel, { once: true });
    try {
      return await migrateAlone(connection, migrations, { ...options, signal });
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    } finally {
      signal.removeEventListener('abort', cancel);
    }
  });
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
  await prepareJournal(connection);
  if (!isRestoring) await refuseHalfRestored(connection);
  const rows = await connection.query<{ name: string; checksum: string }>(
    sql`select name, checksum from schema_migrations`,
  );
  const known = new Map(migrations.map((migration) => [migration.name, migration]));
  const revised = rows.flatMap((row) => findRevision(row, known.get(row.name)) ?? []);
  const isNewer = rows.some((row) => !known.has(row.name));
  if (isNewer) requireSurvival(await listNewerMigrations(connection));
  const applied = new Set(rows.map((row) => row.name));
  const missing = migrations.filter(
    ({ name }) => !applied.has(name) && (only === undefined || only.has(name)),
  );
  if (!isRestoring) await requireSurvivors(connection, missing);
  for (const revision of revised) await revise(connection, revision, known, signal);
  for (const migration of missing) await apply(connection, migration, signal);
  return missing.map((migration) => migration.name);
}

/** Throws `database_unusable` while a restore into this database has not ended. */
async function refuseHalfRestored(db: Queryable): Promise<void> {
  const [table] = await db.query(sql`select where to_regclass('restores') is not null`);
  if (table === undefined) return;
  const [open] = await db.query<{ backup_id: string; place: string }>(
    sql`select backup_id, place from restores where finished_at is null`,
  );
  if (open === undefined) return;
  throw new AppError('database_unusable', {
    detail: `The database is half restored: the restore of ${open.backup_id} out of ${open.place} has not ended. Run the same svcctl restore again, which goes on; or use an empty database.`,
  });
}

/** Makes the table of what was applied. Early releases made it without `needs`. */
async function prepareJournal(connection: Connection): Promise<void> {
  await connection.client.query(`create table if not exists schema_migrations (
    name text collate "C" not null,
    checksum text not null,
    applied_at timestamptz not null default now(),
    needs text collate "C",
    constraint schema_migrations_pkey primary key (name)
  )`);
  const columns = await connection.query(sql`
    select from pg_attribute where attrelid = 'schema_migrations'::regclass and attname = 'needs'`);
  if (columns.length > 0) return;
  await connection.client.query('alter table schema_migrations add column needs text collate "C"');
}

/** The last migration that a release must know to go on beside this one; null when none can. */
function needsOf({ name, text }: Pick<Migration, 'name' | 'text'>): string | null {
  return name > previousRelease && survival.test(text) ? previousRelease : null;
}

/** Three beats of a process: one that has missed them is busy or gone. */
const silentSeconds = 30;

/**
 * Throws `database_unusable` when a process that lives could not go on beside one of these migrations, and names those
 * that could not. What a process of an earlier build knows is not more than the database had when it started.
 */
export async function requireSurvivors(
  db: Queryable,
  missing: readonly Migration[],
): Promise<void> {
  const [table] = await db.query(sql`select where to_regclass('processes') is not null`);
  if (missing.length === 0 || table === undefined) return;
  const seen = await db.query<{ host: string; pid: number; version: string; known: string | null }>(
    sql`
    select host, pid, version, coalesce(to_jsonb(p) ->> 'migration', (
        select max(name) from schema_migrations where applied_at <= p.since
      )) as known
    from processes p where seen_at > now() - make_interval(secs => ${silentSeconds}) order by since, id`,
  );
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

/** A process of this machine that was killed is still in the table for a while. */
function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

async function apply(
  connection: Connection,
  { name, text, checksum }: Migration,
  signal: AbortSignal,
): Promise<void> {
  const needs = needsOf({ name, text });
  const note = sql`
    insert into schema_migrations (name, checksum, needs) values (${name}, ${checksum}, ${needs})`;
  await change(connection, text, note, signal);
}

/** Brings what an earlier text of a migration has made to what its text of today makes. */
async function revise(
  connection: Connection,
  revision: Revision,
  migrations: ReadonlyMap<string, Migration>,
  signal: AbortSignal,
): Promise<void> {
  const { text = '', checksum = '' } = migrations.get(revision.name) ?? {};
  const whole = revision.isRepeated ? `${revision.change};\n${text}` : revision.change;
  const note = sql`update schema_migrations set checksum = ${checksum} where name = ${revision.name}`;
  await change(connection, whole, note, signal);
}

/**
 * Changes the schema, and what the journal says of it, in one transaction. Processes of the previous release may be at
 * work meanwhile: whoever wants a table that the change waits for waits behind it, so it gives up soon and tries again.
 */
async function change(
  connection: Connection,
  text: string,
  note: Sql,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    try {
      await connection.client.query(`begin; set local lock_timeout = ${lockMillis}`);
      for (const statement of statementsOf(text)) await runPatiently(connection, statement);
      await connection.query(note);
      await connection.client.query('commit');
      return;
    } catch (error) {
      if (sqlState(error) !== lockNotAvailable) throw error;
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
export type NewerMigration = { readonly name: string; readonly isSurvived: boolean };

/** Returns the applied migrations that this release does not know. */
export async function listNewerMigrations(db: Queryable): Promise<NewerMigration[]> {
  const own = await listMigrations();
  const newest = own.at(-1) ?? '';
  const rows = await db.query<{ name: string; needs: string | null }>(sql`
    select name, needs from schema_migrations where name <> all(${own}) order by name`);
  return rows.map(({ name, needs }) => ({ name, isSurvived: needs !== null && needs <= newest }));
}

/** Throws `database_unusable` unless this release survives all of these migrations. */
export function requireSurvival(newer: readonly NewerMigration[]): void {
  const fatal = newer.find(({ isSurvived }) => !isSurvived);
  if (fatal === undefined) return;
  throw new AppError('database_unusable', {
    detail: `The database has the migration ${fatal.name}, which this version of svcctl does not know and cannot work beside. Start a newer version.`,
  });
}

/** Runs a statement without the client's usual time-out. */
function runPatiently({ client }: Connection, text: string) {
  return client.query({ text, query_timeout: longestTimerMillis } as pg.QueryConfig);
}

/**
 * Returns how to revise an applied migration, and undefined if it is as its file says. Throws `database_unusable` when
 * it is neither.
 */
export function findRevision(
  row: { name: string; checksum: string },
  known: Migration | undefined,
): Revision | undefined {
  if (known === undefined || known.checksum === row.checksum) return undefined;
  const revision = revisions.find(
    ({ name, checksum }) => name === row.name && checksum === row.checksum,
  );
  if (revision !== undefined) return revision;
  throw new AppError('database_unusable', {
    detail: `The migration ${row.name} was changed after it had been applied. Restore the file as released.`,
  });
}

/** The name of the last migration of this release. */
export async function newestMigration(): Promise<string> {
  return (await listMigrations()).at(-1) ?? '';
}

/** The migrations of this release, in their order, each with the checksums of its texts of today and before. */
export async function listReleaseMigrations(): Promise<{ name: string; checksums: string[] }[]> {
  return (await readMigrations()).map(({ name, checksum }) => {
    const earlier = revisions.filter((revision) => revision.name === name);
    return { name, checksums: [checksum, ...earlier.map((revision) => revision.checksum)] };
  });
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
