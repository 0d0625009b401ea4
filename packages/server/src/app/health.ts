import { findLastBackup, isBackupOverdue } from '../backup/index.ts';
import { readRelease } from '../config/release.ts';
import { sharedSettingsOf } from '../config/shared-settings.ts';
import {
  addHealthRoutes,
  createPresence,
  type Presence,
  type Surroundings,
} from '../health/index.ts';
import type { ProcessCommand } from '../health/values.ts';
import { systemClock } from '../kernel/clock.ts';
import { AppError, isDatabaseAway } from '../kernel/errors.ts';
import type { HttpServer } from '../platform/http/server.ts';
import { describeFenced } from '../platform/objects/fence.ts';
import { findSampledDifferences, parseSchedule } from '../retention/index.ts';
import type { ColdTier } from './cold-tier.ts';
import type { Host } from './host.ts';
import type { Keys } from './keys.ts';
import { readTroubles } from './overview.ts';

/** Makes the presence of this process among those of its database. Without `cold` it does not use the store of cold data. */
export function createOwnPresence(
  { settings, log, db, cold }: Pick<Host, 'settings' | 'log' | 'db'> & Partial<Pick<Host, 'cold'>>,
  { command, keys }: { command: ProcessCommand; keys: Keys },
): Presence {
  let known: readonly string[] = [];
  return createPresence(db, {
    about: {
      version: readRelease(),
      command,
      roles: settings.roles,
      settings: sharedSettingsOf(settings),
      dataDir: settings.dataDir,
    },
    storeState: () => cold?.watch.state().state ?? null,
    async secretKeys() {
      try {
        known = await keys.refresh();
      } catch (error) {
        // It goes on with the keys that it knows.
        log.warn({ err: error }, 'the keys of webhook secrets could not be looked at');
      }
      return known;
    },
    clock: systemClock,
    log,
    beatMillis: settings.waits.beatMillis,
  });
}

/** Adds the routes that tell how the service itself is. */
export function addHealth(http: HttpServer, host: Host, presence: Presence): void {
  const { db, cold } = host;
  addHealthRoutes(http, db, {
    clock: systemClock,
    processId: presence.id,
    version: readRelease(),
    store: () => ({ location: cold.store.location, state: cold.watch.state().state }),
    around: surroundingsOf(host),
  });
}

/** What the checks look at beside the processes and the database. It changes nothing, also not in a store without a marker. */
export function surroundingsOf({
  settings,
  db,
  cold,
}: Pick<Host, 'settings' | 'db' | 'cold'>): Surroundings {
  const schedule = parseSchedule(settings.retentionSchedule);
  return {
    listSlow: () => db.listSlow(),
    storeClockAheadMillis: () => cold.store.clockAheadMillis?.() ?? null,
    findStoreProblem: () => findStoreProblem(cold),
    findTroubles: () => readTroubles(db, cold.watch),
    sampleCounters: () => findSampledDifferences(db),
    nextRun: (after) => schedule?.next(after) ?? null,
    verifyDays: settings.verifyDays,
    diskPercent: settings.notifyDiskPercent,
    findOverdueBackup: async () =>
      (await isBackupOverdue(db, settings.backupMaxAgeHours)) ? findLastBackup(db) : null,
  };
}

const listMillis = 10_000;

async function findStoreProblem({
  store,
  fence,
  watch,
}: Pick<ColdTier, 'store' | 'fence' | 'watch'>): Promise<string | null> {
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
