import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { finished } from 'node:stream/promises';
import { from as copyFrom } from 'pg-copy-streams';
import {
  createDuckDb,
  digestSql,
  digestSumOf,
  eventFilterSql,
  instantSql,
  newId,
  segmentColumns,
  segmentFormatFor,
  segmentKey,
  shareStoredBytes,
} from '../lib/product.mjs';
import { formatCount } from '../lib/table.mjs';
import {
  daysOfSegment,
  perDayOf,
  recordsOf,
  recordsSql,
  spanOf,
  tenantName,
  tenantsFor,
  years,
} from './shape.mjs';

/** So many records are made at once. */
const recordsOfChunk = 1_000_000;
const chunksAtOnce = 2;
const oneHour = 3_600_000;

/**
 * Fills a store and the catalogue of its database with cold records, as if retention had moved them: segments in the
 * product's own layout, and all counters with their digests. Answers how many tenants, records and segments there are,
 * and the bytes of the segments.
 */
export async function generateWorld({ scope, dir, db, coldDir, records, perDay, say }) {
  const duckdb = createDuckDb({
    memoryBytes: 3 * 2 ** 30,
    threads: 2,
    tempDir: join(dir, 'generate'),
    niceness: 0,
    log: /** @type {any} */ ({ error: say, debug() {} }),
  });
  scope.defer(() => duckdb.close());
  const tenants = tenantsFor(records, perDay);
  const total = recordsOf(tenants, perDay);
  say(`writing ${formatCount(total)} cold records of ${formatCount(tenants)} tenants`);
  const chunks = chunksOf(tenants, perDay);
  let [segments, storedBytes, done] = [0, 0, 0];
  const work = async () => {
    for (let chunk = chunks.shift(); chunk !== undefined; chunk = chunks.shift()) {
      const written = await writeChunk(duckdb, coldDir, chunk);
      await storeChunk(db, written);
      segments += written.length;
      storedBytes += written.reduce((sum, { size }) => sum + size, 0);
      done += written.reduce((sum, { count }) => sum + count, 0);
      if (segments % 5000 < written.length) say(`${formatCount(done)} records written`);
    }
  };
  await Promise.all(Array.from({ length: chunksAtOnce }, work));
  say('summing up the counters');
  await sumCounters(db);
  return { tenants, records: total, segments, storedBytes };
}

/** The first tenant is larger than the others and has a chunk of its own. */
function chunksOf(tenants, perDay) {
  const chunks = [{ first: 0, end: 1, perDay: perDayOf(0, perDay) }];
  const size = Math.max(
    1,
    Math.floor(recordsOfChunk / (recordsOf(2, perDay) - recordsOf(1, perDay))),
  );
  for (let first = 1; first < tenants; first += size) {
    chunks.push({ first, end: Math.min(tenants, first + size), perDay });
  }
  return chunks;
}

/** Writes the segments of some tenants. Answers each as the catalogue is to have it, with its days. */
async function writeChunk(duckdb, coldDir, chunk) {
  const segments = segmentsOf(chunk);
  for (const { key } of segments) mkdirSync(dirname(join(coldDir, key)), { recursive: true });
  const rows = await duckdb.run(
    [
      `create or replace temp table chunk as select *, ${digestSql} as digest from (${recordsSql(chunk)})`,
      ...segments.map(
        ({ tenant, year, key }) => `copy (
          select ${segmentColumns.join(', ')} from chunk
          where tenant_number = ${tenant} and year_number = ${year}
        ) to '${join(coldDir, key)}' (${segmentFormatFor(1, 250)})`,
      ),
      `select tenant_number, year_number, store, make_timestamp(epoch_us(occurred_at))::date as day,
        min(row_number) as first_row, count(*) as count, sum(bytes)::bigint as bytes,
        ${digestSumOf('digest')} as digest, ${instantSql('min(occurred_at)')} as first_at,
        ${instantSql('max(occurred_at)')} as last_at
      from chunk group by all order by tenant_number, year_number, first_row`,
    ],
    { timeoutMillis: oneHour },
  );
  const count = chunk.perDay * daysOfSegment;
  const filters = await duckdb.run(
    [
      segments
        .map(({ key }) => `(${eventFilterSql(join(coldDir, key), count)})`)
        .join(' union all by name '),
    ],
    { timeoutMillis: oneHour },
  );
  return segments.map((segment, index) => ({
    ...describe(coldDir, segment, rows.slice(index * daysOfSegment, (index + 1) * daysOfSegment)),
    filter: Buffer.from(filters[index].filter, 'base64').toString('hex'),
  }));
}

function segmentsOf({ first, end }) {
  const segments = [];
  for (let tenant = first; tenant < end; tenant += 1) {
    for (let year = 0; year < years; year += 1) {
      const id = newId('seg');
      const [firstDay, lastDay] = spanOf(tenant, year);
      const key = segmentKey({ tenant: tenantName(tenant), id, firstDay, lastDay });
      segments.push({ tenant, year, id, key, firstDay, lastDay });
    }
  }
  return segments;
}

function describe(coldDir, segment, days) {
  const file = readFileSync(join(coldDir, segment.key));
  const shares = shareStoredBytes(
    days.map(({ bytes }) => Number(bytes)),
    file.length,
  );
  return {
    ...segment,
    size: file.length,
    sha256: createHash('sha256').update(file).digest('hex'),
    count: days.reduce((sum, { count }) => sum + Number(count), 0),
    bytes: days.reduce((sum, { bytes }) => sum + Number(bytes), 0),
    digest: BigInt.asUintN(
      64,
      days.reduce((sum, { digest }) => sum + BigInt(digest), 0n),
    ),
    days: days.map((day, index) => ({ ...day, storedBytes: shares[index] })),
  };
}

/** Adds segments to the catalogue. */
async function storeChunk(db, segments) {
  await copyRows(
    db,
    `segments (tenant, id, object_key, size_bytes, sha256, count, bytes, digest, first_day, last_day,
      event_filter)`,
    segments.map((segment) => [
      tenantName(segment.tenant),
      segment.id,
      segment.key,
      segment.size,
      `\\x${segment.sha256}`,
      segment.count,
      segment.bytes,
      segment.digest,
      segment.firstDay,
      segment.lastDay,
      `\\x${segment.filter}`,
    ]),
  );
  await copyRows(
    db,
    `segment_days (tenant, segment_id, store, day, first_row, count, bytes, digest, stored_bytes, first_at,
      last_at)`,
    segments.flatMap(({ tenant, id, days }) =>
      days.map((day) => [
        tenantName(tenant),
        id,
        day.store,
        day.day,
        day.first_row,
        day.count,
        day.bytes,
        day.digest,
        day.storedBytes,
        day.first_at,
        day.last_at,
      ]),
    ),
  );
}

async function copyRows(db, target, rows) {
  const copy = db.query(copyFrom(`copy ${target} from stdin (format csv)`));
  copy.end(rows.map((row) => `${row.join(',')}\n`).join(''));
  await finished(copy);
}

const sums = `sum(count), sum(bytes), mod(sum(digest), 18446744073709551616), min(first_at), max(last_at),
  sum(count), sum(bytes)`;
const counters = `count, bytes, digest, first_at, last_at, cold_count, cold_bytes`;

/** Makes all counters of a database whose records are all cold. */
async function sumCounters(db) {
  const statements = [
    `insert into leaf_days (tenant, store, day, ${counters}, cold_digest, cold_stored_bytes)
      select tenant, store, day, count, bytes, digest, first_at, last_at, count, bytes, digest, stored_bytes
      from segment_days`,
    `insert into leaf_months (tenant, store, month, ${counters}, cold_stored_bytes)
      select tenant, store, to_char(day, 'YYYY-MM'), ${sums}, sum(cold_stored_bytes) from leaf_days group by 1, 2, 3`,
    `insert into leaf_stores (tenant, store, ${counters}, cold_stored_bytes)
      select tenant, store, ${sums}, sum(cold_stored_bytes) from leaf_months group by 1, 2`,
    `insert into leaf_tenants (tenant, ${counters}, cold_stored_bytes)
      select tenant, ${sums}, sum(cold_stored_bytes) from leaf_stores group by 1`,
    `insert into tenant_days (tenant, day, ${counters}, cold_stored_bytes)
      select tenant, day, ${sums}, sum(cold_stored_bytes) from leaf_days group by 1, 2`,
    `insert into tenant_months (tenant, month, ${counters}, cold_stored_bytes)
      select tenant, to_char(day, 'YYYY-MM'), ${sums}, sum(cold_stored_bytes) from tenant_days group by 1, 2`,
    'vacuum (analyze)',
  ];
  for (const statement of statements) await db.query(statement);
}
