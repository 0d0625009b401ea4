import sql from 'sql-template-tag';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import { startPooler } from '../../../test/pooler.ts';
import { openDatabase } from './open-database.ts';
import { refuseUnfit } from './probe.ts';

let db: TestDatabase;
let name: string;
let role: string;
beforeAll(async () => {
  db = await createTestDatabase();
  name = new URL(db.url).pathname.slice(1);
  role = `${name}_role`;
  await db.pool.query(`create role ${role} login password 'secret'`);
});
afterAll(async () => {
  await db.pool.query(`drop owned by ${role}; drop role ${role}`);
  await db.drop();
});

/** Tries the database by this URL, or by that of the test as somebody else, and returns the error or null. */
async function probe(change: { url?: string; as?: string; password?: string; to?: string } = {}) {
  const url = new URL(change.url ?? db.url);
  if (change.as !== undefined) [url.username, url.password] = [change.as, 'secret'];
  if (change.password !== undefined) url.password = change.password;
  if (change.to !== undefined) url.pathname = change.to;
  const through = openDatabase({ url: url.href, maxConnections: 2, onError: () => {} });
  try {
    return await refuseUnfit(through).then(
      () => null,
      (error: unknown) => error,
    );
  } finally {
    await through.close();
  }
}

const unfit = (text: string) =>
  expect.objectContaining({ code: 'database_unusable', detail: expect.stringContaining(text) });
const passing = expect.objectContaining({ code: 'database_unavailable' });

test('a database of ours is fit', async () => {
  expect(await probe()).toBe(null);
});

test('a wrong password, user or database is refused at once', async () => {
  expect(await probe({ as: role, password: 'wrong' })).toEqual(unfit('the user and the password'));
  expect(await probe({ as: 'nobody_such' })).toEqual(unfit('the user and the password'));
  expect(await probe({ to: '/no_such' })).toEqual(unfit('make the database'));
});

test('a role that may not connect is refused, one that has too many connections has to wait', async () => {
  await db.pool.query(`revoke connect on database ${name} from public`);
  expect(await probe({ as: role })).toEqual(unfit('grant connect'));
  await db.pool.query(`grant connect on database ${name} to public`);
  await db.pool.query(`alter role ${role} connection limit 0`);
  expect(await probe({ as: role })).toEqual(passing);
  await db.pool.query(`alter role ${role} connection limit -1`);
});

test('a server that does not answer is waited for', async () => {
  expect(await probe({ url: 'postgres://svcctl@127.0.0.1:1/svcctl' })).toEqual(passing);
  expect(await probe({ url: 'postgres:///svcctl?host=/nowhere&user=svcctl' })).toEqual(passing);
});

test('what the role lacks to make and change tables is named', async () => {
  expect(await probe({ as: role })).toEqual(unfit(`grant usage, create on schema public`));
  await db.pool.query(`grant create on schema public to ${role}`);
  expect(await probe({ as: role })).toEqual(unfit('The tables of svcctl belong to svcctl'));
  await db.pool.query(`alter table enrichment_records owner to ${role}`);
  expect(await probe({ as: role })).toEqual(null);
  await db.pool.query(`alter table enrichment_records owner to svcctl`);
});

test('a search path without a schema, or with another one before that of the tables, is refused', async () => {
  await db.pool.query(`alter role ${role} set search_path = nowhere`);
  expect(await probe({ as: role })).toEqual(unfit('search path nowhere'));
  await db.pool.query(`alter role ${role} set search_path = fresh, public`);
  await db.pool.query(`create schema fresh; grant all on schema fresh to ${role}`);
  expect(await probe({ as: role })).toEqual(
    unfit('in the schema public, and new ones would go to fresh'),
  );
  await db.pool.query(`drop schema fresh; alter role ${role} reset search_path`);
});

test('a role whose transactions only read is refused', async () => {
  await db.pool.query(`alter role ${role} set default_transaction_read_only = on`);
  expect(await probe({ as: role })).toEqual(unfit('default_transaction_read_only'));
  await db.pool.query(`alter role ${role} reset default_transaction_read_only`);
});

test('a database that does not hold UTF8 is refused', async () => {
  const other = `${name}_latin`;
  await db.pool.query(`create database ${other} encoding 'LATIN1' template template0`);
  expect(await probe({ to: `/${other}` })).toEqual(unfit('holds text as LATIN1'));
  await db.pool.query(`drop database ${other}`);
});

test('a pooler in transaction mode is refused', async () => {
  const pooler = await startPooler(db.url, 'transaction');
  expect(await probe({ url: pooler.url })).toEqual(unfit('pool_mode = session'));
  await pooler.close();
});

test('a pooler in session mode is fit, unless the URL has options that it does not know', async () => {
  const pooler = await startPooler(db.url, 'session');
  expect(await probe({ url: pooler.url })).toBe(null);
  const options = `${pooler.url}?options=-c%20jit%3Doff`;
  expect(await probe({ url: options })).toEqual(unfit('Leave it out of DATABASE_URL'));
  await pooler.close();
});

test('what a probe has locked and asked for ends with it', async () => {
  expect(await probe()).toBe(null);
  const left = () =>
    db.query(sql`select from pg_stat_activity where datname = ${name} and query like '%svcctl.probe%'
      and pid <> pg_backend_pid()`);
  await expect.poll(left).toEqual([]);
});
