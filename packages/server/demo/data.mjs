import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

// A package has a part of the data; the repository has all of it, in packages of npm.
const shipped = fileURLToPath(new URL('data', import.meta.url));
const isPackage = existsSync(shipped);
const whole = fileURLToPath(new URL('../../../node_modules/vega-datasets/data', import.meta.url));

/** The departures, and the airports that they name. */
export const flights = isPackage
  ? {
      parquet: join(shipped, 'flights.parquet'),
      airports: join(shipped, 'airports.csv'),
      count: 150_000,
    }
  : {
      parquet: join(whole, 'flights-3m.parquet'),
      airports: join(whole, 'airports.csv'),
      count: 3_000_000,
    };

/** Payloads of webhooks that GitHub sends, by kind. */
export function readIncidents() {
  if (!isPackage) return createRequire(import.meta.url)('@octokit/webhooks-examples');
  return JSON.parse(readFileSync(join(shipped, 'incidents.json'), 'utf8'));
}
