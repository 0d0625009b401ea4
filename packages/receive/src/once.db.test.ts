import pg from 'pg';
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest';
import { useTestDatabase } from '../../server/test/database.ts';
import { hold } from '../../server/test/held-pace.ts';
import { untilLockWaits } from '../../server/test/one-server.ts';
import { inPostgres, type Once } from './once.ts';

const db = useTestDatabase();
const pools: pg.Pool[] = [];
afterAll(() => Promise.all(pools.map((pool) => pool.end())));

/** As another process has it: a pool of its own. */
function openPool(): pg.Pool {
  const pool = new pg.Pool({ connectionString: db.url, max: 4 });
  pool.on('error', () => {});
  pools.push(pool);
  return pool;
}

let here: Once<pg.PoolClient>;
let there: Once<pg.PoolClient>;
beforeEach(async () => {
  await db.pool.query('create table orders (id text)');
  here = inPostgres<pg.PoolClient>(openPool());
  there = inPostgres<pg.PoolClient>(openPool());
});
afterEach(() => db.pool.query('drop table if exists orders, received_webhooks'));

const order = (id: string) => (client: pg.PoolClient) =>
  client.query('insert into orders values ($1)', [id]);
const orders = async () =>
  (await db.pool.query('select id from orders order by id')).rows.map(({ id }) => id);

test('what the work writes with its client is written once, with the id', async () => {
  expect(await here('a', order('a'))).toBe(true);
  expect(await there('a', order('again'))).toBe(false);
  expect(await orders()).toEqual(['a']);
});

test('what failed has written nothing, and is done by the next attempt', async () => {
  const fail = async (client: pg.PoolClient) => {
    await order('half')(client);
    throw new Error('no');
  };
  await expect(here('a', fail)).rejects.toThrow('no');
  expect(await orders()).toEqual([]);
  expect(await there('a', order('a'))).toBe(true);
});

test('a statement that failed is not passed over', async () => {
  const fail = (client: pg.PoolClient) => client.query('select 1/0').catch(() => {});
  await expect(here('a', fail)).rejects.toThrow('A statement of the handler has failed');
  expect(await here('a', order('a'))).toBe(true);
});

test('of two processes one does it, and the other waits for that', async () => {
  await here('before', order('before'));
  for (const [id, isGood] of [
    ['good', true],
    ['bad', false],
  ] as const) {
    const [begun, gate] = [hold(), hold()];
    const first = here(id, async (client) => {
      await order(`${id} here`)(client);
      begun.resolve();
      await gate.promise;
    });
    await begun.promise;
    const second = there(id, order(`${id} there`));
    await untilLockWaits(db);
    if (isGood) gate.resolve();
    else gate.reject(new Error('no'));
    expect((await Promise.allSettled([first]))[0]?.status).toBe(isGood ? 'fulfilled' : 'rejected');
    expect(await second).toBe(!isGood);
  }
  expect(await orders()).toEqual(['bad there', 'before', 'good here']);
});

test('a connection that is lost in the middle ends nothing else, and the next attempt does it', async () => {
  const lose = async (client: pg.PoolClient) => {
    await order('lost')(client);
    const { rows } = await client.query('select pg_backend_pid() as pid');
    const closed = new Promise((resolve) => client.once('end', resolve));
    await db.pool.query('select pg_terminate_backend($1)', [rows[0].pid]);
    await closed;
  };
  await expect(here('a', lose)).rejects.toThrow();
  expect(await here('a', order('a'))).toBe(true);
  expect(await orders()).toEqual(['a']);
});

test('processes that begin at once make one table', async () => {
  const all = Array.from({ length: 8 }, (_, n) =>
    inPostgres<pg.PoolClient>(openPool())(`${n % 2}`, order(`${n % 2}`)),
  );
  expect((await Promise.all(all)).filter(Boolean)).toHaveLength(2);
  expect(await orders()).toEqual(['0', '1']);
});

test('ids go after their days, a few with each new one', async () => {
  await here('new', () => {});
  await db.pool.query(
    `insert into received_webhooks select 'old' || n, now() - interval '31 days' from generate_series(1, 15) n`,
  );
  await here('one', () => {});
  await here('two', () => {});
  const { rows } = await db.pool.query('select id from received_webhooks order by id');
  expect(rows.map(({ id }) => id)).toEqual(['new', 'one', 'two']);
});

test('a table may have a schema and a name of its own', async () => {
  await db.pool.query('create schema "order"');
  const once = inPostgres<pg.PoolClient>(openPool(), { table: 'order.select' });
  expect([await once('a', () => {}), await once('a', () => {})]).toEqual([true, false]);
  expect((await db.pool.query('select id from "order"."select"')).rows).toEqual([{ id: 'a' }]);
  for (const table of ['a"b', 'A', 'a.b.c', '', 'a;b', 'a'.repeat(50)]) {
    expect(() => inPostgres(openPool(), { table })).toThrow(
      expect.objectContaining({ code: 'option_invalid' }),
    );
  }
});
