import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import sql from 'sql-template-tag';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createDuckDb, type DuckDb } from '../../platform/duckdb.ts';
import { createLog } from '../../platform/log.ts';
import { createObjectReader } from '../../platform/objects/reader.ts';
import { createColdTier } from '../../records/read/cold-parquet.ts';
import { usualLimits } from '../../records/read/tier.ts';
import { deleteTenant } from './delete-tenant.ts';
import { removeObjects } from './run-move.ts';
import { dieAt } from './testing/points.ts';
import { addRecords, makeRecords, useTestMover } from './testing/test-mover.ts';
import { differences, journal, objectKeys, totals } from './testing/truth.ts';

// As much memory as a service gives DuckDB to move with.
const mover = useTestMover();
let duckdb: DuckDb;
beforeAll(async () => {
  duckdb = createDuckDb({
    memoryBytes: 128 * 2 ** 20,
    threads: 1,
    niceness: 0,
    tempDir: join(mover.context().spoolDir, 'duckdb'),
    log: createLog('silent'),
  });
});
afterAll(async () => {
  await duckdb.close();
});

const day = '2001-03-01';
const signal = new AbortController().signal;

/** Adds records of 250 KB to one store's day. */
async function addLarge(tenant: string, count: number, from = 0): Promise<void> {
  const noise = randomBytes(187_500).toString('base64');
  for (let at = from; at < from + count; at += 20) {
    const records = Array.from({ length: 20 }, (_, n) => ({
      tenant,
      store: 'DFW',
      occurred_at: `${day}T00:00:00.${String(at + n).padStart(6, '0')}Z`,
      event_id: `e${at + n}`,
      enrichment: JSON.stringify({ noise: noise.slice(at + n) + noise.slice(0, at + n) }),
    }));
    await addRecords(mover.db, records);
  }
}

async function readPages(tenant: string): Promise<number> {
  const log = createLog('silent');
  const dir = join(mover.context().spoolDir, 'reader');
  const objects = createObjectReader(mover.store, { dir, maxBytes: 2 ** 30, log });
  const tier = createColdTier(mover.db, { duckdb, objects }, usualLimits);
  let seen = 0;
  for (let after: readonly [string, string, string, string] | null = null; ; ) {
    const page = await tier.scan(
      { tenant, tenants: null },
      { after, descending: false, limit: 500 },
    );
    seen += page.rows.length;
    if (page.end === null) break;
    after = page.end;
  }
  await objects.close();
  return seen;
}

test('a day of records that are together larger than memory becomes several segments', async () => {
  await addLarge('large', 600);
  await addRecords(mover.db, makeRecords('large', { days: [day], perDay: 300 }));
  const before = await totals(mover, 'large');
  const dying = mover.move('large', day, { duckdb, ...dieAt('copied before') });
  await expect(dying).rejects.toThrow('killed');
  expect(await mover.move('large', day, { duckdb })).toMatchObject({
    movedCount: 1200,
    failedMoves: 0,
  });
  expect(await totals(mover, 'large')).toEqual(before);
  expect(await differences(mover, 'large')).toEqual([]);
  const segments = await mover.db.query<{ bytes: number }>(
    sql`select bytes from segments where tenant = 'large'`,
  );
  expect(segments.length).toBeGreaterThan(8);
  expect(Math.max(...segments.map(({ bytes }) => bytes))).toBeLessThan(32 * 2 ** 20);
  expect(await journal(mover, 'large')).toMatchObject([{ kind: 'move', state: 'removed' }]);

  await removeObjects(mover.context(), signal);
  expect(await objectKeys(mover)).toHaveLength(segments.length);
  expect(await readPages('large')).toBe(1200);

  await addLarge('large', 20, 600);
  expect(await mover.move('large', day, { duckdb })).toMatchObject({
    movedCount: 20,
    failedMoves: 0,
  });
  expect(await differences(mover, 'large')).toEqual([]);

  await mover.db.query(
    sql`insert into retention_policies (tenant, hot_days, delete_days) values ('large', 0, 1)`,
  );
  const gone = await deleteTenant(mover.context({ duckdb }), {
    tenant: 'large',
    lastDay: day,
    runId: null,
    signal,
  });
  expect(gone).toMatchObject({ deletedCount: 1220, failedMoves: 0 });
  expect(await differences(mover, 'large')).toEqual([]);
});
