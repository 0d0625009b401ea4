import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { useTestDatabase } from '../../test/database.ts';
import { untilLockWaits } from '../../test/one-server.ts';
import { allowLongLoads, finishMonth, makeMonths } from './restore-queries.ts';

const db = useTestDatabase();

test('a month waits for another one that becomes a part of the records, however long that takes', async () => {
  await db.withConnection((connection) => makeMonths(connection, ['2001-03']));
  let finishing = Promise.resolve();
  await db.transaction(async (other) => {
    await other.query(sql`lock enrichment_records in share update exclusive mode`);
    finishing = db.transaction(async (connection) => {
      await connection.query(sql`set local lock_timeout = 1`);
      await allowLongLoads(connection);
      await finishMonth(connection, '2001-03');
    });
    await Promise.race([finishing, untilLockWaits(db)]);
  });
  await finishing;
  const [month] = await db.query(sql`
    select inhrelid::regclass::text as name from pg_inherits where inhparent = 'enrichment_records'::regclass`);
  expect(month).toEqual({ name: 'enrichment_records_2001_03' });
});
