import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sql from 'sql-template-tag';
import { createTestDatabase, type TestDatabase } from '../../../../test/database.ts';
import { use } from '../../../../test/use.ts';
import { createDuckDb, type DuckDb } from '../../../platform/duckdb.ts';
import { createLog } from '../../../platform/log.ts';
import { createStoreFence, type StoreFence } from '../../../platform/objects/fence.ts';
import { createFileStore } from '../../../platform/objects/file-system.ts';
import type { ObjectStore } from '../../../platform/objects/objects.ts';
import type { Connection } from '../../../platform/postgres/database.ts';
import { unpaced } from '../../../platform/work/pace.ts';
import { createPartitions } from '../../../records/ingest/store-part.ts';
import { recountDays, recountSums } from '../../verify/counter-queries.ts';
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

/** A database, DuckDB, a store of files and movers; or a copy of another one's database, on its store and DuckDB. */
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
      db,
      duckdb,
      store,
      fence,
      spoolDir,
      runner,
      graceSeconds: 0,
      log,
      pace: unpaced,
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

/** Such a world for all tests of a file. */
export function useTestMover(): TestMover {
  return use(
    () => startTestMover(),
    (mover) => mover.stop(),
  );
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
    await countAnew(
      connection,
      records.map(({ tenant }) => tenant),
    );
  });
}

/** Counts the records of tenants anew, from hot records and catalogue. */
async function countAnew(connection: Connection, tenants: Iterable<string>): Promise<void> {
  for (const tenant of new Set(tenants)) {
    await recountDays(connection, tenant, { first: '1970-01-01', last: '2999-12-31' });
    await recountSums(connection, tenant);
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
