import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sql from 'sql-template-tag';
import { createTestDatabase, type TestDatabase } from '../../../../test/database.ts';
import { createDuckDb, type DuckDb } from '../../../platform/duckdb.ts';
import { createLog } from '../../../platform/log.ts';
import { createStoreFence, type StoreFence } from '../../../platform/objects/fence.ts';
import { createFileStore } from '../../../platform/objects/file-system.ts';
import type { ObjectStore } from '../../../platform/objects/objects.ts';
import { unpaced } from '../../../platform/work/pace.ts';
import { createPartitions } from '../../../records/ingest/store-part.ts';
import type { MoverContext } from '../move.ts';
import { moveTenant, type TenantOutcome } from '../move-tenant.ts';

export type TestMover = {
  readonly db: TestDatabase;
  readonly duckdb: DuckDb;
  readonly store: ObjectStore;
  readonly fence: StoreFence;
  /** A mover of another process, with things of its own. */
  context(more?: Partial<MoverContext>): MoverContext;
  move(tenant: string, lastDay: string, more?: Partial<MoverContext>): Promise<TenantOutcome>;
  stop(): Promise<void>;
};

/**
 * A database, DuckDB and a store of files, and as many movers as a test wants; or a copy of another one's
 * database as it is now, on the same store, with the same DuckDB.
 */
export async function startTestMover(original?: TestMover): Promise<TestMover> {
  const db = await createTestDatabase(original?.db);
  const dir = await mkdtemp(join(tmpdir(), 'svcctl-mover-'));
  const log = createLog('silent');
  const tempDir = join(dir, 'duckdb');
  const duckdb =
    original?.duckdb ??
    createDuckDb({
      memoryBytes: 256 * 2 ** 20,
      threads: 2,
      tempDir,
      niceness: 0,
      cachesFiles: false,
      log,
    });
  const store = original?.store ?? createFileStore(join(dir, 'objects'));
  const fence = createStoreFence({ db, store, isKnown: async () => true });
  let runners = 0;
  const context = (more: Partial<MoverContext> = {}): MoverContext => {
    const runner = `runner-${++runners}`;
    const spoolDir = join(dir, runner);
    return {
      ...{ db, duckdb, store, fence, spoolDir, runner, graceSeconds: 0, log, pace: unpaced },
      ...more,
    };
  };
  return {
    db,
    duckdb,
    store,
    fence,
    context,
    async move(tenant, lastDay, more) {
      const mover = context(more);
      await mover.fence.advance();
      const { signal } = new AbortController();
      return moveTenant(mover, { tenant, lastDay, runId: null, signal });
    },
    async stop() {
      if (original === undefined) await duckdb.close();
      await db.drop();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

export type TestRecord = {
  readonly tenant: string;
  readonly store: string;
  /** RFC 3339. */
  readonly occurred_at: string;
  readonly event_id: string;
  readonly kind?: string | null;
  readonly source?: string | null;
  readonly model?: string | null;
  readonly confidence?: string | null;
  /** JSON text. */
  readonly enrichment?: string;
};

/** Stores new records hot and counts them, as ingest does. */
export async function addRecords(db: TestDatabase, records: readonly TestRecord[]): Promise<void> {
  await createPartitions(db).ensure(new Set(records.map((row) => row.occurred_at.slice(0, 7))));
  await db.transaction(async (connection) => {
    await connection.query(sql`
      insert into enrichment_records (tenant, store, occurred_at, event_id, recorded_at, kind, source,
        model, confidence, bytes, digest, enrichment)
      select tenant, store, occurred_at, event_id, now(), kind, source, model, confidence,
        200 + octet_length(enrichment), record_digest(tenant, store, occurred_at, event_id, kind, source,
        model, confidence, enrichment::json), enrichment::json
      from json_to_recordset(${JSON.stringify(records.map((row) => ({ enrichment: '{}', ...row })))}::json)
        as given(tenant text, store text, occurred_at timestamptz, event_id text, kind text, source text,
          model text, confidence text, enrichment text)`);
    await count(connection);
  });

  /** All anew: what lies in segments counts by the catalogue. */
  async function count(connection: Pick<TestDatabase, 'query'>): Promise<void> {
    const tenants = [...new Set(records.map((row) => row.tenant))];
    await connection.query(sql`
      insert into leaf_days as counter (tenant, store, day, count, bytes, digest, first_at, last_at)
      select tenant, store, (occurred_at at time zone 'UTC')::date, count(*), sum(bytes),
        mod(mod(sum(digest), 18446744073709551616) + 18446744073709551616, 18446744073709551616),
        min(occurred_at), max(occurred_at)
      from enrichment_records where tenant = any(${tenants}) group by 1, 2, 3
      on conflict (tenant, store, day) do update set
        count = excluded.count + counter.cold_count, bytes = excluded.bytes + counter.cold_bytes,
        digest = mod(excluded.digest + counter.cold_digest, 18446744073709551616),
        first_at = least(counter.first_at, excluded.first_at),
        last_at = greatest(counter.last_at, excluded.last_at)`);
    await connection.query(sql`
      insert into leaf_months (tenant, store, month, count, bytes, digest, first_at, last_at)
      select tenant, store, to_char(day, 'YYYY-MM'), sum(count), sum(bytes),
        mod(sum(digest), 18446744073709551616), min(first_at), max(last_at)
      from leaf_days where tenant = any(${tenants}) group by 1, 2, 3
      on conflict (tenant, store, month) do update set count = excluded.count, bytes = excluded.bytes,
        digest = excluded.digest, first_at = excluded.first_at, last_at = excluded.last_at`);
    await connection.query(sql`
      insert into leaf_stores (tenant, store, count, bytes, digest, first_at, last_at)
      select tenant, store, sum(count), sum(bytes), mod(sum(digest), 18446744073709551616),
        min(first_at), max(last_at)
      from leaf_months where tenant = any(${tenants}) group by 1, 2
      on conflict (tenant, store) do update set count = excluded.count, bytes = excluded.bytes,
        digest = excluded.digest, first_at = excluded.first_at, last_at = excluded.last_at`);
    await connection.query(sql`
      insert into tenant_days (tenant, day, count, bytes, digest, first_at, last_at)
      select tenant, day, sum(count), sum(bytes), mod(sum(digest), 18446744073709551616),
        min(first_at), max(last_at)
      from leaf_days where tenant = any(${tenants}) group by 1, 2
      on conflict (tenant, day) do update set count = excluded.count, bytes = excluded.bytes,
        digest = excluded.digest, first_at = excluded.first_at, last_at = excluded.last_at`);
    await connection.query(sql`
      insert into tenant_months (tenant, month, count, bytes, digest, first_at, last_at)
      select tenant, to_char(day, 'YYYY-MM'), sum(count), sum(bytes),
        mod(sum(digest), 18446744073709551616), min(first_at), max(last_at)
      from tenant_days where tenant = any(${tenants}) group by 1, 2
      on conflict (tenant, month) do update set count = excluded.count, bytes = excluded.bytes,
        digest = excluded.digest, first_at = excluded.first_at, last_at = excluded.last_at`);
    await connection.query(sql`
      insert into leaf_tenants (tenant, count, bytes, digest, first_at, last_at)
      select tenant, sum(count), sum(bytes), mod(sum(digest), 18446744073709551616), min(first_at),
        max(last_at)
      from leaf_stores where tenant = any(${tenants}) group by 1
      on conflict (tenant) do update set count = excluded.count, bytes = excluded.bytes,
        digest = excluded.digest, first_at = excluded.first_at, last_at = excluded.last_at`);
  }
}

/** Records of several stores and days, `perDay` of each. */
export function makeRecords(
  tenant: string,
  options: {
    days: readonly string[];
    stores?: readonly string[];
    perDay?: number;
    prefix?: string;
  },
): TestRecord[] {
  const { days, stores = ['DFW', 'ORD'], perDay = 5, prefix = 'e' } = options;
  return stores.flatMap((store) =>
    days.flatMap((day) =>
      Array.from({ length: perDay }, (_, n) => ({
        tenant,
        store,
        occurred_at: `${day}T${String(n % 24).padStart(2, '0')}:00:00.${String(n).padStart(6, '0')}Z`,
        event_id: `${prefix}-${n}`,
        kind: n % 3 === 0 ? null : 'tag',
        source: n % 2 === 0 ? '' : 'vision',
        confidence: '0.10',
        enrichment: JSON.stringify({ n, text: 'a "quoted"\nline' }),
      })),
    ),
  );
}
