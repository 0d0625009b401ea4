import sql from 'sql-template-tag';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import { printSchema } from '../../../test/print-schema.ts';
import { migrate } from './migrate.ts';

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

test('schema.sql is what the migrations make', async () => {
  // After a new migration: npx vitest run packages/server/src/platform/postgres/migrate.db.test.ts -u
  await expect(await printSchema(db)).toMatchFileSnapshot('../../../migrations/schema.sql');
});

test('a second run changes nothing', async () => {
  expect(await migrate(db)).toEqual([]);
});

test('many processes starting at once migrate an empty database once', async () => {
  await db.pool.query('drop schema public cascade');
  await db.pool.query('create schema public');
  const runs = await Promise.all([migrate(db), migrate(db), migrate(db), migrate(db)]);
  expect(runs.filter((applied) => applied.length > 0)).toHaveLength(1);
  const names = runs.flat();
  expect(names.map((name) => Number(name.slice(0, 4)))).toEqual(names.map((_, index) => index + 1));
});

test('a database of a newer version is refused', async () => {
  await db.query(
    sql`insert into schema_migrations (name, checksum) values ('9999-future.sql', 'x')`,
  );
  await expect(migrate(db)).rejects.toMatchObject({
    code: 'database_unusable',
    detail: expect.stringContaining('9999-future.sql'),
  });
  await db.query(sql`delete from schema_migrations where name = '9999-future.sql'`);
});

test('an applied migration that was changed is refused', async () => {
  await db.query(sql`update schema_migrations set checksum = 'x' where name = '0001-access.sql'`);
  await expect(migrate(db)).rejects.toMatchObject({
    code: 'database_unusable',
    detail: expect.stringContaining('0001-access.sql'),
  });
});
