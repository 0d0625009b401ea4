import { findCitus } from './citus/cluster.mjs';
import { benchDeliveries } from './citus/deliveries.mjs';
import { benchRecords } from './citus/records.mjs';
import { sizes } from './citus/sizes.mjs';
import { startWorld } from './citus/world.mjs';
import { startPostgres } from './lib/postgres.mjs';
import { runSections } from './lib/run-sections.mjs';

const sections = { records: benchRecords, deliveries: benchDeliveries };

/** The same service on one PostgreSQL, and on a Citus cluster of the same programs on the same machine. */
export async function runBench(options) {
  const found = await findCitus();
  if (typeof found === 'string') {
    process.stderr.write(`nothing to measure: ${found}\n`);
    return [];
  }
  const startServer = (scope, dir) => startPostgres(scope, dir, found);
  const start = (bench) => startWorld({ ...bench, ...found });
  return runSections({ name: 'citus', sections, sizes, start, startServer }, options);
}
