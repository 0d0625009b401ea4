import { addStatusRoutes, createPresence, type Presence } from '../checks/index.ts';
import type { ProcessCommand } from '../checks/values.ts';
import { readRelease } from '../config/release.ts';
import { sharedSettingsOf } from '../config/settings.ts';
import { systemClock } from '../kernel/clock.ts';
import type { HttpServer } from '../platform/http/server.ts';
import type { Host } from './host.ts';
import type { Keys } from './keys.ts';
import { lookClosely } from './look.ts';

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
export function addStatus(http: HttpServer, host: Host, presence: Presence): void {
  const { db, cold } = host;
  const processId = presence.id;
  addStatusRoutes(http, db, {
    clock: systemClock,
    processId,
    version: readRelease(),
    store: () => ({ location: cold.store.location, state: cold.watch.state().state }),
    look: () => lookClosely(host, processId),
  });
}
