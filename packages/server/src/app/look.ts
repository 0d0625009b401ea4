import {
  findFailingCopy,
  listLargeExports,
  listUnusedTokens,
  listWaitingApprovals,
} from '../access/index.ts';
import { findLastBackup, isBackupOverdue } from '../backup/index.ts';
import {
  type Look,
  listFullDisks,
  listProcesses,
  listUnreached,
  nameOf,
  readOverdue,
  troublesOf,
} from '../checks/index.ts';
import type { Settings } from '../config/settings.ts';
import { listOpenExports, listTroubledSchedules } from '../exports/index.ts';
import { AppError, isDatabaseAway } from '../kernel/errors.ts';
import { once } from '../kernel/once.ts';
import type { StoreState } from '../kernel/values.ts';
import { describeFenced } from '../platform/objects/fence.ts';
import type { ObjectStore } from '../platform/objects/objects.ts';
import type { StoreWatch } from '../platform/objects/store-watch.ts';
import type { Database, Queryable } from '../platform/postgres/database.ts';
import { listOpenCounts } from '../records/index.ts';
import {
  findSampledDifferences,
  isOnHold,
  listOverdueRemovals,
  parseSchedule,
  readRetentionOverview,
} from '../retention/index.ts';
import {
  countPurgedSoon,
  countTroubles,
  findKeyFault,
  readWebhooksOverview,
} from '../webhooks/index.ts';
import type { ColdTier } from './cold-tier.ts';
import type { Host, State } from './host.ts';

/** What a look needs of the process that looks. */
export type Looker = Pick<Host, 'settings'> & {
  /** What the service itself finds while it works; a look from outside has none. */
  readonly state?: Pick<State, 'sealFault'>;
  readonly metrics?: Pick<Host['metrics'], 'isScraped'>;
  readonly db: Pick<Database, 'listSlow'>;
  readonly cold: {
    readonly watch: Pick<StoreWatch, 'state'>;
    readonly store: Pick<ObjectStore, 'clockAheadMillis'>;
  };
};

/** Looks at what features know, and once at what several checks need, within these tenants; null: all of it. */
export function lookAround(
  db: Queryable,
  { settings, db: own, cold, state, metrics }: Looker,
  tenants: readonly string[] | null = null,
): Look {
  const { watch, store } = cold;
  const processes = once(() => listProcesses(db));
  // Whichever process looks finds the same: what only some of them tell would be begun and forgotten in turns.
  const storeStates = async () => [
    watch.state().state,
    ...(await processes()).flatMap(({ state, store_state: seen }) =>
      state === 'live' && seen !== null ? [seen] : [],
    ),
  ];
  return {
    db,
    processes,
    overdue: once(() => readOverdue(db, settings.verifyDays)),
    unreached: () => listUnreached(db),
    fullDisks: () => listFullDisks(db, settings.notifyDiskPercent),
    slowStatements: () => own.listSlow(),
    storeClockAheadMillis: () => store.clockAheadMillis?.() ?? null,
    verifyDays: settings.verifyDays,
    nextRun: (after) => parseSchedule(settings.retentionSchedule)?.next(after) ?? null,
    // It takes snapshots of its own, which only a few looks have the time for.
    sampleCounters: async () => [],
    retention: once(() => readRetentionOverview(db, tenants)),
    exports: () => listOpenExports(db, tenants),
    counts: () => listOpenCounts(db, tenants),
    schedules: () => listTroubledSchedules(db, tenants),
    overdueRemovals: async () =>
      (await storeStates()).some(removes) ? countOverdue(db, tenants) : 0,
    async storeProblems() {
      const isUnusable = (await storeStates()).some((state) => unusable.includes(state));
      return isUnusable ? ['the store of cold data cannot be used'] : [];
    },
    webhooks: once(async () => {
      const { abandoned, ...endpoints } = await countTroubles(db, tenants);
      return { abandoned, endpoints, named: [] };
    }),
    purgedSoon: () => countPurgedSoon(db, tenants, purgingOf(settings)),
    keyFault: () => findKeyFault(db, settings),
    sealFault: () => state?.sealFault ?? null,
    isScraped: () => metrics?.isScraped() ?? false,
    failingCopy: () => findFailingCopy(db),
    waitingApprovals: () => listWaitingApprovals(db, tenants),
    largeExports: async () =>
      settings.exportTellRows === 0
        ? []
        : listLargeExports(db, { reach: tenants, rows: settings.exportTellRows }),
    unusedTokens: () => listUnusedTokens(db),
    overdueBackup: async () =>
      (await isBackupOverdue(db, settings.backupMaxAgeHours)) ? findLastBackup(db) : null,
  };
}

/** After how many days dead letters are purged by themselves, and what the jobs that do it heed. */
export function purgingOf({ abandonedDays: days, webhookMaxAttempts: maxAttempts }: Settings) {
  return { days, options: { maxAttempts, isOnHold } };
}

const listMillis = 10_000;

/** Looks closer at store, counters and endpoints, and changes nothing. `processId` is null outside of the service. */
export function lookClosely(closer: Closer, processId: string | null): Look {
  const { db, cold } = closer;
  const look = lookAround(db, closer);
  return {
    ...look,
    sampleCounters: () => findSampledDifferences(db),
    webhooks: once(async () => {
      const { webhooks } = await readWebhooksOverview(db, { tenants: null });
      return troublesOf(webhooks);
    }),
    async storeProblems() {
      const own = await findStoreProblem(cold);
      const others = (await look.processes()).filter(
        ({ id, state, store_state: seen }) =>
          id !== processId && state === 'live' && seen !== null && unusable.includes(seen),
      );
      return [
        ...(own === null ? [] : [own]),
        ...others.map((row) => `the store of cold data is ${row.store_state} for ${nameOf(row)}`),
      ];
    },
  };
}

type Closer = Pick<Host, 'settings' | 'db'> & {
  readonly state?: Pick<State, 'sealFault'>;
  readonly cold: Pick<ColdTier, 'store' | 'fence' | 'watch'>;
};

async function findStoreProblem({ store, fence, watch }: Closer['cold']): Promise<string | null> {
  try {
    for await (const _ of store.list('records/', AbortSignal.timeout(listMillis))) break;
    const { state, marked } = await fence.look();
    if (state !== 'own') return describeFenced(state, marked);
    // Whether it can be written is tried by the service itself every half a minute.
    const { state: seen, problem } = watch.state();
    return seen === 'unavailable' ? (problem?.detail ?? null) : null;
  } catch (error) {
    if (isDatabaseAway(error)) throw error;
    return `${store.location} cannot be used: ${error instanceof AppError ? error.detail : String(error)}`;
  }
}

/** Whether a process that sees the store so removes objects: its database has the store, as far as it knows. */
export function removes(state: StoreState): boolean {
  return !['elsewhere', 'read_only', 'unclaimed'].includes(state);
}

/** What an operator has to mend. A process that only reads because it was told to is none of these. */
const unusable: readonly StoreState[] = ['elsewhere', 'unclaimed', 'unavailable'];

/** So many overdue removals are counted. */
const mostOverdue = 10_000;

/** Counts the objects that should be gone. */
async function countOverdue(db: Queryable, tenants: readonly string[] | null): Promise<number> {
  return (await listOverdueRemovals(db, { tenants, limit: mostOverdue })).length;
}
