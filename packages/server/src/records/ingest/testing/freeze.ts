import { hash } from 'node:crypto';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createDuckDb, type DuckDb, literal } from '../../../platform/duckdb.ts';
import {
  ObjectDamaged,
  ObjectMissing,
  type ObjectReader,
} from '../../../platform/objects/objects.ts';
import type { Database } from '../../../platform/postgres/database.ts';
import { segmentColumns, segmentFormatFor, segmentOrder } from '../../segments/segment-sql.ts';

/** A cold tier in a folder, made by hand: what ingest meets after a move, without the mover. */
export type Freezer = {
  readonly duckdb: DuckDb;
  readonly objects: ObjectReader;
  /** Makes one segment of all hot records of a tenant; answers the path of its object. */
  freeze(tenant: string): Promise<string>;
};

export function createFreezer(db: Database, dir: string): Freezer {
  const duckdb = createDuckDb({
    memoryBytes: 2 ** 28,
    threads: 1,
    tempDir: dir,
    niceness: 0,
    log: { debug() {}, error() {} } as never,
  });
  let serial = 0;
  return {
    duckdb,
    objects: createFolderReader(dir),
    async freeze(tenant) {
      serial += 1;
      const id = `seg${serial}`;
      const path = join(dir, `${id}.parquet`);
      await writeSegment(db, duckdb, { tenant, path });
      await enterSegment(db, { tenant, id, path });
      return path;
    },
  };
}

/** Checks size and SHA-256 at every opening. */
function createFolderReader(dir: string): ObjectReader {
  return {
    isRemote: false,
    async open({ key, sha256 }) {
      const path = join(dir, key);
      const bytes = await readFile(path).catch(() => {
        throw new ObjectMissing(key);
      });
      if (!Buffer.from(hash('sha256', bytes, 'hex'), 'hex').equals(sha256)) {
        throw new ObjectDamaged(key, 'has another SHA-256');
      }
      return { path, release: async () => {} };
    },
    close: async () => {},
  };
}

async function writeSegment(
  db: Database,
  duckdb: DuckDb,
  { tenant, path }: { tenant: string; path: string },
): Promise<void> {
  const { rows } = await db.pool.query(
    `select *, enrichment::text as enrichment, (extract(epoch from occurred_at) * 1000000)::bigint as occurred_at,
      (extract(epoch from recorded_at) * 1000000)::bigint as recorded_at
    from enrichment_records where tenant = $1`,
    [tenant],
  );
  const spool = `${path}.ndjson`;
  await writeFile(spool, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  const types = segmentColumns.map((column) => {
    const isNumber = ['occurred_at', 'recorded_at', 'bytes'].includes(column);
    return `${column}: '${isNumber ? 'BIGINT' : 'VARCHAR'}'`;
  });
  const columns = segmentColumns.map((column) =>
    column.endsWith('_at') ? `make_timestamptz(${column}) as ${column}` : column,
  );
  await duckdb.run(`copy (
      select ${columns.join(', ')}
      from read_json(${literal(spool)}, format = 'newline_delimited', columns = {${types.join(', ')}})
      order by ${segmentOrder}
    ) to ${literal(path)} (${segmentFormatFor(1, 1)})`);
}

/** The switch of a move, in small: catalogue in, hot rows out, counters. */
async function enterSegment(
  db: Database,
  { tenant, id, path }: { tenant: string; id: string; path: string },
): Promise<void> {
  const size = (await stat(path)).size;
  const sha256 = Buffer.from(hash('sha256', await readFile(path), 'hex'), 'hex');
  await db.transaction(async ({ client }) => {
    await client.query(
      `insert into segments (tenant, id, object_key, size_bytes, sha256, count, bytes, digest, first_day, last_day)
      select $1, $2, $2 || '.parquet', $3, $4, count(*), sum(bytes),
        mod(mod(sum(digest), 18446744073709551616) + 18446744073709551616, 18446744073709551616),
        min(occurred_at at time zone 'UTC')::date, max(occurred_at at time zone 'UTC')::date
      from enrichment_records where tenant = $1`,
      [tenant, id, size, sha256],
    );
    await client.query(
      `insert into segment_days (tenant, store, day, segment_id, first_row, count, bytes, digest, stored_bytes, first_at, last_at)
      select tenant, store, (occurred_at at time zone 'UTC')::date, $2, min(row), count(*), sum(bytes),
        mod(mod(sum(digest), 18446744073709551616) + 18446744073709551616, 18446744073709551616), 1,
        min(occurred_at), max(occurred_at)
      from (
        select *, row_number() over (order by store, occurred_at, event_id) - 1 as row
        from enrichment_records where tenant = $1
      ) rows group by 1, 2, 3`,
      [tenant, id],
    );
    await client.query(
      `update leaf_days set cold_count = cold_count + moved.count, cold_bytes = cold_bytes + moved.bytes,
        cold_digest = mod(cold_digest + moved.digest, 18446744073709551616)
      from segment_days moved where moved.tenant = $1 and moved.segment_id = $2
        and leaf_days.tenant = $1 and leaf_days.store = moved.store and leaf_days.day = moved.day`,
      [tenant, id],
    );
    await client.query('delete from enrichment_records where tenant = $1', [tenant]);
  });
}
