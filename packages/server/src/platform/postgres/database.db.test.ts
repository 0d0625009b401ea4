import sql from 'sql-template-tag';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import { startDatabaseProxy } from '../../../test/database-proxy.ts';
import { outlast } from '../../../test/outlast.ts';
import { startPooler } from '../../../test/pooler.ts';
import { AppError } from '../../kernel/errors.ts';
import { copyCsv } from './copy.ts';
import type { Connection, Database } from './database.ts';
import { advisoryLocks, isHeldLock, tryLock } from './locks.ts';
import { openDatabase } from './open-database.ts';
import { openSnapshot } from './snapshot.ts';

let server: TestDatabase;
let db: Database;
beforeAll(async () => {
  server = await createTestDatabase();
  await server.query(sql`create table notes (n integer primary key)`);
  db = openDatabase({ url: server.url, maxConnections: 1, onError: () => {} });
});
afterAll(async () => {
  await db?.close();
  await server?.drop();
});

const backend = async () =>
  (await db.query<{ pid: number }>(sql`select pg_backend_pid() as pid`))[0]?.pid;
const countNotes = async () => (await db.query(sql`select n from notes`)).length;

test.each<[string, (connection: Connection) => Promise<unknown>]>([
  ['a plain 404', () => Promise.reject(new AppError('delivery_not_found'))],
  ['a statement that is refused', (connection) => connection.query(sql`select 1 / 0`)],
  ['a COPY that is refused', (connection) => readAll(connection, sql`select 1 / 0 as n`)],
])('%s undoes a transaction and keeps its connection', async (_what, fail) => {
  const before = await backend();
  const work = db.transaction(async (connection) => {
    await connection.query(sql`insert into notes values (1)`);
    await fail(connection);
  });
  await expect(work).rejects.toThrow();
  expect(await backend()).toBe(before);
  expect(await countNotes()).toBe(0);
});

test('a statement that is refused keeps its connection', async () => {
  const before = await backend();
  await expect(db.query(sql`select 1 / 0`)).rejects.toMatchObject({ code: 'request_invalid' });
  expect(await backend()).toBe(before);
});

test('a connection whose prepared statement has become stale is not lent again', async () => {
  await db.query(sql`create table shapes (a int)`);
  await db.query(sql`select * from shapes`);
  await db.query(sql`alter table shapes add column b int`);
  // The first may meet the connection that had prepared it; none after it does.
  await db.query(sql`select * from shapes`).catch(() => {});
  expect(await db.query(sql`select * from shapes`)).toEqual([]);
});

test('a connection that finds no partition is not lent again, one that fails a check is', async () => {
  await db.query(sql`create table parted (at int check (at > 0)) partition by range (at)`);
  const first = await backend();
  await expect(db.query(sql`insert into parted values (1)`)).rejects.toThrow('no partition');
  const second = await backend();
  expect(second).not.toBe(first);
  await db.query(sql`create table part partition of parted default`);
  await expect(db.query(sql`insert into parted values (0)`)).rejects.toThrow('check constraint');
  expect(await backend()).toBe(second);
});

test.each<[string, (connection: Connection) => Promise<unknown>]>([
  [
    'whose statement took too long',
    ({ client }) => {
      const late = { text: 'select pg_sleep(30)', query_timeout: 20 };
      return client.query(late);
    },
  ],
  [
    'whose COPY was cut',
    async (connection) => {
      const rows = sql`select repeat('x', 1000) as n from generate_series(1, 100000)`;
      for await (const _chunk of copyCsv(connection, rows, { header: false, quoted: [] })) {
        throw new AppError('delivery_not_found');
      }
    },
  ],
  [
    'that PostgreSQL ended',
    (connection) => connection.query(sql`select pg_terminate_backend(pg_backend_pid())`),
  ],
])('a connection %s is not lent again', async (_what, fail) => {
  const before = await backend();
  await expect(db.transaction(fail)).rejects.toThrow();
  expect(await backend()).not.toBe(before);
});

test('a connection that was cancelled is not lent again, though nothing failed', async () => {
  const pid = await server.transaction(async (connection) => {
    await connection.cancel();
    return (connection.client as unknown as { processID: number }).processID;
  });
  const left = () => server.query(sql`select from pg_stat_activity where pid = ${pid}`);
  await expect.poll(left).toEqual([]);
});

test('a long statement is awaited beyond the time of other answers, also in a snapshot', async () => {
  await db.withConnection((connection) => outlast(connection, { isLong: true }));
  await expect(db.withConnection((connection) => outlast(connection))).rejects.toMatchObject({
    code: 'database_unavailable',
  });
  const snapshot = await openSnapshot(db);
  await snapshot.read((connection) => outlast(connection));
  await snapshot.close();
});

async function readAll(connection: Connection, query: ReturnType<typeof sql>): Promise<void> {
  for await (const _chunk of copyCsv(connection, query, { header: false, quoted: [] }));
}

test('a session whose prepared statement has become unusable counts as lost', async () => {
  await server.query(sql`create table reshaped (a int)`);
  const session = await db.openSession();
  const read = () => session.query(sql`select a from reshaped`);
  await read();
  await expect(session.query(sql`select 1 / 0`)).rejects.toThrow();
  expect(session.lost.aborted).toBe(false);
  await server.query(sql`alter table reshaped alter a type bigint`);
  await expect(read()).rejects.toThrow();
  expect(session.lost.aborted).toBe(true);
  await session.close();
});

test('a transaction that its process leaves alone for long is undone, and its connection goes', async () => {
  const work = db.transaction(async (connection) => {
    await connection.query(sql`insert into notes values (3)`);
    await connection.query(sql`set local idle_in_transaction_session_timeout = 50`);
    const [own] = await connection.query<{ pid: number }>(sql`select pg_backend_pid() as pid`);
    const left = () => server.query(sql`select from pg_stat_activity where pid = ${own?.pid}`);
    await expect.poll(left).toEqual([]);
    await connection.query(sql`select 1`);
  });
  await expect(work).rejects.toMatchObject({ code: 'database_unavailable' });
  expect(await countNotes()).toBe(0);
  const [frozen] = await db.query(sql`show idle_in_transaction_session_timeout`);
  expect(frozen).toEqual({ idle_in_transaction_session_timeout: '1min' });
});

test('an idle connection that breaks is told without what it holds', async () => {
  const errors: Error[] = [];
  const onError = (error: Error) => errors.push(error);
  const own = openDatabase({ url: server.url, maxConnections: 1, onError });
  await own.query(sql`select 1`);
  own.cut();
  await expect.poll(() => errors).toHaveLength(1);
  expect(Object.keys(errors[0] ?? {})).toEqual([]);
  await own.close();
});

test('a statement whose answer its process does not read is given up', async () => {
  const proxy = await startDatabaseProxy(server.url);
  const through = openDatabase({ url: proxy.url, maxConnections: 1, onError: () => {} });
  let pid = 0;
  const work = through.transaction(async (connection) => {
    await connection.query(sql`set local tcp_user_timeout = 300`);
    pid = (connection.client as unknown as { processID: number }).processID;
    proxy.freezeAnswers();
    await connection.query(sql`select repeat('x', 1000000) from generate_series(1, 1000)`);
  });
  const failed = expect(work).rejects.toMatchObject({ code: 'database_unavailable' });
  const backend = () =>
    server.query(sql`select wait_event from pg_stat_activity where pid = ${pid}`);
  await expect.poll(backend).toEqual([{ wait_event: 'ClientWrite' }]);
  await expect.poll(backend, { timeout: 120_000 }).toEqual([]);
  proxy.thaw();
  await failed;
  await through.close();
  await proxy.close();
});

test('every connection has the settings that our SQL relies on, whatever the role has', async () => {
  const name = new URL(server.url).pathname.slice(1);
  const hostile = {
    timezone: 'Asia/Kolkata',
    datestyle: 'SQL, DMY',
    intervalstyle: 'sql_standard',
    bytea_output: 'escape',
    extra_float_digits: '-5',
    standard_conforming_strings: 'off',
    array_nulls: 'off',
    client_min_messages: 'error',
    default_transaction_isolation: 'serializable',
    synchronous_commit: 'off',
    statement_timeout: '5s',
    lock_timeout: '5s',
    transaction_timeout: '5s',
  };
  for (const [setting, value] of Object.entries(hostile)) {
    // Only PostgreSQL 17 and later have the last.
    const isKnown =
      (await server.query(sql`select from pg_settings where lower(name) = ${setting}`)).length > 0;
    if (isKnown) await server.pool.query(`alter database ${name} set ${setting} = '${value}'`);
  }
  const through = openDatabase({ url: server.url, maxConnections: 1, onError: () => {} });
  const session = await through.openSession();
  for (const own of [through, session]) {
    const [row] = await own.query(sql`
      select '2026-03-04'::date::text as date, '2026-03-04T05:06:07Z'::timestamptz::text as time,
        '1 day 2 hours'::interval::text as span, '\\x00ff'::bytea::text as bytes, 0.1::float8::text as number,
        ${[null]}::text[] as nulls, current_setting('synchronous_commit') as commit,
        current_setting('transaction_isolation') as isolation, current_setting('statement_timeout') as timeout,
        current_setting('lock_timeout') as lock, current_setting('client_min_messages') as told, coalesce(current_setting('transaction_timeout', true), '0') as whole`);
    expect(row).toEqual({
      date: '2026-03-04',
      time: '2026-03-04 05:06:07+00',
      span: '1 day 02:00:00',
      bytes: '\\x00ff',
      number: '0.1',
      nulls: [null],
      commit: 'on',
      isolation: 'read committed',
      timeout: '1min',
      lock: '10s',
      told: 'warning',
      whole: '0',
    });
  }
  await session.close();
  await through.close();
  await server.pool.query(`alter database ${name} reset all`);
});

test('a session finds nothing of the one that had its backend before, behind a pooler that resets nothing', async () => {
  const pooler = await startPooler(server.url, 'session');
  const through = openDatabase({ url: pooler.url, maxConnections: 1, onError: () => {} });
  const backends: unknown[] = [];
  const use = async () => {
    const session = await through.openSession();
    const [own] = await session.query(
      sql`select pg_backend_pid() as pid, now()::text ~ '^20' as is_iso`,
    );
    backends.push(own);
    await session.query(sql`set datestyle = 'SQL, DMY'`);
    await session.query(sql`listen anything`);
    expect(await tryLock(session, 'moves', 'mine')).toBe(true);
    await session.close();
  };
  await use();
  await use();
  expect(backends[0]).toMatchObject({ is_iso: true });
  expect(backends[1]).toEqual(backends[0]);
  const session = await through.openSession();
  expect(await session.query(sql`select pid from pg_locks where ${isHeldLock('moves')}`)).toEqual(
    [],
  );
  expect(await session.query(sql`select pg_listening_channels()`)).toEqual([]);
  await session.close();
  await through.close();
  await pooler.close();
});

test('what runs behind a pooler is cancelled', async () => {
  const pooler = await startPooler(server.url, 'session');
  const through = openDatabase({ url: pooler.url, maxConnections: 2, onError: () => {} });
  const work = through.withConnection(async (connection) => {
    const long = connection.query(sql`select pg_sleep(9)`);
    const isRunning = () =>
      server.query(
        sql`select from pg_stat_activity where query like '%pg_sleep(9)' and wait_event = 'PgSleep'`,
      );
    await expect.poll(isRunning).toHaveLength(1);
    await Promise.all([long, connection.cancel()]);
  });
  await expect(work).rejects.toMatchObject({ code: 'query_timeout' });
  await through.close();
  await pooler.close();
});

test('a connection that its process leaves alone is ended, with the locks of its session', async () => {
  const [left] = await db.query(sql`show idle_session_timeout`);
  expect(left).toEqual({ idle_session_timeout: '90s' });
});

test('a session keeps its locks while its process lives, and loses them when that is frozen', async () => {
  const proxy = await startDatabaseProxy(server.url);
  const through = openDatabase({ url: proxy.url, maxConnections: 1, onError: () => {} });
  const session = await through.openSession({ silenceSeconds: 0.4 });
  await session.query(sql`select pg_advisory_lock(${advisoryLocks.moves}, 1)`);
  const holder = async () =>
    (
      await server.query<{ at: string }>(sql`
        select state_change::text as at from pg_stat_activity
        where pid in (select pid from pg_locks where ${isHeldLock('moves')})`)
    )[0]?.at;
  const signs = new Set<string | undefined>();
  await expect.poll(async () => signs.add(await holder()).size).toBeGreaterThan(6);
  expect(signs).not.toContain(undefined);
  proxy.freeze();
  await expect.poll(holder).toBe(undefined);
  expect(session.lost.aborted).toBe(false);
  proxy.thaw();
  await expect.poll(() => session.lost.aborted).toBe(true);
  await session.close();
  await through.close();
  await proxy.close();
});

/** All that the program does with connections; what fails says that the database is away. */
async function useConnections(through: Database): Promise<void> {
  const steps: (() => Promise<unknown>)[] = [
    () => through.query(sql`select 1`),
    () => through.query(sql`select 1`),
    () =>
      through.transaction(async (connection) => {
        await connection.query(sql`insert into notes values (2)`);
        throw new AppError('delivery_not_found');
      }),
    () => through.transaction((connection) => readAll(connection, sql`select 1 as n`)),
    () => through.withConnection((connection) => connection.query(sql`select 1`)),
    async () => {
      const session = await through.openSession();
      try {
        await session.query(sql`select 1`);
      } finally {
        await session.close();
      }
    },
  ];
  for (const step of steps) {
    const error = await step().catch((thrown: unknown) => thrown);
    if (error instanceof Error) {
      expect(error).toMatchObject({
        code: expect.stringMatching(/^(database_unavailable|delivery_not_found)$/),
      });
    }
    // Between two uses too.
    await new Promise(setImmediate);
  }
}

test.each([
  ['in one packet with', true],
  ['just behind', false],
])('the process survives a FATAL %s any ReadyForQuery', async (_how, isSamePacket) => {
  let isInjected = true;
  for (let fatalAt = 1; isInjected; fatalAt += 1) {
    const proxy = await startDatabaseProxy(server.url, { fatalAt, isSamePacket });
    const through = openDatabase({ url: proxy.url, maxConnections: 2, onError: () => {} });
    await useConnections(through);
    await through.close();
    isInjected = proxy.seen() >= fatalAt;
    await proxy.close();
  }
  expect(await countNotes()).toBe(0);
});

test.each([
  ['53100', 'database_full', 30],
  ['53200', 'database_out_of_memory', 5],
])('SQLSTATE %s becomes %s', async (state, code, retryAfterSeconds) => {
  await expect(db.query(sql`select refuse(${state})`)).rejects.toMatchObject({
    code,
    retryAfterSeconds,
  });
});

test('a database that takes no connections for a while, as while it is cloned, is unavailable', async () => {
  const closed = await createTestDatabase();
  const admin = openDatabase({ url: inject('postgresUrl'), maxConnections: 1, onError: () => {} });
  const name = new URL(closed.url).pathname.slice(1);
  await admin.pool.query(`alter database ${name} with allow_connections false`);
  await expect(closed.query(sql`select 1`)).rejects.toMatchObject({ code: 'database_unavailable' });
  await admin.pool.query(`alter database ${name} with allow_connections true`);
  expect(await closed.query(sql`select 1 as one`)).toEqual([{ one: 1 }]);
  await admin.close();
  await closed.drop();
});

test('a password that is no longer right, or a database that is gone, makes it unavailable', async () => {
  const role = `${new URL(server.url).pathname.slice(1)}_role`;
  await server.pool.query(`create role ${role} login password 'new'`);
  for (const change of [{ username: role, password: 'old' }, { pathname: '/gone' }]) {
    const { href: url } = Object.assign(new URL(server.url), change);
    const through = openDatabase({ url, maxConnections: 1, onError: () => {} });
    const unavailable = { code: 'database_unavailable' };
    await expect(through.query(sql`select 1`)).rejects.toMatchObject(unavailable);
    await expect(through.openSession()).rejects.toMatchObject(unavailable);
    await through.close();
  }
  await server.pool.query(`drop role ${role}`);
});

test('remembers the statements that took long, by their text', async () => {
  const slow = openDatabase({
    url: server.url,
    maxConnections: 1,
    onError: () => {},
    slowMillis: 200,
  });
  await slow.query(sql`select 1 as one`);
  await slow.query(sql`select pg_sleep(${0.3}) is null as slept`);
  const session = await slow.openSession();
  await session.query(sql`select pg_sleep(${0.25}) is null as slept`);
  await session.close();
  expect(slow.listSlow()).toMatchObject([
    { text: 'select pg_sleep($1) is null as slept', count: 2, totalMillis: expect.any(Number) },
  ]);
  await slow.close();
});
