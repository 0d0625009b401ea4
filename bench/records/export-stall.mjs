import { setTimeout as delay } from 'node:timers/promises';
import { createClient } from '../lib/client.mjs';
import { summary } from '../lib/latency.mjs';
import { residentBytes } from '../lib/memory.mjs';
import {
  formatMiB,
  formatMillis,
  formatSeconds,
  goal,
  markdownTable,
  none,
} from '../lib/table.mjs';
import { drain, requestCsv } from './csv-request.mjs';

const encodeLimitMillis = 120_000;

/**
 * A reader that takes a little and then sleeps: the service's memory, how long the database's snapshot
 * is held, and what another client's pages feel of it. In the end the reader wakes and gets every row.
 */
export async function measureStalledReader({ scope, db, client, service, size, say, slice }) {
  say('export: a reader that stalls');
  const other = createClient(scope, service);
  const before = await timePages(other, slice, () => delay(size.watchMillis));
  const beforeBytes = residentBytes(service.pid);
  let peakBytes = beforeBytes;
  const sampling = setInterval(() => {
    peakBytes = Math.max(peakBytes, residentBytes(service.pid));
  }, 50);
  scope.defer(() => clearInterval(sampling));

  const startedAt = performance.now();
  const { response, rowCount } = await requestCsv(client, slice);
  response.pause();
  const snapshot = await findSnapshot(db, service.pid);
  const encoding = await timePages(other, slice, () => untilReleased(db, snapshot));
  const encodedMillis = performance.now() - startedAt;
  const stalled = await timePages(other, slice, () => delay(size.watchMillis));
  const held = await countSnapshots(db, service.pid);
  clearInterval(sampling);

  let lines = -1;
  await drain(response, (chunk) => {
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) lines += 1;
  });
  if (lines !== rowCount) throw new Error(`the reader woke and got ${lines} of ${rowCount} rows`);
  return report({
    before,
    encoding,
    stalled,
    encodedMillis,
    held,
    growthBytes: peakBytes - beforeBytes,
  });
}

/** Asks for pages one after the other until `until` is done. */
async function timePages(client, { tenant }, until) {
  const times = [];
  let isDone = false;
  const ending = until().finally(() => {
    isDone = true;
  });
  while (!isDone) {
    const { elapsedMillis } = await client.get(
      `/api/v1/enrichment/records?tenant=${tenant}&limit=100`,
    );
    times.push(elapsedMillis);
  }
  await ending;
  return summary(times);
}

/** The export's transaction: the only one the service has open just now. */
async function findSnapshot(db, pid) {
  const { rows } = await db.query(
    'select pid, xact_start::text as since from pg_stat_activity where application_name = $1 and xact_start is not null',
    [`svcctl:${pid}`],
  );
  return rows[0] ?? { pid: 0, since: null };
}

/** Until that transaction is over: the database has written the last row. */
async function untilReleased(db, { pid, since }) {
  const deadline = performance.now() + encodeLimitMillis;
  while (performance.now() < deadline) {
    const { rows } = await db.query(
      'select count(*)::int as held from pg_stat_activity where pid = $1 and xact_start = $2::timestamptz',
      [pid, since],
    );
    if (rows[0].held === 0) return;
    await delay(20);
  }
  throw new Error('the export of a stalled reader still holds its snapshot');
}

/** Connections of the service that hold back the database's clean-up. */
async function countSnapshots(db, pid) {
  const { rows } = await db.query(
    'select count(*)::int as held from pg_stat_activity where application_name = $1 and (backend_xmin is not null or xact_start is not null)',
    [`svcctl:${pid}`],
  );
  return rows[0].held;
}

function report({ before, encoding, stalled, encodedMillis, held, growthBytes }) {
  return markdownTable(
    ['a reader that stalls', 'measured:', 'goal'],
    [
      ['the database is done, its snapshot free, after', formatSeconds(encodedMillis), none],
      ['snapshots held then', String(held), goal('0', held === 0)],
      [
        'growth of the memory',
        formatMiB(growthBytes),
        goal('< 64 MiB', growthBytes < 64 * 2 ** 20),
      ],
      ['page of another client before, p50 / p99', pair(before), none],
      ['… while the database still encodes, p50 / p99', pair(encoding), none],
      [
        '… while the reader sleeps, p50 / p99',
        pair(stalled),
        goal('p99 < 50 ms', stalled.p99 < 50),
      ],
    ],
  );
}

function pair({ p50, p99 }) {
  return `${formatMillis(p50)} / ${formatMillis(p99)}`;
}
