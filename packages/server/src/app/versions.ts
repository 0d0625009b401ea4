import { systemClock } from '../kernel/clock.ts';
import type { HttpServer } from '../platform/http/server.ts';
import { startLater, type Work } from '../platform/work/repeat.ts';
import { stopTogether } from '../platform/work/stop.ts';
import { addVersionRoutes, startCounting, startCounts } from '../records/index.ts';
import { type Host, routeTools } from './host.ts';

/** The background counting of dataset versions, and of records. It runs only in a process of the role `exports`. */
export function createCounting({ settings, log, db, cold, paceOf }: Host): Work {
  return startLater(settings.roles.includes('exports'), () => {
    const tools = { db, cold: { duckdb: cold.moverDuckdb, objects: cold.objects }, log };
    const versions = startCounting({ ...tools, clock: systemClock, pace: paceOf('versions') });
    const counts = startCounts(tools);
    return {
      poke() {
        versions.poke();
        counts.poke();
      },
      stop: () => stopTogether([versions, counts], log),
    };
  });
}

/** Adds the routes of dataset versions. A new version pokes `counting`, so that it is counted without delay. */
export function addVersions(http: HttpServer, host: Host, counting: Work): void {
  addVersionRoutes(http, host.db, {
    ...routeTools(host),
    cold: host.cold,
    pokeCounting: () => counting.poke(),
  });
}
