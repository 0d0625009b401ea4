import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { type TestDatabase, useTestDatabase } from '../../../test/database.ts';
import { untilLockWaits } from '../../../test/one-server.ts';
import { startTestService } from '../../../test/service.ts';
import { advisoryLocks } from '../../platform/postgres/locks.ts';
import { fewRows } from './queries.ts';
import { createPartitions } from './store-part.ts';
import { createRecords, postBatch } from './testing/post-records.ts';

const db = useTestDatabase();

test('the partitions of five years are made in three transactions, and those that exist are left alone', async () => {
  let transactions = 0;
  const counted: TestDatabase = {
    ...db,
    transaction(work, options) {
      transactions += 1;
      return db.transaction(work, options);
    },
  };
  const months = Array.from(
    { length: 60 },
    (_, n) => `${1990 + Math.floor(n / 12)}-${String((n % 12) + 1).padStart(2, '0')}`,
  );
  await createPartitions(db).ensure(['1991-05', '1991-05']);
  await createPartitions(counted).ensure(months);
  expect(transactions).toBe(3);
  const made = await db.query<{ name: string }>(sql`
    select relname as name from pg_inherits join pg_class on pg_class.oid = inhrelid
    where inhparent = 'enrichment_records'::regclass and relname like 'enrichment_records_199%' order by 1`);
  expect(made.map(({ name }) => name.slice(-7).replace('_', '-'))).toEqual(months);
});

test('a partition that another process has made is believed only when that has told all sessions', async () => {
  await createPartitions(db).ensure(['1989-01']);
  const maker = await db.openSession();
  // PostgreSQL shows a new row of the catalogue to others before it tells them so, and frees locks after both.
  await maker.query(sql`select pg_advisory_lock(${advisoryLocks.partitions})`);
  let isBelieved = false;
  const believing = createPartitions(db)
    .ensure(['1989-01'])
    .then(() => {
      isBelieved = true;
    });
  await Promise.race([untilLockWaits(db), believing]);
  expect(isBelieved).toBe(false);
  await maker.close();
  await believing;
});

test('a partition that is not found is looked for anew, by one record, by few and by many', async () => {
  const service = await startTestService();
  const record = createRecords();
  for (const count of [1, 1, 3, 2 * fewRows]) {
    const records = Array.from({ length: count }, () =>
      record({ occurred_at: '1984-06-01T00:00:00Z' }),
    );
    const { json } = await postBatch(service, ...records);
    expect(json).toMatchObject({ accepted: count });
    await service.db.query(sql`drop table enrichment_records_1984_06`);
  }
  await service.stop();
});
