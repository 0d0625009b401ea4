import { createAudit } from '../access/index.ts';
import type { Settings } from '../config/settings.ts';
import { systemClock } from '../kernel/clock.ts';
import type { HttpServer } from '../platform/http/server.ts';
import type { Log } from '../platform/log.ts';
import type { Database } from '../platform/postgres/database.ts';
import type { Pace } from '../platform/work/pace.ts';
import { startLater, type Work } from '../platform/work/repeat.ts';
import { addVersionRoutes, startCounting } from '../records/index.ts';
import type { ColdTier } from './cold-tier.ts';
import { cursorKey, type State } from './state.ts';

/** The background counting of dataset versions. It runs only in a process that has the role `exports`. */
export type Counting = Work;

export function createCounting(
  db: Database,
  { settings, log, cold, pace }: { settings: Settings; log: Log; cold: ColdTier; pace: Pace },
): Counting {
  return startLater(() =>
    settings.roles.includes('exports')
      ? startCounting({
          db,
          cold: { duckdb: cold.moverDuckdb, objects: cold.objects },
          clock: systemClock,
          log,
          pace,
        })
      : undefined,
  );
}

/** Adds the routes of dataset versions. A new version pokes `counting`, so that it is counted without delay. */
export function addVersions(
  http: HttpServer,
  db: Database,
  { state, counting }: { state: State; counting: Counting },
): void {
  addVersionRoutes(http, db, {
    cursorKey: () => cursorKey(state),
    audit: createAudit(),
    pokeCounting: () => counting.poke(),
  });
}
