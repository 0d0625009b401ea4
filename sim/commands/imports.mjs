import { execFile } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { DuckDBInstance } from '@duckdb/node-api';
import fc from 'fast-check';
import { cleanEnvironment } from '../../bench/lib/child.mjs';
import { batch, contentsOf, day, store, tenant, timeOf } from '../values.mjs';
import { endIngest, via } from './records.mjs';

const run = promisify(execFile);

export const importCommands = [
  {
    name: 'import a file, as ingest does',
    weight: 1,
    draw: fc.record({
      ...{ via, contents: batch },
      killAfterMillis: fc.option(fc.integer({ min: 300, max: 3000 }), { freq: 1, nil: null }),
    }),
    play: (world, { via: at, contents, killAfterMillis }) =>
      importFile(world, contents, { via: at, killAfterMillis, write: writeLines }),
  },
  {
    name: 'import a file of Parquet, whose days may become cold at once, as ingest does',
    weight: 1,
    draw: fc.record({
      ...{ via, tenant, store, day },
      // The same file comes again, and others with the same days.
      number: fc.integer({ min: 0, max: 3 }),
      count: fc.constantFrom(5, 1000, 1500),
      killAfterMillis: fc.option(fc.integer({ min: 300, max: 5000 }), { freq: 2, nil: null }),
    }),
    async play(world, { via: at, number, count, killAfterMillis, ...of }) {
      const contents = await contentsOf(count, (n) => ({
        ...{ ...of, time: timeOf(n), event: `f${number}-${n}`, x: '1.50' },
      }));
      await importFile(world, contents, { via: at, killAfterMillis, write: writeParquet });
    },
  },
];

/** Writes records as lines of NDJSON into a file; answers its name. */
async function writeLines(dir, contents) {
  writeFileSync(
    join(dir, 'records.ndjson'),
    contents.map((content) => `${content.text()}\n`).join(''),
  );
  return 'records.ndjson';
}

/** Writes records as typed columns of Parquet, whose keys become those of the enrichment. */
async function writeParquet(dir, contents) {
  const lines = join(dir, await writeLines(dir, contents));
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' });
  const connection = await instance.connect();
  await connection.run(`copy (
    select tenant, store, event_id, (occurred_at::timestamptz at time zone 'UTC') as occurred_at,
      enrichment ->> 'marker' as marker, 9007199254740993 as n,
      1.50::decimal(5, 2) as x
    from read_json('${lines}', format = 'newline_delimited', columns = {tenant: 'varchar', store: 'varchar',
      event_id: 'varchar', occurred_at: 'varchar', enrichment: 'json'}))
    to '${join(dir, 'records.parquet')}' (format parquet)`);
  connection.closeSync();
  instance.closeSync();
  return 'records.parquet';
}

/** An import waits for a service that does not answer, but here it may come back at another port. */
const longestImportMillis = 40_000;

/**
 * Has the command line import records from a file, or kills it and has another go on where that was, and tells the model
 * what became of them.
 */
async function importFile(world, contents, { via: at, killAfterMillis, write: writeFile }) {
  const ready = world.processes.filter(({ url, isReady, roles }) => {
    return url !== '' && isReady && roles.includes('api');
  });
  const each = ready[at % ready.length];
  if (each === undefined || world.programs.length > 1) return;
  const { url } = each;
  const dir = mkdtempSync(join(world.dir, 'import-'));
  const path = join(dir, await writeFile(dir, contents));
  const write = world.records.beginWrite(contents);
  const place = ['--resume', join(dir, 'place')];
  const args = [world.programs[0], 'records', 'import', path, '--json', ...place];
  const importOnce = (timeout) =>
    run(process.execPath, args, {
      env: cleanEnvironment({ HOME: dir, SVC_URL: url, SVC_TOKEN: world.token }),
      ...{ timeout, killSignal: 'SIGKILL' },
    }).then(
      (ended) => ({ code: 0, killed: false, ...ended }),
      (error) => error,
    );
  const first = await importOnce(killAfterMillis ?? longestImportMillis);
  const isResumed = killAfterMillis !== null && first.killed;
  const { code, killed, stdout, stderr } = isResumed
    ? await importOnce(longestImportMillis)
    : first;
  // One that ended just before it was to be killed has its code, and nothing of what it said.
  const isWhole = !killed && (code === 0 || code === 7);
  // It knows one process, and nothing of another that would answer while that is restarted.
  const isBlamed = (isResumed || killAfterMillis === null) && each.url === url;
  if (!isWhole && isBlamed && world.isCalm())
    world.say(`an import ended with ${code} in calm: ${stderr}`);
  if (!isWhole) return endIngest(world, write, { status: 0, error: new Error('hung up') });
  const told = JSON.parse(stdout);
  const { accepted, duplicates, rejected_count: count } = told;
  const passed = isResumed ? contents.length - accepted - duplicates - count : 0;
  const rejected = told.rejected.map(({ row, ...reason }) => ({ ...reason, index: row - 1 }));
  endIngest(world, write, { status: 200, json: { ...told, rejected } }, passed);
}
