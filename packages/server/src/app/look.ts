import { findLastBackup, isBackupOverdue } from '../backup/index.ts';
import { createLook, type Look } from '../checks/index.ts';
import type { Settings } from '../config/settings.ts';
import { listOpenExports } from '../exports/index.ts';
import type { StoreState } from '../kernel/values.ts';
import type { StoreWatch } from '../platform/objects/store-watch.ts';
import type { Queryable } from '../platform/postgres/database.ts';
import { listOverdueRemovals, readRetentionOverview } from '../retention/index.ts';
import { countTroubles } from '../webhooks/index.ts';

/** What a look needs of the process that looks. */
export type Looker = {
  readonly settings: Pick<Settings, 'notifyDiskPercent' | 'backupMaxAgeHours'>;
  readonly watch: Pick<StoreWatch, 'state'>;
};

/** Looks at what each feature knows of itself, as far as these tenants reach; null: at all of it. */
export function lookAround(
  db: Queryable,
  { settings, watch }: Looker,
  tenants: readonly string[] | null = null,
): Look {
  return createLook(db, settings, {
    retention: () => readRetentionOverview(db, tenants),
    exports: () => listOpenExports(db, tenants),
    overdueRemovals: () => countOverdue(db, watch, tenants),
    async storeProblems() {
      const isUnusable = unusable.includes(watch.state().state);
      return isUnusable ? ['the store of cold data cannot be used'] : [];
    },
    async webhooks() {
      const { abandoned, ...endpoints } = await countTroubles(db, tenants);
      return { abandoned, endpoints, named: [] };
    },
    overdueBackup: async () =>
      (await isBackupOverdue(db, settings.backupMaxAgeHours)) ? findLastBackup(db) : null,
  });
}

/** Whether the database of this process has the store, as far as it knows, so that it removes objects from it. */
export function removes(watch: Looker['watch']): boolean {
  return !['elsewhere', 'read_only', 'unclaimed'].includes(watch.state().state);
}

/** What an operator has to mend. A process that only reads because it was told to is none of these. */
const unusable: readonly StoreState[] = ['elsewhere', 'unclaimed', 'unavailable'];

/** So many overdue removals are counted. */
const mostOverdue = 10_000;

/** Counts the objects that should be gone. A database that does not have its store, or only reads it, removes nothing. */
async function countOverdue(
  db: Queryable,
  watch: Looker['watch'],
  tenants: readonly string[] | null,
): Promise<number> {
  if (!removes(watch)) return 0;
  return (await listOverdueRemovals(db, { tenants, limit: mostOverdue })).length;
}
