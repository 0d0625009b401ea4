import { AppError } from '../../kernel/errors.ts';
import { findGap, withBaseline } from './baseline.ts';
import type { Database } from './database.ts';
import {
  missingOf,
  newerOf,
  readJournal,
  readMigrations,
  refuseJournal,
  requireSurvivors,
} from './migrate.ts';
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
