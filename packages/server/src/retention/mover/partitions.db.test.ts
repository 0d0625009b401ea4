import sql from 'sql-template-tag';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { addRecords, makeRecords, startTestMover, type TestMover } from './testing/test-mover.ts';
import { differences } from './testing/truth.ts';

let mover: TestMover;
beforeAll(async () => {
  mover = await startTestMover();
});
afterAll(() => mover.stop());

async function sizeOf(partition: string): Promise<number> {
  const rows = await mover.db.query<{ size: number }>(
    sql`select pg_total_relation_size(${partition}::regclass) as size`,
  );
  return rows[0]?.size ?? -1;
}

test('a month without hot records gives its space back; one with some does not', async () => {
  const perDay = 1500;
  await addRecords(mover.db, makeRecords('TX', { days: ['2001-03-10', '2001-04-10'], perDay }));
  await addRecords(mover.db, makeRecords('AA', { days: ['2001-04-10'], perDay: 1 }));
  const full = await sizeOf('enrichment_records_2001_03');
  expect(full).toBeGreaterThan(131_072);
  await mover.move('TX', '2001-05-31');
  // The move's last day is 2001-04-10: April is not over by it.
  expect(await sizeOf('enrichment_records_2001_03')).toBeLessThan(50_000);
  expect(await sizeOf('enrichment_records_2001_04')).toBeGreaterThan(131_072);

  await addRecords(mover.db, makeRecords('TX', { days: ['2001-05-10'] }));
  await mover.move('TX', '2001-05-31');
  expect(await sizeOf('enrichment_records_2001_04')).toBeGreaterThan(131_072);
  expect(await differences(mover, 'TX')).toEqual([]);
  expect(await differences(mover, 'AA')).toEqual([]);
});

test('a month that a snapshot still reads is left, and freed later', async () => {
  await addRecords(mover.db, makeRecords('BB', { days: ['2001-06-10'], perDay: 1500 }));
  await addRecords(mover.db, makeRecords('BB', { days: ['2001-07-10', '2001-08-10'] }));
  await mover.db.transaction(
    async (connection) => {
      await connection.query(sql`select count(*) from leaf_tenants`);
      await mover.move('BB', '2001-07-10');
      const [seen] = await connection.query(
        sql`select count(*) as count from enrichment_records where tenant = 'BB'`,
      );
      expect(seen).toEqual({ count: 3020 });
    },
    { isolation: 'repeatable read' },
  );
  expect(await sizeOf('enrichment_records_2001_06')).toBeGreaterThan(131_072);
  await mover.move('BB', '2001-08-10');
  expect(await sizeOf('enrichment_records_2001_06')).toBeLessThan(50_000);
});
