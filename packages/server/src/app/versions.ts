import { systemClock } from '../kernel/clock.ts';
import type { HttpServer } from '../platform/http/server.ts';
import { startLater, type Work } from '../platform/work/repeat.ts';
import { addVersionRoutes, startCounting } from '../records/index.ts';
import { type Host, routeTools } from './host.ts';

/** The background counting of dataset versions. It runs only in a process that has the role `exports`. */
export function createCounting({ settings, log, db, cold, paceOf }: Host): Work {
  return startLater(settings.roles.includes('exports'), () =>
    startCounting({
      db,
      cold: { duckdb: cold.moverDuckdb, objects: cold.objects },
      clock: systemClock,
      log,
      pace: paceOf('versions'),
    }),
  );
}

/** Adds the routes of dataset versions. A new version pokes `counting`, so that it is counted without delay. */
export function addVersions(http: HttpServer, host: Host, counting: Work): void {
  addVersionRoutes(http, host.db, {
    ...routeTools(host),
    cold: host.cold,
    pokeCounting: () => counting.poke(),
  });
}
