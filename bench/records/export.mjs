import { join } from 'node:path';
import { createClient, ingestFile } from '../lib/client.mjs';
import { writeFlights } from '../lib/flights-file.mjs';
import { connect } from '../lib/postgres.mjs';
import { withScope } from '../lib/scope.mjs';
import { startService } from '../lib/service.mjs';
import { formatCount } from '../lib/table.mjs';
import { measureMemory } from './export-memory.mjs';
import { measureFirstByte, measureSpeed } from './export-speed.mjs';
import { measureStalledReader } from './export-stall.mjs';

/** A tenant's quarter: the flights from Texas. */
export const slice = { tenant: 'TX', from: '2001-01-01', to: '2001-03-31' };

/** CSV over HTTP against a bare COPY TO; how soon it begins; memory; and a reader that stalls. */
export async function benchExport({ scope, dir, postgres, sizes, say }) {
  const size = sizes.export;
  const url = await postgres.createDatabase(scope, 'bench_export');
  const db = await connect(scope, url);
  const service = await startService(scope, { dir, name: 'export', databaseUrl: url });
  const client = createClient(scope, service);

  say(`export: storing ${formatCount(size.flights)} flights`);
  const linesPath = join(dir, 'export.ndjson');
  const flights = await writeFlights(linesPath, size.flights);
  await ingestFile(client, linesPath);
  await db.query('vacuum (analyze) enrichment_records');

  const startAnother = (own) =>
    startService(own, { dir, name: 'export-memory', databaseUrl: url, token: service.token });
  const bench = { db, client, service, startAnother, size, say, flights };
  const parts = [];
  for (const measure of [measureSpeed, measureFirstByte, measureMemory, measureStalledReader]) {
    parts.push(await withScope(scope, (own) => measure({ ...bench, scope: own, slice })));
  }
  return [`### CSV export: ${formatCount(flights)} flights stored`, ...parts].join('\n\n');
}
