import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { createTestDatabase } from '../../../test/database.ts';
import { listMigrations, newestMigration } from '../../platform/postgres/migrate.ts';
import { run } from '../testing/run.ts';

const migrate = (url: string) => run(['migrate'], { env: { DATABASE_URL: url } });

test('an empty database gets the whole schema, once, and nothing else is begun there', async () => {
  const db = await createTestDatabase();
  await db.query(sql`drop schema public cascade`);
  await db.query(sql`create schema public`);
  const names = await listMigrations();
  const first = await migrate(db.url);
  expect(first).toMatchObject({ code: 0, stderr: '' });
  expect(first.stdout.split('\n')).toEqual([
    ...names.map((name) => `applied ${name}`),
    `schema ${names.at(-1)}`,
    '',
  ]);
  expect(await migrate(db.url)).toMatchObject({ code: 0, stdout: `schema ${names.at(-1)}\n` });
  expect(await db.query(sql`select from access_tokens`)).toEqual([]);
  expect(await db.query(sql`select from processes`)).toEqual([]);
  await db.drop();
});

test('beside a process that would not survive it, it names that process and changes nothing', async () => {
  const db = await createTestDatabase();
  const newest = await newestMigration();
  await db.query(sql`delete from schema_migrations where name = ${newest}`);
  await db.query(sql`
    insert into processes (id, host, pid, version, node, roles, settings, migration)
    values ('p', 'elsewhere', 1, '0.0.9', 'v20', '{api}', '{}', '0000-older.sql')`);
  const { code, stderr } = await migrate(db.url);
  expect(code).toBe(1);
  expect(stderr).toContain('elsewhere:1 (0.0.9)');
  expect(await db.query(sql`select from schema_migrations where name = ${newest}`)).toEqual([]);
  await db.drop();
});
