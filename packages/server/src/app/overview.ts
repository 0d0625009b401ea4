import { isBackupOverdue } from '../backup/index.ts';
import type { Settings } from '../config/settings.ts';
import { listOpenExports } from '../exports/index.ts';
import { listFullDisks } from '../health/index.ts';
import { type Actor, hasScope } from '../kernel/actor.ts';
import { systemClock } from '../kernel/clock.ts';
import type { StoreState } from '../kernel/values.ts';
import { listUnreached } from '../notices/index.ts';
import { type Overview, overviewContract, type Trouble } from '../overview/contract.ts';
import { findTroubles } from '../overview/find-troubles.ts';
import type { HttpServer } from '../platform/http/server.ts';
import type { StoreWatch } from '../platform/objects/store-watch.ts';
import type { Database, Queryable } from '../platform/postgres/database.ts';
import type { Repeated, Work } from '../platform/work/repeat.ts';
import { readStored, startSumming } from '../records/index.ts';
import { listOverdueRemovals, readRetentionOverview } from '../retention/index.ts';
import { readWebhooksOverview } from '../webhooks/index.ts';
import type { Host } from './host.ts';

/** Adds the route of the overview, which puts together what each feature knows of itself. */
export function addOverview(http: HttpServer, host: Host): void {
  http.route(overviewContract.getOverview, ({ actor }) => readOverview(host, actor));
}

async function readOverview(
  { settings, db, cold: { watch } }: Host,
  actor: Actor,
): Promise<Overview> {
  const { tenants } = actor;
  const at = new Date(systemClock()).toISOString();
  const isReader = hasScope(actor, 'enrichment:read');
  const isAdmin = hasScope(actor, 'admin');
  // One after the other, so that a page takes no more than one connection from the others.
  const records = isReader ? await readStored(db, tenants) : null;
  const { retention, work: moves } = isReader
    ? await readRetentionOverview(db, tenants)
    : { retention: null, work: [] };
  const { webhooks, work: retries } = isAdmin
    ? await readWebhooksOverview(db, actor)
    : { webhooks: null, work: [] };
  // What is of no tenant is known to those who reach all.
  const own = isAdmin && tenants === null ? await readOwnTroubles(db, settings) : { unreached: 0 };
  const exports = hasScope(actor, 'analytics:read') ? await listOpenExports(db, tenants) : [];
  return {
    at,
    troubles: findTroubles({
      retention,
      webhooks,
      ...own,
      isStoreUnusable: isStoreUnusable(watch),
      overdueRemovals: isReader ? await countOverdue(db, watch, tenants) : 0,
      work: [...moves, ...exports],
    }),
    records,
    retention,
    webhooks,
    work: [...moves, ...exports, ...retries],
  };
}

/** What is wrong by what the features know of themselves, over all tenants; nothing of the store. */
export async function readTroubles(
  db: Database,
  watch: Pick<StoreWatch, 'state'>,
): Promise<Trouble[]> {
  const { retention, work } = await readRetentionOverview(db, null);
  const exports = await listOpenExports(db, null);
  const { webhooks } = await readWebhooksOverview(db, { tenants: null });
  const unreached = (await listUnreached(db)).length;
  const overdueRemovals = await countOverdue(db, watch, null);
  const all = { retention, webhooks, unreached, overdueRemovals, work: [...work, ...exports] };
  return findTroubles({ ...all, isStoreUnusable: false });
}

/** Whether the database of this process has the store, as far as it knows, so that it removes objects from it. */
export function removes(watch: Pick<StoreWatch, 'state'>): boolean {
  return !['elsewhere', 'read_only', 'unclaimed'].includes(watch.state().state);
}

/** What an operator has to mend. A process that only reads because it was told to is none of these. */
const unusable: readonly StoreState[] = ['elsewhere', 'unclaimed', 'unavailable'];

/** Whether cold data can neither be written nor perhaps be read by this process. */
export function isStoreUnusable(watch: Pick<StoreWatch, 'state'>): boolean {
  return unusable.includes(watch.state().state);
}

/** So many overdue removals are counted. */
const mostOverdue = 10_000;

/** Counts the objects that should be gone. A database that does not have its store, or only reads it, removes nothing. */
export async function countOverdue(
  db: Queryable,
  watch: Pick<StoreWatch, 'state'>,
  tenants: readonly string[] | null,
): Promise<number> {
  if (!removes(watch)) return 0;
  return (await listOverdueRemovals(db, { tenants, limit: mostOverdue })).length;
}

/** What is wrong with the installation itself. */
async function readOwnTroubles(db: Queryable, settings: Settings) {
  return {
    unreached: (await listUnreached(db)).length,
    fullDisks: (await listFullDisks(db, settings.notifyDiskPercent)).length,
    isBackupOverdue: await isBackupOverdue(db, settings.backupMaxAgeHours),
  };
}

/** Sums up what was stored, in every process with the role `api`: those that are asked for it. */
export function createSumming({ settings, log, db }: Host): Work {
  let summing: Repeated | undefined;
  return {
    start() {
      if (!settings.roles.includes('api')) return;
      summing = startSumming(db, { log });
      summing.poke();
    },
    poke: () => summing?.poke(),
    stop: async () => summing?.stop(),
  };
}
