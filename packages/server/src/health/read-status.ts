import type { Actor } from '../kernel/actor.ts';
import { AppError } from '../kernel/errors.ts';
import type { StoreState } from '../kernel/values.ts';
import type { Queryable } from '../platform/postgres/database.ts';
import { listMigrations } from '../platform/postgres/migrate.ts';
import type { ProcessRow, Status } from './contract.ts';
import { listStoredProcesses, readDatabase } from './queries.ts';
import { processStateOf } from './values.ts';

/** The process that answers. */
export type Answering = {
  readonly processId: string;
  readonly version: string;
  readonly store: () => { location: string; state: StoreState };
};

/** Reads the processes and what they stand on. Throws 403 `scope_missing` for a token that is limited to tenants. */
export async function readStatus(
  db: Queryable,
  actor: Pick<Actor, 'tenants'>,
  { processId, version, store }: Answering,
): Promise<Omit<Status, 'at'>> {
  refuseLimited(actor);
  const { migration, ...database } = await readDatabase(db);
  const known = (await listMigrations()).at(-1) ?? '';
  return {
    process_id: processId,
    version,
    database: { ...database, migration, known_migration: known },
    store: store(),
    processes: await listProcesses(db),
  };
}

/** The processes on this database, with what their last beat means now. */
export async function listProcesses(db: Queryable): Promise<ProcessRow[]> {
  const rows = await listStoredProcesses(db);
  return rows.map(({ store_state, ...row }) => ({
    ...row,
    roles: [...row.roles],
    state: processStateOf(row.silent_seconds),
    store_state: store_state as StoreState | null,
  }));
}

function refuseLimited({ tenants }: Pick<Actor, 'tenants'>): void {
  if (tenants === null) return;
  throw new AppError('scope_missing', {
    detail: 'A token limited to tenants cannot ask how the service is, which is one for all.',
  });
}
