import { readRelease } from '../config/release.ts';
import type { Settings } from '../config/settings.ts';
import { sharedSettingsOf } from '../config/shared-settings.ts';
import { addHealthRoutes, createPresence, type Presence } from '../health/index.ts';
import { systemClock } from '../kernel/clock.ts';
import type { HttpServer } from '../platform/http/server.ts';
import type { Log } from '../platform/log.ts';
import type { StoreWatch } from '../platform/objects/store-watch.ts';
import type { Database } from '../platform/postgres/database.ts';
import type { ColdTier } from './cold-tier.ts';

/** Makes the presence of this process among those of its database. */
export function createOwnPresence(
  db: Database,
  { settings, log, watch }: { settings: Settings; log: Log; watch: Pick<StoreWatch, 'state'> },
): Presence {
  return createPresence(db, {
    about: {
      version: readRelease(),
      roles: settings.roles,
      settings: sharedSettingsOf(settings),
      dataDir: settings.dataDir,
    },
    storeState: () => watch.state().state,
    clock: systemClock,
    log,
  });
}

/** Adds the routes that tell how the service itself is. */
export function addHealth(
  http: HttpServer,
  db: Database,
  { cold, presence }: { cold: Pick<ColdTier, 'store' | 'watch'>; presence: Presence },
): void {
  addHealthRoutes(http, db, {
    clock: systemClock,
    processId: presence.id,
    version: readRelease(),
    store: () => ({ location: cold.store.location, state: cold.watch.state().state }),
  });
}
