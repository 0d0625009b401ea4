import { join } from 'node:path';
import { createClient, ingestFile } from '../lib/client.mjs';
import { writeFlights } from '../lib/flights-file.mjs';
import { withClient } from '../lib/postgres.mjs';
import { withScope } from '../lib/scope.mjs';
import { startService } from '../lib/service.mjs';
import { formatCount } from '../lib/table.mjs';

/** A database with the flights, all hot, on which no service runs: pg_dump knows nothing of cold data. */
export async function startWorld({ scope, dir, postgres, sizes, say }) {
  const url = await postgres.createDatabase(scope, 'bench_backup');
  say(`storing ${formatCount(sizes.flights)} flights`);
  const linesPath = join(dir, 'flights.ndjson');
  const flights = await writeFlights(linesPath, sizes.flights);
  await withScope(scope, async (own) => {
    const settings = { SVC_RETENTION_SCHEDULE: 'off' };
    const service = await startService(own, { dir, name: 'backup', databaseUrl: url, settings });
    await ingestFile(createClient(own, service), linesPath);
  });
  await withClient(url, (client) => client.query('vacuum (analyze) enrichment_records'));
  return { url, flights };
}
