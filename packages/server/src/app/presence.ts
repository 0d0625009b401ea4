import { addStatusRoutes, createPresence, type Presence } from '../checks/index.ts';
import type { ProcessCommand } from '../checks/values.ts';
import { readRelease } from '../config/release.ts';
import type { Settings } from '../config/settings.ts';
import { sharedSettingsOf } from '../config/shared-settings.ts';
import { systemClock } from '../kernel/clock.ts';
import type { HttpServer } from '../platform/http/server.ts';
import type { Log } from '../platform/log.ts';
import type { StoreWatch } from '../platform/objects/store-watch.ts';
import type { Database } from '../platform/postgres/database.ts';
import type { ColdTier } from './cold-tier.ts';
import type { Keys } from './keys.ts';
import { lookClosely } from './look.ts';

/** Makes the presence of this process among those of its database. */
export function createOwnPresence(
  db: Database,
  {
    settings,
    log,
    command,
    watch,
    keys,
  }: {
    settings: Settings;
    log: Log;
    command: ProcessCommand;
    /** Without it the process does not use the store of cold data. */
    watch?: Pick<StoreWatch, 'state'>;
    keys: Keys;
  },
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
    storeState: () => watch?.state().state ?? null,
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
export function addStatus(
  http: HttpServer,
  db: Database,
  { settings, cold, presence }: { settings: Settings; cold: ColdTier; presence: Presence },
): void {
  const processId = presence.id;
  addStatusRoutes(http, db, {
    clock: systemClock,
    processId,
    version: readRelease(),
    store: () => ({ location: cold.store.location, state: cold.watch.state().state }),
    look: () => lookClosely(db, { settings, cold, processId }),
  });
}
