import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import sql from 'sql-template-tag';
import { createTestDatabase, type TestDatabase } from '../../../../test/database.ts';
import { newId } from '../../../kernel/ids.ts';
import { createDuckDb } from '../../../platform/duckdb.ts';
import { createFileStore } from '../../../platform/objects/file-system.ts';
import type { ObjectStore } from '../../../platform/objects/objects.ts';
import type { Queryable } from '../../../platform/postgres/database.ts';
import { unpaced } from '../../../platform/work/pace.ts';
import { createPartitions } from '../../../records/ingest/store-part.ts';
import { readWhole } from '../../../records/segments/read-segment.ts';
import { addSegment } from '../../../records/segments/replace-segments.ts';
import { sumTriples } from '../../../records/segments/segment.ts';
import { segmentKey } from '../../../records/segments/segment-key.ts';
import { spoolHotRows } from '../../../records/segments/spool.ts';
import { writeSegmentFromSpool } from '../../../records/segments/write-segment.ts';
import { countAnew } from '../../mover/testing/test-mover.ts';
import type { VerifyTools } from '../check-segments.ts';

export type ColdData = VerifyTools & {
  readonly db: TestDatabase;
  readonly dir: string;
  /** Records of every store and day of a tenant, counted. */
  addRecords(tenant: string, days: readonly string[], perDay?: number): Promise<void>;
  /** Puts whole days into a segment of their own, without a journal. */
  makeCold(tenant: string, firstDay: string, lastDay: string): Promise<string>;
  /** The same records in a new object, as a compaction leaves it; the old one is named no more. */
  replaceSegment(id: string): Promise<{ oldKey: string }>;
  close(): Promise<void>;
};

export async function createColdData(): Promise<ColdData> {
  const db = await createTestDatabase();
  const dir = await mkdtemp(join(tmpdir(), 'svcctl-verify-'));
  const log = pino({ level: 'silent' });
  const objects = createFileStore(join(dir, 'objects'));
  const duckdb = createDuckDb({
    memoryBytes: 128 * 2 ** 20,
    threads: 1,
    tempDir: join(dir, 'duckdb'),
    niceness: 0,
    // As in the service. Some tests replace an object under its path, of which DuckDB would mix old and new blocks.
    cachesFiles: false,
    log,
  });
  const context = { db, objects, duckdb, spoolDir: dir, log, pace: unpaced };
  return {
    ...context,
    dir,
    async addRecords(tenant, days, perDay = 40) {
      await createPartitions(db).ensure(days.map((day) => day.slice(0, 7)));
      for (const day of days) await insertRecords(db, tenant, day, perDay);
      await db.transaction((connection) => countAnew(connection, [tenant]));
    },
    makeCold: (tenant, firstDay, lastDay) => makeCold(context, { tenant, firstDay, lastDay }),
    replaceSegment: (id) => replaceSegment(db, objects, id),
    async close() {
      await duckdb.close();
      await db.drop();
      await rm(dir, { recursive: true });
    },
  };
}

async function insertRecords(
  db: Queryable,
  tenant: string,
  day: string,
  perDay: number,
): Promise<void> {
  await db.query(sql`
    insert into enrichment_records (tenant, store, occurred_at, event_id, recorded_at, kind, source,
      bytes, digest, enrichment)
    select tenant, store, occurred_at, event_id, now(), 'k', null, 200 + n,
      record_digest(tenant, store, occurred_at, event_id, 'k', null, null, null, enrichment), enrichment
    from (
      select ${tenant}::text as tenant, store, n, 'e' || n as event_id,
        ${day}::timestamptz + n * interval '2 minutes' as occurred_at,
        json_build_object('n', n, 'noise', md5(store || ${day}::text || n)) as enrichment
      from unnest(array['AUS', 'DFW']) as store, generate_series(1, ${perDay}::int) as n
    ) made`);
}

async function makeCold(
  { db, objects, duckdb, spoolDir }: VerifyTools,
  range: { tenant: string; firstDay: string; lastDay: string },
): Promise<string> {
  const { tenant } = range;
  const id = newId('seg');
  const spoolPath = join(spoolDir, `${id}.csv`);
  const target = join(spoolDir, `${id}.parquet`);
  const { count, bytes } = sumTriples(await spoolHotRows(db, { ...range, path: spoolPath }));
  await writeSegmentFromSpool(duckdb, { tenant, spoolPath, target, count, bytes });
  const held = await readWhole(duckdb, { tenant, path: target });
  const content = await readFile(target);
  const key = segmentKey({ ...range, id });
  await objects.put(key, target);
  const sha256 = createHash('sha256').update(content).digest();
  const size_bytes = content.length;
  await db.transaction(async (connection) => {
    const segment = { id, object_key: key, size_bytes, sha256, ...held };
    await addSegment(connection, tenant, segment);
    await connection.query(sql`
      delete from enrichment_records where tenant = ${tenant}
        and occurred_at >= ${range.firstDay}::timestamptz
        and occurred_at < ${range.lastDay}::timestamptz + interval '1 day'`);
    await countAnew(connection, [tenant]);
  });
  return id;
}

async function replaceSegment(
  db: TestDatabase,
  objects: ObjectStore,
  id: string,
): Promise<{ oldKey: string }> {
  const newSegmentId = newId('seg');
  return db.transaction(async (connection) => {
    const [{ key: oldKey } = { key: '' }] = await connection.query<{ key: string }>(
      sql`select object_key as key from segments where id = ${id}`,
    );
    const key = oldKey.replace(id, newSegmentId);
    await objects.put(key, objects.pathOf(oldKey) ?? '');
    await connection.query(
      sql`update segments set id = ${newSegmentId}, object_key = ${key} where id = ${id}`,
    );
    await connection.query(
      sql`update segment_days set segment_id = ${newSegmentId} where segment_id = ${id}`,
    );
    return { oldKey };
  });
}
