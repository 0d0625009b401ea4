import { readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { timed } from './measure.mjs';

/** DuckDB as one would use it: `run` copies what a query selects to a file, with two threads; answers milliseconds. */
export async function openCopy(query, target, options) {
  const instance = await DuckDBInstance.create(':memory:', { threads: '2' });
  const connection = await instance.connect();
  return {
    async run() {
      const [millis] = await timed(() =>
        connection.run(`copy (${query}) to '${target}' (${options})`),
      );
      rmSync(target);
      return millis;
    },
    close() {
      connection.closeSync();
      instance.closeSync();
    },
  };
}

/** The bytes of all files below a folder. */
export function sizeOf(folder, isCounted = (_name) => true) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && isCounted(entry.name))
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
}
