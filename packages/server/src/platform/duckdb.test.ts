import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { useFolder } from '../../test/folder.ts';
import { createDuckDb, type DuckDb, DuckDbError, literal } from './duckdb.ts';
import { createLog } from './log.ts';
import { mayPass } from './objects/s3-errors.ts';

const dir = useFolder('once');
let duckdb: DuckDb;

const create = (more: Partial<Parameters<typeof createDuckDb>[0]> = {}) =>
  createDuckDb({
    memoryBytes: 128 * 2 ** 20,
    threads: 1,
    tempDir: dir.path,
    niceness: 0,
    log: createLog('silent'),
    ...more,
  });

beforeAll(async () => {
  duckdb = create({ threads: 2, niceness: 5 });
});
afterAll(async () => {
  await duckdb.close();
});

const endless = 'select sum(a.range * b.range) as s from range(10000000) a, range(10000000) b';

test('the rows of the last statement are answered', async () => {
  const rows = await duckdb.run([
    'create temporary table numbers as select 1 as n',
    `select n, ${literal("it's")} as t, 9007199254740993::bigint as big, null as nothing from numbers`,
  ]);
  expect(rows).toEqual([{ n: 1, t: "it's", big: '9007199254740993', nothing: null }]);
});

test('what DuckDB refuses is told, and the process goes on', async () => {
  await expect(duckdb.run('select * from nowhere')).rejects.toThrow(DuckDbError);
  await expect(duckdb.run("select * from read_parquet('nowhere.parquet')")).rejects.toThrow(
    /nowhere\.parquet/,
  );
  expect(await duckdb.run('select 2 as n')).toEqual([{ n: 2 }]);
});

test('queries run beside each other', async () => {
  const numbers = Array.from({ length: 20 }, (_, n) => n);
  const answers = await Promise.all(numbers.map((n) => duckdb.run(`select ${n} as n`)));
  expect(answers).toEqual(numbers.map((n) => [{ n }]));
});

test('a query that is aborted ends, and others go on', async () => {
  const aborting = new AbortController();
  const running = duckdb.run(endless, { signal: aborting.signal });
  const other = duckdb.run('select 3 as n');
  expect(await other).toEqual([{ n: 3 }]);
  aborting.abort(new Error('enough'));
  await expect(running).rejects.toThrow('enough');
  await expect(duckdb.run('select 1', { signal: aborting.signal })).rejects.toThrow('enough');
  expect(await duckdb.run('select 4 as n')).toEqual([{ n: 4 }]);
});

test('a query that takes too long is given up as unavailable', async () => {
  await expect(duckdb.run(endless, { timeoutMillis: 50 })).rejects.toMatchObject({
    code: 'cold_tier_unavailable',
  });
  expect(await duckdb.run('select 5 as n')).toEqual([{ n: 5 }]);
});

test('a process that never starts is told apart from one that has died', async () => {
  const broken = create({ threads: -1 });
  await expect(broken.run('select 1')).rejects.toThrow('does not start here');
  await broken.close();
});

test('a process that is frozen is replaced by another', async () => {
  const own = create({ lifeSignMillis: 100 });
  await own.run('select 1');
  const frozen = own.pid();
  process.kill(frozen ?? 0, 'SIGSTOP');
  await expect(own.run('select 1', { timeoutMillis: 100 })).rejects.toMatchObject({
    code: 'cold_tier_unavailable',
  });
  await vi.waitUntil(() => own.pid() !== frozen, { timeout: 60_000 });
  expect(await own.run('select 6 as n')).toEqual([{ n: 6 }]);
  await own.close();
});

test('memory has a bound', async () => {
  await expect(
    duckdb.run(["set temp_directory = ''", 'select list(range) as l from range(100000000)']),
  ).rejects.toThrow(DuckDbError);
});

test.each([true, false])('what was read of a file is kept, or not: %s', async (cachesFiles) => {
  const path = join(dir.path, `read-${cachesFiles}.parquet`);
  const own = create({ niceness: 5, cachesFiles });
  await own.run(`copy (select range as n from range(1000)) to ${literal(path)} (format parquet)`);
  await own.run(`select sum(n) as n from read_parquet(${literal(path)})`);
  const [kept] = await own.run<{ bytes: string }>(
    "select memory_usage_bytes as bytes from duckdb_memory() where tag = 'EXTERNAL_FILE_CACHE'",
  );
  expect(Number(kept?.bytes) > 0).toBe(cachesFiles);
  await own.close();
});

test('when the process dies its queries fail as unavailable, and the next one starts it anew', async () => {
  await duckdb.run('select 1');
  const running = duckdb.run(endless);
  process.kill(duckdb.pid() ?? Number.NaN, 'SIGKILL');
  const fault = await running.catch((error: unknown) => error);
  expect(fault).toMatchObject({ code: 'cold_tier_unavailable', status: 503 });
  expect(mayPass(fault), 'the store is not at fault').toBe(false);
  expect(await duckdb.run('select 6 as n')).toEqual([{ n: 6 }]);
});

test('a DuckDB that a fatal error has made useless is replaced by another', async () => {
  const own = create();
  await own.run('select 1');
  const useless = own.pid();
  const running = expect(own.run(endless)).rejects.toMatchObject({ code: 'cold_tier_unavailable' });
  // What DuckDB 1.5 says to whatever it is asked after such an error.
  const says = 'Failed: database has been invalidated because of a previous fatal error.';
  // It is no fault of the file that was asked about.
  await expect(own.run(`select error('${says}')`)).rejects.toMatchObject({
    code: 'cold_tier_unavailable',
  });
  await running;
  expect(await own.run('select 8 as n')).toEqual([{ n: 8 }]);
  expect(own.pid()).not.toBe(useless);
  await own.close();
});

test('nothing runs after close', async () => {
  const closed = create();
  const running = closed.run(endless);
  await closed.close();
  await expect(running).rejects.toMatchObject({ code: 'cold_tier_unavailable' });
  await expect(closed.run('select 1')).rejects.toMatchObject({ code: 'cold_tier_unavailable' });
});

test('without queries the process ends after a while, and the next query starts another', async () => {
  const short = create({ idleMillis: 50 });
  await Promise.all([
    expect(short.run(endless, { timeoutMillis: 300 })).rejects.toThrow(/cold_tier_unavailable/),
    short.run('select 1'),
  ]);
  await expect.poll(() => short.pid(), { timeout: 120_000 }).toBeUndefined();
  expect(await short.run('select 7 as n')).toEqual([{ n: 7 }]);
  await short.close();
});
