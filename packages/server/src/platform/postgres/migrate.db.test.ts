import { readdir, readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import sql from 'sql-template-tag';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import { printSchema } from '../../../test/print-schema.ts';
import { advisoryLocks } from './locks.ts';
import { listNewerMigrations, migrate, requireSurvivors } from './migrate.ts';
import { openDatabase } from './open-database.ts';
import { checkSchema } from './schema-check.ts';

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
  const url = new URL(db.url);
  url.pathname += '_empty';
  const name = url.pathname.slice(1);
  await db.pool.query(`create database ${name} template template0`);
  const empty = openDatabase({ url: url.href, maxConnections: 8, onError: () => {} });
  const runs = await Promise.all(Array.from({ length: 4 }, () => migrate(empty)));
  await empty.close();
  await db.pool.query(`drop database ${name} with (force)`);
  expect(runs.filter((applied) => applied.length > 0)).toHaveLength(1);
  const names = runs.flat();
  const numbers = names.map((name) => Number(name.slice(0, 4)));
  expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b));
});

test('a migration waits for a lock no longer than others can wait behind it, and is tried again', async () => {
  await db.query(sql`drop table limit_use`);
  await db.query(sql`delete from schema_migrations where name like '%-limits.sql'`);
  const migrating = await db.withConnection(async ({ client }) => {
    await client.query('begin; create table limit_use ()');
    const started = migrate(db);
    const isWaiting = async () => {
      const waiting = await db.query(sql`
        select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`);
      return waiting.length > 0;
    };
    await until(isWaiting);
    await until(async () => !(await isWaiting()));
    await client.query('rollback');
    return { started };
  });
  expect(await migrating.started).toEqual([expect.stringMatching(/-limits\.sql$/)]);
});

test('a migration that a live process does not survive is refused, and that process is named', async () => {
  await db.query(sql`drop table limit_use`);
  await db.query(sql`delete from schema_migrations where name like '%-limits.sql'`);
  await db.query(sql`
    insert into processes (id, host, pid, version, node, roles, settings, migration, since)
    values ('a', 'web-1', 41, '0.1.0+abc1234', 'v20', '{api}', '{}', '0010-x.sql', now()),
      -- It does not say what it knows, and started when the database had nothing yet.
      ('b', 'web-2', 7, '0.0.9', 'v20', '{api}', '{}', null, '2000-01-01'),
      -- It was killed on this machine.
      ('c', ${hostname()}, 4194305, '0.0.8', 'v20', '{api}', '{}', '0010-x.sql', now()),
      ('f', 'web-5', 5, '0.1.0', 'v20', '{api}', '{}', '0016-tenant-months.sql', now())`);
  await db.query(sql`
    insert into processes (id, host, pid, version, node, roles, settings, seen_at)
    values ('d', 'web-3', 3, '0.0.7', 'v20', '{api}', '{}', now() - interval '1 minute')`);
  const told =
    /-limits\.sql, beside which processes that run now cannot work: web-2:7 \(0\.0\.9\), web-1:41 \(0\.1\.0\+abc1234\)\. Stop/;
  await expect(migrate(db)).rejects.toMatchObject({
    code: 'database_unusable',
    detail: matching(told),
  });
  expect((await checkSchema(db)).problem).toMatch(told);
  await db.query(sql`delete from processes where id in ('a', 'b')`);
  expect((await checkSchema(db)).problem).toBeNull();
  expect(await migrate(db)).toEqual([expect.stringMatching(/-limits\.sql$/)]);

  // One that does not say that the previous release survives it.
  const breaking = { name: '9999-x.sql', text: 'drop table leaf_days', checksum: '' };
  await expect(requireSurvivors(db, [breaking])).rejects.toMatchObject({
    detail: matching(/9999-x\.sql.*web-5:5 \(0\.1\.0\)/),
  });
  await db.query(sql`delete from processes`);
  await requireSurvivors(db, [breaking]);
});

const matching = (pattern: RegExp) => expect.stringMatching(pattern);

test('a migration that is told to stop neither waits for another process nor leaves anything half', async () => {
  await db.query(sql`drop table limit_use`);
  await db.query(sql`delete from schema_migrations where name like '%-limits.sql'`);
  const waitFor = (kind: string) =>
    until(async () => {
      const waiting = await db.query(sql`
        select from pg_stat_activity
        where wait_event_type = 'Lock' and wait_event = ${kind} and datname = current_database()`);
      return waiting.length > 0;
    });
  const stopWhileWaiting = async (kind: string) => {
    const stop = new AbortController();
    const migrating = expect(migrate(db, stop.signal)).rejects.toThrow('enough');
    await waitFor(kind);
    stop.abort(new Error('enough'));
    await migrating;
  };
  await db.withConnection(async ({ client }) => {
    await client.query('begin; create table limit_use ()');
    await stopWhileWaiting('transactionid');
    const held = `select pg_advisory_xact_lock(${advisoryLocks.migrations})`;
    await client.query(`rollback; begin; ${held}`);
    await stopWhileWaiting('advisory');
    await client.query('rollback');
  });
  expect(await migrate(db)).toEqual([expect.stringMatching(/-limits\.sql$/)]);
});

test('every migration since the previous release says whether that survives it', async () => {
  const folder = new URL('../../../migrations/', import.meta.url);
  const names = (await readdir(folder)).filter((name) => /^\d{4}-/.test(name) && name > '0017');
  expect(names).not.toEqual([]);
  for (const name of names) {
    const text = await readFile(new URL(name, folder), 'utf8');
    expect(text, name).toMatch(
      /^-- The previous release (survives|does not survive) this migration/m,
    );
  }
});

test('a release works on a database of the next one, and refuses one that it cannot work on', async () => {
  const insert = (needs: string | null) =>
    db.query(sql`
      insert into schema_migrations (name, checksum, needs) values ('9999-future.sql', 'x', ${needs})
      on conflict (name) do update set needs = excluded.needs`);
  await insert('0016-tenant-months.sql');
  expect(await migrate(db)).toEqual([]);
  expect(await listNewerMigrations(db)).toEqual([{ name: '9999-future.sql', isSurvived: true }]);
  for (const needs of ['9998-future.sql', null]) {
    await insert(needs);
    await expect(migrate(db)).rejects.toMatchObject({
      code: 'database_unusable',
      detail: expect.stringContaining('9999-future.sql'),
    });
  }
  await db.query(sql`delete from schema_migrations where name = '9999-future.sql'`);
});

test('what was applied before releases could work side by side is known again', async () => {
  await db.query(sql`alter table schema_migrations drop column needs`);
  expect(await migrate(db)).toEqual([]);
  expect(await listNewerMigrations(db)).toEqual([]);
});

test('an applied migration that was changed is refused', async () => {
  await db.query(sql`update schema_migrations set checksum = 'x' where name = '0001-access.sql'`);
  await expect(migrate(db)).rejects.toMatchObject({
    code: 'database_unusable',
    detail: expect.stringContaining('0001-access.sql'),
  });
});

async function until(probe: () => Promise<boolean>): Promise<void> {
  while (!(await probe()));
}
