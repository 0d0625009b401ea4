import { setImmediate } from 'node:timers/promises';
import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { useTestDatabase } from '../../../test/database.ts';
import { startDatabaseProxy } from '../../../test/database-proxy.ts';
import { copyCsv } from './copy.ts';
import { openDatabase } from './open-database.ts';

const db = useTestDatabase();

test('rows of any size come whole, with their number, and the connection goes on', async () => {
  const text = await db.withConnection(async (connection) => {
    const copy = copyCsv(
      connection,
      sql`select repeat('x', case when n % 2000 = 0 then 300000 else n % 7 end) as x
        from generate_series(1, 20000) n`,
      { header: true, quoted: ['x'] },
    );
    const chunks: Buffer[] = [];
    for await (const chunk of copy) chunks.push(chunk as Buffer);
    expect(await copy.counted).toBe(20_000);
    expect(await connection.query(sql`select 1 as n`)).toEqual([{ n: 1 }]);
    return Buffer.concat(chunks).toString();
  });
  const sizes = Array.from({ length: 20_000 }, (_, n) =>
    (n + 1) % 2000 === 0 ? 300_000 : (n + 1) % 7,
  );
  // A difference of megabytes is not to be printed.
  expect(text === `x\n${sizes.map((size) => `"${'x'.repeat(size)}"\n`).join('')}`).toBe(true);
});

test('the number of the rows is awaited when it comes in a later packet than the last row', async () => {
  const proxy = await startDatabaseProxy(db.url, { splitsAtCopyDone: true });
  const own = openDatabase({ url: proxy.url, maxConnections: 1, onError: () => {} });
  try {
    await own.withConnection(async (connection) => {
      const query = sql`select n from generate_series(1, 10) n`;
      const copy = copyCsv(connection, query, { header: false, quoted: [] });
      let text = '';
      for await (const chunk of copy) text += String(chunk);
      expect(text).toBe('1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n');
      expect(proxy.isHeld()).toBe(true);
      proxy.passOn();
      expect(await copy.counted).toBe(10);
      expect(await connection.query(sql`select 1 as n`)).toEqual([{ n: 1 }]);
    });
  } finally {
    await own.close();
    await proxy.close();
  }
});

test('a connection that is lost behind the last row has not counted the rows', async () => {
  const proxy = await startDatabaseProxy(db.url, { splitsAtCopyDone: true });
  const own = openDatabase({ url: proxy.url, maxConnections: 1, onError: () => {} });
  try {
    const copied = own.withConnection(async (connection) => {
      const copy = copyCsv(connection, sql`select 1 as n`, { header: false, quoted: [] });
      for await (const _chunk of copy);
      await proxy.close();
      return copy.counted;
    });
    await expect(copied).rejects.toThrow();
  } finally {
    await own.close();
  }
});

test.each([
  ['before the first row', sql`select 1 / 0 as x`],
  ['half-way', sql`select 1 / (5000 - n) as x from generate_series(1, 9000) n`],
])('a failure %s is thrown, and the connection goes on', async (_when, query) => {
  await db.withConnection(async (connection) => {
    const copy = copyCsv(connection, query, { header: false, quoted: [] });
    await expect(
      (async () => {
        for await (const _chunk of copy) await setImmediate();
      })(),
    ).rejects.toThrow(/division by zero/);
    expect(await connection.query(sql`select 1 as n`)).toEqual([{ n: 1 }]);
  });
});

test('a reader that takes nothing holds the server back, not its memory', async () => {
  await db.withConnection(async (connection) => {
    const copy = copyCsv(
      connection,
      sql`select repeat('x', 1000) as x from generate_series(1, 100000) n`,
      { header: false, quoted: [] },
    );
    const iterator = copy[Symbol.asyncIterator]();
    await iterator.next();
    for (let turn = 0; turn < 1000; turn += 1) await setImmediate();
    expect(copy.readableLength).toBeLessThan(2 * 2 ** 20);
    let bytes = 0;
    for await (const chunk of copy) bytes += (chunk as Buffer).length;
    expect(bytes).toBeGreaterThan(90_000_000);
  });
});

test('a COPY may take longer than any statement, and leaves no timer behind', async () => {
  const own = openDatabase({
    url: db.url,
    maxConnections: 1,
    onError: () => {},
    answerMillis: 200,
  });
  try {
    await own.withConnection(async (connection) => {
      const query = sql`select pg_sleep(0.01) as x from generate_series(1, 60)`;
      const before = countTimers();
      const copy = copyCsv(connection, query, { header: false, quoted: [] });
      let rows = 0;
      for await (const chunk of copy) rows += String(chunk).split('\n').length - 1;
      expect(rows).toBe(60);
      await setImmediate();
      expect(countTimers()).toBeLessThanOrEqual(before);
    });
    await expect(own.query(sql`select pg_sleep(60)`)).rejects.toThrow();
  } finally {
    await own.close();
  }
});

function countTimers(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
}
