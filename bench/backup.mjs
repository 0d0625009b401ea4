import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cleanEnvironment } from './lib/child.mjs';
import { sizeOf } from './lib/duckdb.mjs';
import { inTurn, mapValues, median, timed } from './lib/measure.mjs';
import { startPostgres, withClient } from './lib/postgres.mjs';
import { programPath } from './lib/product.mjs';
import { runSections } from './lib/run-sections.mjs';
import { withScope } from './lib/scope.mjs';
import { storeFlights } from './lib/service.mjs';
import {
  formatCount,
  formatMiB,
  formatRatio,
  formatSeconds,
  markdownTable,
  none,
  section,
} from './lib/table.mjs';

const run = promisify(execFile);
/** As many connections as ours has, and its fastest packing, as ours is. */
const dumpOptions = ['--format=directory', '--jobs=3', '--compress=1'];

/** How much each kind of run measures. `pairs`: how often ours and the other side take turns. */
const sizes = {
  smallest: { flights: 2000, pairs: 1 },
  quick: { flights: 100_000, pairs: 1 },
  standard: { flights: 1_000_000, pairs: 3 },
  full: { flights: 3_000_000, pairs: 5 },
};

/** Backup and restore of hot records against pg_dump and pg_restore, on the PostgreSQL that these belong to. */
export async function runBench({ size, only }) {
  const binDir = await findPrograms();
  return runSections(
    {
      name: 'backup',
      sections: { backups: (bench) => benchBackups({ ...bench, binDir }) },
      sizes,
      // All hot: pg_dump knows nothing of cold data.
      start: (bench) => storeFlights(bench, 'backup', { limit: bench.sizes.flights }),
      startServer: (scope, dir) => startPostgres(scope, dir, { binDir }),
    },
    { size, only },
  );
}

const needed = ['initdb', 'pg_ctl', 'postgres', 'pg_dump', 'pg_restore'];
const packaged = '/usr/lib/postgresql';

/**
 * Finds the folder of a PostgreSQL with pg_dump, which the package of the embedded one lacks: that of pg_config (or
 * PG_CONFIG), else the newest of Debian's. Throws what is missing.
 */
async function findPrograms() {
  const versions = existsSync(packaged)
    ? readdirSync(packaged)
        .map(Number)
        .sort((a, b) => b - a)
    : [];
  const configured = await run(process.env.PG_CONFIG ?? 'pg_config', ['--bindir']).then(
    ({ stdout }) => [stdout.trim()],
    () => [],
  );
  const folders = [
    ...configured,
    ...versions.map((version) => join(packaged, String(version), 'bin')),
  ];
  const found = folders.find((folder) => needed.every((name) => existsSync(join(folder, name))));
  if (found !== undefined) return found;
  throw new Error(
    `there is no PostgreSQL with ${needed.join(', ')}: install postgresql-15 or newer, or name its pg_config in PG_CONFIG`,
  );
}

/** Backup, again with nothing new, verification, and restore; the other side has no like of the middle two. */
async function benchBackups({ scope, dir, postgres, binDir, options, flights, sizes, say }) {
  const { databaseUrl: url } = options;
  const place = join(dir, 'place');
  const dump = join(dir, 'dump');
  const from = { dataDir: join(dir, options.name), url };
  const timing = (work) => async () => (await timed(work))[0];
  const anew = (folder, work) =>
    timing(() => {
      rmSync(folder, { recursive: true, force: true });
      return work();
    });
  const filling = (name, fill) => (round) =>
    inEmpty(scope, { postgres, dir, name: `${name}_${round}`, flights }, fill);
  const ways = {
    save: anew(place, () => svcctl(from, ['backup', '--out', place])),
    dump: anew(dump, () => run(join(binDir, 'pg_dump'), [...dumpOptions, '-f', dump, url])),
    again: timing(() => svcctl(from, ['backup', '--out', place, '--incremental'])),
    verify: timing(() => svcctl(from, ['backup', 'verify', place])),
    restore: filling('ours', (to) => svcctl(to, ['restore', place])),
    reload: filling('theirs', (to) =>
      run(join(binDir, 'pg_restore'), ['--jobs=3', '--no-owner', '-d', to.url, dump]),
    ),
  };
  const onRound = (round) => say(`backup and restore ${round + 1}`);
  const millis = mapValues(await inTurn(ways, sizes.pairs, { onRound }), median);
  const row = (title, ours, theirs) => [
    title,
    formatSeconds(millis[ours]),
    theirs === undefined ? none : formatSeconds(millis[theirs]),
    theirs === undefined ? none : formatRatio(millis[ours] / millis[theirs]),
  ];
  const bytes = [sizeOf(join(place, 'tables')), sizeOf(dump)];
  return section(
    `Backup and restore of ${formatCount(flights)} hot records`,
    `Median of ${sizes.pairs}, the start of each program included. The other side is \`pg_dump ${dumpOptions.join(' ')}\` and \`pg_restore --jobs=3\`. Ours proves each month by count, bytes and digest as it is written, and a restore ends with a verification of everything.`,
    markdownTable(
      ['', 'ours:', 'pg_dump, pg_restore:', 'ratio:'],
      [
        row('backup', 'save', 'dump'),
        row('backup again, `--incremental`, nothing new', 'again'),
        row('`backup verify`', 'verify'),
        row('restore into an empty database', 'restore', 'reload'),
        ['size', ...bytes.map(formatMiB), formatRatio(bytes[0] / bytes[1])],
      ],
    ),
  );
}

function svcctl({ dataDir, url }, args) {
  const env = cleanEnvironment({ SVC_DATA_DIR: dataDir, DATABASE_URL: url, SVC_LOG_LEVEL: 'warn' });
  return run(process.execPath, [programPath, ...args], { env, maxBuffer: 2 ** 24 });
}

/** Times how an empty database is filled, and counts what is in it then. */
function inEmpty(scope, { postgres, dir, name, flights }, fill) {
  return withScope(scope, async (own) => {
    const url = await postgres.createDatabase(own, name, { isEmpty: true });
    const dataDir = join(dir, name);
    mkdirSync(dataDir);
    const [elapsedMillis] = await timed(() => fill({ dataDir, url }));
    const { rows } = await withClient(url, (client) =>
      client.query('select count(*)::int as count from enrichment_records'),
    );
    if (rows[0].count !== flights) throw new Error(`restored ${rows[0].count} of ${flights}`);
    return elapsedMillis;
  });
}
