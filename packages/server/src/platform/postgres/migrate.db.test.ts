import { hostname } from 'node:os';
import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import {
  createTestDatabase,
  type TestDatabase,
  useTestDatabase,
  writeOldJournal,
} from '../../../test/database.ts';
import { printSchema } from '../../../test/print-schema.ts';
import { baseline, lastReplaced, replaced } from './baseline.ts';
import type { Database } from './database.ts';
import { advisoryLocks } from './locks.ts';
import {
  checkSchema,
  listMigrations,
  listNewerMigrations,
  migrate,
  newestApplied,
  readJournal,
  readMigrations,
  requireSurvivors,
} from './migrate.ts';
import { openDatabase } from './open-database.ts';

const db = useTestDatabase();
/** What came after the baseline. */
const later = (await listMigrations()).filter((name) => name !== baseline);

test('schema.sql is what the migrations make', async () => {
  // After a new migration: npx vitest run packages/server/src/platform/postgres/migrate.db.test.ts -u
  await expect(await printSchema(db)).toMatchFileSnapshot('../../../migrations/schema.sql');
});

test('a second run changes nothing', async () => {
  expect(await migrate(db)).toEqual([]);
});

test('many processes starting at once migrate an empty database once', async () => {
  await withEmptyDatabase(async (empty) => {
    const runs = await Promise.all(Array.from({ length: 4 }, () => migrate(empty)));
    expect(runs.filter((applied) => applied.length > 0)).toHaveLength(1);
    const names = runs.flat();
    const numbers = names.map((name) => Number(name.slice(0, 4)));
    expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b));
  });
});

test('a migration waits for a lock no longer than others can wait behind it, and is tried again', async () => {
  await withEmptyDatabase(async (empty) => {
    const migrating = await empty.withConnection(async ({ client }) => {
      await client.query('begin; create table limit_use ()');
      const started = migrate(empty);
      await until(async () => (await listWaits(empty)).length > 0);
      await until(async () => (await listWaits(empty)).length === 0);
      await client.query('rollback');
      return { started };
    });
    expect(await migrating.started).toContain(baseline);
  });
});

test('a migration that a live process does not survive is refused, and that process is named', async () => {
  await db.query(sql`
    insert into processes (id, host, pid, version, node, roles, settings, migration, since)
    values ('a', 'web-1', 41, '0.1.0+abc1234', 'v20', '{api}', '{}', '0000-x.sql', now()),
      ('b', 'web-2', 7, '0.0.9', 'v20', '{api}', '{}', null, '2000-01-01'),
      -- It was killed on this machine.
      ('c', ${hostname()}, 4194305, '0.0.8', 'v20', '{api}', '{}', '0000-x.sql', now()),
      ('e', 'web-4', 4, '0.1.0', 'v20', '{api}', '{}', ${lastReplaced}, now()),
      ('f', 'web-5', 5, '0.1.0', 'v20', '{api}', '{}', ${baseline}, now())`);
  await db.query(sql`
    insert into processes (id, host, pid, version, node, roles, settings, seen_at)
    values ('d', 'web-3', 3, '0.0.7', 'v20', '{api}', '{}', now() - interval '1 minute')`);
  const survived = '-- The previous release survives this migration.';
  const harmless = { name: '0002-x.sql', text: survived, checksum: '' };
  await expect(requireSurvivors(db, [harmless])).rejects.toMatchObject({
    code: 'database_unusable',
    detail: matching(
      /0002-x\.sql, beside which processes that run now cannot work: web-2:7 \(0\.0\.9\), web-1:41 \(0\.1\.0\+abc1234\)\. Stop/,
    ),
  });
  await db.query(sql`delete from processes where id in ('a', 'b')`);
  await requireSurvivors(db, [harmless]);

  // One that does not say that the previous release survives it.
  const [row] = await db.query<{ checksum: string }>(
    sql`delete from schema_migrations where name = ${baseline} returning checksum`,
  );
  const told = /0001-baseline\.sql, beside .* work: web-4:4 \(0\.1\.0\), web-5:5 \(0\.1\.0\)\./;
  await expect(migrate(db)).rejects.toMatchObject({ detail: matching(told) });
  expect((await checkSchema(db)).problem).toMatch(told);
  await db.query(sql`delete from processes`);
  expect((await checkSchema(db)).problem).toBeNull();
  await db.query(
    sql`insert into schema_migrations (name, checksum) values (${baseline}, ${row?.checksum})`,
  );
});

const matching = (pattern: RegExp) => expect.stringMatching(pattern);

test('a migration that is told to stop neither waits for another process nor leaves anything half', async () => {
  await withEmptyDatabase(async (empty) => {
    const stopWhileWaiting = async (kind: string) => {
      const stop = new AbortController();
      const migrating = expect(migrate(empty, stop.signal)).rejects.toThrow('enough');
      await until(async () => (await listWaits(empty)).includes(kind));
      stop.abort(new Error('enough'));
      await migrating;
    };
    await empty.withConnection(async ({ client }) => {
      await client.query('begin; create table limit_use ()');
      await stopWhileWaiting('transactionid');
      const held = `select pg_advisory_xact_lock(${advisoryLocks.migrations})`;
      await client.query(`rollback; begin; ${held}`);
      await stopWhileWaiting('advisory');
      await client.query('rollback');
    });
    expect(await migrate(empty)).toContain(baseline);
  });
});

test('every migration since the first release says whether the previous release survives it', async () => {
  for (const { name, text } of await readMigrations()) {
    if (name === baseline) continue;
    expect(text, name).toMatch(
      /^-- The previous release (survives|does not survive) this migration/m,
    );
  }
});

test('a migration leaves tables as the release before writes them, and adds no value to what it reads', async () => {
  const isSurvived = /^-- The previous release survives this migration/m;
  await withEmptyDatabase(async (empty) => {
    const look = () => empty.query<Column>(columns);
    let before: Column[] = [];
    for (const { name, text } of await readMigrations()) {
      await empty.withConnection(({ client }) => client.query(text));
      const after = await look();
      if (isSurvived.test(text)) expect(listFaults(before, after), name).toEqual([]);
      before = after;
    }
  });
});

type Column = { table: string; column: string; type: string; must: boolean; checks: string };
const columns = sql`
  select c.relname as table, a.attname as column, format_type(a.atttypid, a.atttypmod) as type,
    a.attnotnull and not a.atthasdef and a.attidentity = '' as must,
    (select coalesce(string_agg(pg_get_constraintdef(k.oid), ' ' order by k.conname), '') from pg_constraint k
      where k.conrelid = c.oid and k.contype = 'c' and k.conkey = array[a.attnum]) as checks
  from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')`;

/** Which columns of tables that were there before the writers of before do not give, or readers of before do not know. */
function listFaults(before: readonly Column[], after: readonly Column[]): string[] {
  const placeOf = ({ table, column }: Column) => `${table}.${column}`;
  const now = new Map(after.map((each) => [placeOf(each), each]));
  const [was, tables] = [
    new Map(before.map((each) => [placeOf(each), each])),
    new Set(before.map(({ table }) => table)),
  ];
  const changed = before.flatMap((old) => {
    const next = now.get(placeOf(old));
    if (next === undefined) return [`${placeOf(old)} is gone`];
    if (next.type !== old.type || (next.must && !old.must)) return [`${placeOf(old)} has changed`];
    return next.checks === old.checks ? [] : [`${placeOf(old)}: ${old.checks} → ${next.checks}`];
  });
  const added = after.filter(
    (each) => each.must && tables.has(each.table) && !was.has(placeOf(each)),
  );
  return [...changed, ...added.map((each) => `${placeOf(each)} must be given`)];
}

test('a database of the last build before the baseline goes on, and only that is noted', async () => {
  const old = await createOldDatabase();
  await writeOldJournal(old);
  const before = await readJournal(old);
  expect(before).toHaveLength(39);
  const state = { newer: [], problem: null };
  expect(await checkSchema(old)).toEqual({ ...state, database: baseline, missing: later });
  expect(await readJournal(old)).toEqual(before);
  expect(await migrate(old)).toEqual(later);
  expect(await migrate(old)).toEqual([]);
  // Builds that know nothing of the baseline find what they have applied, and that they survive what is new.
  const [made] = await readMigrations();
  const noted = { name: baseline, checksum: made?.checksum, needs: lastReplaced };
  const after = (await readJournal(old)).filter(({ name }) => !later.includes(name));
  expect(after.filter(({ name }) => name !== baseline)).toEqual(before);
  expect(after.filter(({ name }) => name === baseline)).toEqual([noted]);
  expect(await printSchema(old)).toBe(await printSchema(db));
  const newest = later.at(-1) ?? baseline;
  expect(await checkSchema(old)).toEqual({ ...state, database: newest, missing: [] });
  expect(await listNewerMigrations(old)).toEqual([]);
  expect(await old.query(newestApplied)).toEqual([{ name: newest }]);
  await old.drop();
});

test('one of an earlier build is refused with what to start first, and stays as it is', async () => {
  const old = await createOldDatabase();
  const without = new Map([...replaced].slice(0, -1));
  const other = new Map([...replaced, ['0014-ingest.sql', 'x']]);
  for (const [journal, gap] of [
    [without, '0040-process-schema.sql'],
    [other, '0014-ingest.sql'],
    [new Map([...replaced].slice(0, 3)), '0004-webhooks.sql'],
  ] as const) {
    await writeOldJournal(old, journal);
    const before = await readJournal(old);
    const told = matching(new RegExp(`not all: ${gap} is missing .*"schema ${lastReplaced}"`));
    await expect(migrate(old)).rejects.toMatchObject({ code: 'database_older', detail: told });
    expect(await checkSchema(old)).toEqual({
      database: [...journal.keys()].at(-1),
      missing: later,
      newer: [],
      problem: told,
    });
    expect(await readJournal(old)).toEqual(before);
  }
  // Early builds kept no column `needs`.
  await old.query(sql`alter table schema_migrations drop column needs`);
  await expect(migrate(old)).rejects.toMatchObject({ code: 'database_older' });
  const columns = await old.query(
    sql`select from information_schema.columns where table_name = 'schema_migrations'`,
  );
  expect(columns).toHaveLength(3);
  await old.drop();
});

test('no migration has the name of one that the baseline replaced', async () => {
  const names = (await readMigrations()).map(({ name }) => name);
  expect(names.filter((name) => replaced.has(name))).toEqual([]);
});

test('a release works on a database of the next one, and refuses one that it cannot work on', async () => {
  const insert = (needs: string | null) =>
    db.query(sql`
      insert into schema_migrations (name, checksum, needs) values ('9999-future.sql', 'x', ${needs})
      on conflict (name) do update set needs = excluded.needs`);
  await insert(baseline);
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

test('an applied migration that was changed is refused', async () => {
  await db.query(sql`update schema_migrations set checksum = 'x' where name = ${baseline}`);
  await expect(migrate(db)).rejects.toMatchObject({
    code: 'database_unusable',
    detail: expect.stringContaining(baseline),
  });
});

/** A database as the baseline makes it. */
async function createOldDatabase(): Promise<TestDatabase> {
  const old = await createTestDatabase();
  await old.query(sql`drop schema public cascade`);
  await old.query(sql`create schema public`);
  await migrate(old, undefined, { only: new Set([baseline]) });
  return old;
}

/** Does `work` with a database that has no tables. */
async function withEmptyDatabase(work: (empty: Database) => Promise<void>): Promise<void> {
  const url = new URL(db.url);
  url.pathname += '_empty';
  const name = url.pathname.slice(1);
  await db.pool.query(`create database ${name} template template0`);
  const empty = openDatabase({ url: url.href, maxConnections: 8, onError: () => {} });
  await work(empty);
  await empty.close();
  await db.pool.query(`drop database ${name} with (force)`);
}

/** The kinds of locks that sessions on a database wait for. */
async function listWaits(on: Database): Promise<string[]> {
  const rows = await on.query<{ kind: string }>(sql`
    select wait_event as kind from pg_stat_activity
    where wait_event_type = 'Lock' and datname = current_database()`);
  return rows.map(({ kind }) => kind);
}

async function until(probe: () => Promise<boolean>): Promise<void> {
  while (!(await probe()));
}
