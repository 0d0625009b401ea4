import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cleanEnvironment } from '../lib/child.mjs';
import { withClient } from '../lib/postgres.mjs';
import { programPath } from '../lib/product.mjs';
import { withScope } from '../lib/scope.mjs';
import { median } from '../lib/stats.mjs';
import {
  formatCount,
  formatMiB,
  formatRatio,
  formatSeconds,
  markdownTable,
  none,
} from '../lib/table.mjs';

const run = promisify(execFile);
/** As many connections as ours has, and the level of gzip that ours has. */
const dumpOptions = ['--format=directory', '--jobs=3', '--compress=1'];

/** Backup, again with nothing new, verification, and restore; the other side has no like of the middle two. */
export async function benchBackups({ scope, dir, postgres, binDir, url, flights, sizes, say }) {
  const times = { save: [], dump: [], again: [], verify: [], restore: [], reload: [] };
  const place = join(dir, 'place');
  const dump = join(dir, 'dump');
  for (let pair = 0; pair < sizes.pairs; pair += 1) {
    rmSync(place, { recursive: true, force: true });
    rmSync(dump, { recursive: true, force: true });
    say(`backup ${pair + 1}`);
    const from = { dataDir: join(dir, 'backup'), url };
    times.save.push(await timed(() => svcctl(from, ['backup', '--out', place])));
    times.dump.push(
      await timed(() => run(join(binDir, 'pg_dump'), [...dumpOptions, '-f', dump, url])),
    );
    times.again.push(await timed(() => svcctl(from, ['backup', '--out', place, '--incremental'])));
    times.verify.push(await timed(() => svcctl(from, ['backup', 'verify', place])));
    say(`restore ${pair + 1}`);
    times.restore.push(
      await inEmpty(scope, { postgres, dir, name: `ours_${pair}`, flights }, (to) =>
        svcctl(to, ['restore', place]),
      ),
    );
    times.reload.push(
      await inEmpty(scope, { postgres, dir, name: `theirs_${pair}`, flights }, (to) =>
        run(join(binDir, 'pg_restore'), ['--jobs=3', '--no-owner', '-d', to.url, dump]),
      ),
    );
  }
  const of = (name) => median(times[name]);
  const row = (title, ours, theirs) => [
    title,
    formatSeconds(of(ours)),
    theirs === undefined ? none : formatSeconds(of(theirs)),
    theirs === undefined ? none : formatRatio(of(ours) / of(theirs)),
  ];
  const sizesOf = [sizeOf(join(place, 'tables')), sizeOf(dump)];
  return [
    `### Backup and restore of ${formatCount(flights)} hot records`,
    `Median of ${sizes.pairs}, the start of each program included. The other side is \`pg_dump ${dumpOptions.join(' ')}\` and \`pg_restore --jobs=3\`. Ours proves each month by count, bytes and digest as it is written, and a restore ends with a verification of everything.`,
    markdownTable(
      ['', 'ours:', 'pg_dump, pg_restore:', 'ratio:'],
      [
        row('backup', 'save', 'dump'),
        row('backup again, `--incremental`, nothing new', 'again'),
        row('`backup verify`', 'verify'),
        row('restore into an empty database', 'restore', 'reload'),
        ['size', ...sizesOf.map(formatMiB), formatRatio(sizesOf[0] / sizesOf[1])],
      ],
    ),
  ].join('\n\n');
}

async function timed(work) {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
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
    const elapsedMillis = await timed(() => fill({ dataDir, url }));
    const { rows } = await withClient(url, (client) =>
      client.query('select count(*)::int as count from enrichment_records'),
    );
    if (rows[0].count !== flights) throw new Error(`restored ${rows[0].count} of ${flights}`);
    return elapsedMillis;
  });
}

function sizeOf(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
}
