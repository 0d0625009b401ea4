import type { Settings } from '../config/settings.ts';
import type { Log } from '../platform/log.ts';
import { migrate } from '../platform/postgres/migrate.ts';
import { withClosers } from '../platform/work/stop.ts';
import { makeDataDir } from './data-dir.ts';
import { naming, openOwnDatabase } from './database.ts';
import { openOwnTraces, type State } from './host.ts';
import { createKeys } from './keys.ts';
import { createOwnPresence } from './presence.ts';
import { startDelivery } from './webhooks.ts';

/**
 * Runs a drainer, as `serve` would with the same settings, until only paused deliveries are due or the signal aborts.
 * Returns how many attempts succeeded and how many failed.
 */
export async function drainOnce(
  given: Settings,
  log: Log,
  signal: AbortSignal,
): Promise<{ delivered: number; failed: number }> {
  const settings: Settings = { ...given, roles: ['drainer'] };
  const sum = { delivered: 0, failed: 0 };
  await withClosers(log, async (closers) => {
    await makeDataDir(settings);
    const db = await openOwnDatabase(settings, log, closers, signal);
    await naming(settings, () => migrate(db, signal));
    const state: Pick<State, 'secretBox'> = { secretBox: null };
    const keys = createKeys({ settings, db, state });
    await keys.refresh();
    // It also keeps the keys as they are.
    const presence = createOwnPresence({ settings, log, db }, { command: 'drain', keys });
    closers.push(() => presence.stop());
    await presence.start(null);
    const metrics = {
      observeAttempt(result: string) {
        sum[result === 'delivered' ? 'delivered' : 'failed'] += 1;
      },
    };
    const traces = await openOwnTraces({ settings, log, closers });
    const drainer = startDelivery({ settings, log, db, state, metrics, traces });
    closers.push(() => drainer.stop());
    await drainer.untilIdle(signal);
  });
  return sum;
}
