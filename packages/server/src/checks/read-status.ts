import type { Actor } from '../kernel/actor.ts';
import { AppError } from '../kernel/errors.ts';
import type { StoreState } from '../kernel/values.ts';
import type { Queryable } from '../platform/postgres/database.ts';
import { listMigrations } from '../platform/postgres/migrate.ts';
import type { Finding, ProcessRow, Status } from './contract.ts';
import { examine } from './examine.ts';
import { listStoredProcesses, readDatabase } from './queries.ts';
import type { Examined } from './row.ts';
import { processStateOf } from './values.ts';

/** The process that answers. */
export type Answering = {
  readonly processId: string;
  readonly version: string;
  readonly store: () => { location: string; state: StoreState };
  readonly around: Surroundings;
};

/** What the checks look at beside the processes and the database. */
export type Surroundings = Omit<Examined, 'db' | 'processes' | 'processId' | 'knownMigrations'>;

/** Reads the processes and what they stand on. Throws 403 `scope_missing` for a token that is limited to tenants. */
export async function readStatus(
  db: Queryable,
  actor: Pick<Actor, 'tenants'>,
  { processId, version, store, around }: Answering,
): Promise<Omit<Status, 'at'>> {
  refuseLimited(actor);
  const { migration, ...database } = await readDatabase(db);
  const examined = await look(db, { processId, around });
  const findings = await examine(examined, { isQuick: true });
  const known = examined.knownMigrations.at(-1) ?? '';
  return {
    process_id: processId,
    version,
    database: { ...database, migration, known_migration: known },
    store: store(),
    processes: [...examined.processes],
    slow_statements: around.listSlow().map(({ text, count, totalMillis, maxMillis }) => ({
      ...{ text, count, total_ms: Math.round(totalMillis), max_ms: Math.round(maxMillis) },
    })),
    findings: findings.filter(({ severity }) => severity !== 'ok'),
  };
}

/** Makes all checks. Throws 403 `scope_missing` for a token that is limited to tenants. */
export async function readExamination(
  db: Queryable,
  actor: Pick<Actor, 'tenants'>,
  { processId, around, signal }: Pick<Answering, 'processId' | 'around'> & { signal: AbortSignal },
): Promise<Finding[]> {
  refuseLimited(actor);
  return examine(await look(db, { processId, around }), { signal });
}

/** What the checks look at, as it is now. */
export async function look(
  db: Queryable,
  { processId, around }: { processId: string | null; around: Surroundings },
): Promise<Examined> {
  const processes = await listProcesses(db);
  return { ...around, db, processId, processes, knownMigrations: await listMigrations() };
}

/** The processes on this database, with what their last beat means now. */
export async function listProcesses(db: Queryable): Promise<ProcessRow[]> {
  const rows = await listStoredProcesses(db);
  return rows.map((row) => ({
    ...row,
    roles: [...row.roles],
    secret_keys: [...row.secret_keys],
    state: processStateOf(row.silent_seconds),
  }));
}

function refuseLimited({ tenants }: Pick<Actor, 'tenants'>): void {
  if (tenants === null) return;
  throw new AppError('scope_missing', {
    detail: 'A token limited to tenants cannot ask how the service is, which is one for all.',
  });
}
