// The part of the demo's data that goes into the package: a twentieth of the departures, and the first payload of each
// kind. All of it would be 15 MB.
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { flights, readIncidents } from '../packages/server/demo/data.mjs';

const everyNth = 20;

/** Writes the files that `packages/server/demo/data.mjs` finds in a package. */
export async function writeDemoData(folder) {
  mkdirSync(folder, { recursive: true });
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' });
  const connection = await instance.connect();
  await connection.run(`
    copy (
      select date, delay, distance, origin, destination
      from read_parquet('${flights.parquet}', file_row_number = true)
      where file_row_number % ${everyNth} = 0 order by file_row_number
    ) to '${join(folder, 'flights.parquet')}' (format parquet, compression zstd, compression_level 19)`);
  connection.closeSync();
  instance.closeSync();
  copyFileSync(flights.airports, join(folder, 'airports.csv'));
  const incidents = readIncidents().map(({ name, examples: [first] }) => ({
    name,
    examples: [first],
  }));
  writeFileSync(join(folder, 'incidents.json'), JSON.stringify(incidents));
}
