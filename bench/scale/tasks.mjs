import { execFile } from 'node:child_process';
import { statfsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cleanEnvironment } from '../lib/child.mjs';
import { call, pagesOf } from '../lib/client.mjs';
import { sizeOf } from '../lib/duckdb.mjs';
import { timed, until } from '../lib/measure.mjs';
import { programPath } from '../lib/product.mjs';
import {
  formatCount,
  formatMiB,
  formatSeconds,
  markdownTable,
  none,
  section,
} from '../lib/table.mjs';
import { compareTimes, place } from './compare.mjs';

const run = promisify(execFile);
const records = '/api/v1/enrichment/records';
/** An event that no world has. */
const nobodys = 'evt-of-nobody';

/** How long it takes to see all that there is of an event, with the tenant or without. Milliseconds. */
async function find({ client }, eventId, tenant) {
  const of = tenant === undefined ? '' : `&tenant=${tenant}`;
  const [millis, found] = await timed(async () => {
    let count = 0;
    for await (const { body } of pagesOf(client, `${records}?event_id=${eventId}${of}`)) {
      count += body.data.length;
    }
    return count;
  });
  const expected = eventId === nobodys ? 0 : 1;
  if (found !== expected) throw new Error(`${eventId}: ${found} records instead of ${expected}`);
  return millis;
}

/** A record of the tenant and the month of the i-th request. */
async function recordOf(world, i) {
  const { tenant, month } = place(world, i);
  const { body } = await world.client.get(`${records}?tenant=${tenant}&month=${month}&limit=1`);
  return body.data[0];
}

/** One event, of which the id is known. */
export async function benchFind({ small, large, sizes }) {
  const whole = await compareTimes(
    { small, large },
    [
      [
        'in a tenant',
        async (world, i) => {
          const record = await recordOf(world, i);
          return find(world, record.event_id, record.tenant);
        },
      ],
      ['in a tenant, nobody’s', (world, i) => find(world, nobodys, place(world, i).tenant)],
      ['in all tenants', async (world, i) => find(world, (await recordOf(world, i)).event_id)],
      ['in all tenants, nobody’s', (world) => find(world, nobodys)],
    ],
    sizes.tasks,
    { warmups: 1 },
  );
  return section(
    'Finding an event',
    `By its id, until the last page has been seen, ${sizes.tasks} times each. In all tenants, a request asks the filters of 20,000 of them.`,
    whole,
  );
}

/**
 * The first page, and the whole count, of what a `where` finds that all records of a tenant fit, or none: in all its 120
 * leaves.
 *
 * @type {(which: string, where: string) => [string, (world: any, i: number) => Promise<number>][]}
 */
const whereCases = (which, where) => {
  const query = (world, i) => `tenant=${place(world, i).tenant}&where=${encodeURIComponent(where)}`;
  const check = (found) => {
    if (found > 0 !== (which === 'all')) throw new Error(`${where}: ${found} records`);
  };
  return [
    [
      `where that ${which} fit, first page`,
      async (world, i) => {
        const path = `${records}?${query(world, i)}&limit=100`;
        const { body, elapsedMillis } = await world.client.get(path);
        check(body.data.length);
        return elapsedMillis;
      },
    ],
    [
      `where that ${which} fit, count`,
      (world, i) =>
        takeMillis(async () => {
          let count = 0;
          const path = `${records}/count?${query(world, i)}`;
          for await (const { body } of pagesOf(world.client, path)) count += body.count;
          check(count);
        }),
    ],
  ];
};

const takeMillis = async (work) => (await timed(work))[0];

/** What operators do with a tenant's month, and with one record. */
export async function benchTasks({ small, large, sizes }) {
  const versions = new Map();
  const table = await compareTimes(
    { small, large },
    [
      [
        'facts of a tenant',
        async (world, i) => {
          const path = `/api/v1/enrichment/facts?tenant=${place(world, i).tenant}`;
          return (await world.client.get(path)).elapsedMillis;
        },
      ],
      ...whereCases('none', 'track < 0'),
      ...whereCases('all', 'track >= 0'),
      [
        'tag of a month',
        (world, i) =>
          takeMillis(() =>
            call(world.service, 'POST', '/enrichment/tags', {
              ...place(world, i),
              dataset: 'training',
            }),
          ),
      ],
      ['version of it, counted', (world, i) => freeze(world, i, versions)],
      [
        'erasure of one record',
        async (world, i) => {
          const { tenant, event_id: eventId } = await recordOf(world, i);
          const request = { tenant, event_ids: [eventId] };
          const [millis, receipt] = await timed(() =>
            call(world.service, 'POST', '/enrichment/erase', request),
          );
          if (receipt.erased.count !== 1) throw new Error(JSON.stringify(receipt));
          return millis;
        },
      ],
    ],
    // So few have a tenant each, also in the small world, which has ten.
    Math.min(sizes.tasks, 8),
    { warmups: 1 },
  );
  return section(
    'Work on a tenant',
    'Each until it is done: a `where` is counted over all leaves of the tenant, a version until its records are counted and proved, an erasure until no read finds the record.',
    table,
  );
}

async function freeze(world, i, names) {
  const { tenant } = place(world, i);
  names.set(tenant, (names.get(tenant) ?? 0) + 1);
  const name = `v${names.get(tenant)}`;
  return takeMillis(async () => {
    const made = await call(world.service, 'POST', '/enrichment/dataset-versions', {
      ...{ tenant, dataset: 'training', name },
    });
    await until(async () => {
      const { body } = await world.client.get(`/api/v1/enrichment/dataset-versions/${made.id}`);
      if (body.state === 'failed') throw new Error(body.error);
      return body.state === 'ready' ? body : undefined;
    });
  });
}

/** A backup takes all objects along: so much room must be left beside them. */
const roomBytes = 6 * 2 ** 30;

/** A backup of everything, and the next one, which finds all objects there already. */
export async function benchBackup({ dir, small, large, say }) {
  const rows = [];
  for (const [name, world] of Object.entries({ small, large })) {
    const { bavail, bsize } = statfsSync(dir);
    if (bavail * bsize < world.storedBytes * 1.1 + roomBytes) {
      say(`no room for a backup of ${formatMiB(world.storedBytes)}`);
      rows.push([name, none, none, none, none]);
      continue;
    }
    say(`a backup of ${formatCount(world.records)} records`);
    const place = join(dir, `backup-${name}`);
    const { databaseUrl } = world.options;
    const env = cleanEnvironment({
      DATABASE_URL: databaseUrl,
      SVC_DATA_DIR: join(dir, world.options.name),
    });
    const backUp = (...more) =>
      takeMillis(() =>
        run(process.execPath, [programPath, 'backup', '--out', place, ...more], { env }),
      );
    const first = await backUp();
    const again = await backUp('--incremental');
    rows.push([
      ...[name, formatSeconds(first), formatSeconds(again)],
      ...[formatMiB(world.storedBytes), formatMiB(sizeOf(join(place, 'tables')))],
    ]);
  }
  return section(
    'Backing up',
    '`svcctl backup`, then again with `--incremental`: the catalogue once more, and no object.',
    markdownTable(['', 'first:', 'again:', 'objects:', 'tables, both:'], rows),
  );
}
