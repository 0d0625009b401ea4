import sql from 'sql-template-tag';
import { AppError } from '../../kernel/errors.ts';
import type { Database } from './database.ts';
import { findRevision, readMigrations, requireSurvival, requireSurvivors } from './migrate.ts';
import { refuseUnfit } from './probe.ts';

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
  const known = new Map(migrations.map((migration) => [migration.name, migration]));
  const applied = new Set(rows.map((row) => row.name));
  const newer = rows.filter((row) => !known.has(row.name));
  const newest = migrations.at(-1)?.name ?? '';
  return {
    database: rows.at(-1)?.name ?? null,
    missing: [...known.keys()].filter((name) => !applied.has(name)),
    newer: newer.map((row) => row.name),
    problem: await findProblem(async () => {
      await refuseUnfit(db);
      for (const row of rows) findRevision(row, known.get(row.name));
      requireSurvival(
        newer.map(({ name, needs }) => ({ name, isSurvived: needs !== null && needs <= newest })),
      );
      await requireSurvivors(
        db,
        migrations.filter(({ name }) => !applied.has(name)),
      );
    }),
  };
}

/** Returns what was applied, by name. Early releases kept no `needs`. */
async function readJournal(
  db: Database,
): Promise<{ name: string; checksum: string; needs: string | null }[]> {
  const [journal] = await db.query<{ is_there: boolean }>(
    sql`select to_regclass('schema_migrations') is not null as is_there`,
  );
  if (journal?.is_there !== true) return [];
  return db.query(sql`
    select name, checksum, to_jsonb(row) ->> 'needs' as needs from schema_migrations row order by name`);
}

/** Returns what a start would refuse the database for. */
async function findProblem(work: () => Promise<void>): Promise<string | null> {
  try {
    await work();
    return null;
  } catch (error) {
    if (error instanceof AppError && error.code === 'database_unusable') return error.detail ?? '';
    throw error;
  }
}
