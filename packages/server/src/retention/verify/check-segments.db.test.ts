import { createHash } from 'node:crypto';
import { readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import sql from 'sql-template-tag';
import { afterEach, beforeAll, expect, test } from 'vitest';
import { AppError } from '../../kernel/errors.ts';
import { type DuckDb, literal } from '../../platform/duckdb.ts';
import { fromFileSystem, type ObjectStore } from '../../platform/objects/objects.ts';
import { eachSegment, eachSegmentKey } from './queries.ts';
import { clean, useVerifying } from './testing/verifying.ts';

// Small segments, of which a batch is read with one statement. A test spoils the last one, which is put back.
const data = useVerifying();
/** In the order in which they are checked; of the tenant TX but for the first. */
let segments: string[];
/** The one with which something is wrong. DuckDB takes the columns of a batch from its first file. */
let last: string;
let putBack: () => Promise<void>;
const stores = 2;
const perDay = 4;
const recordsOfSegment = stores * perDay;
beforeAll(async () => {
  const days = ['2001-01-05', '2001-01-06', '2001-01-07', '2001-01-08'];
  await data.addRecords('TX', days, perDay);
  await data.addRecords('CA/é', ['2001-01-05'], perDay);
  const made = [await data.makeCold('CA/é', '2001-01-05')];
  for (const day of days) made.push(await data.makeCold('TX', day));
  segments = [made[0] ?? '', ...made.slice(1).sort()];
  last = segments.at(-1) ?? '';
  putBack = await data.keep();
});
afterEach(() => putBack());

/** A filter in which the first bit that is set is not. */
const oneBitLess = sql`(
  select set_bit(event_filter, bit, 0)
  from generate_series(0, 8 * octet_length(event_filter) - 1) as bit
  where get_bit(event_filter, bit) = 1 limit 1)`;

/** A DuckDB that counts the statements it is given. */
function countStatements(): { duckdb: DuckDb; count: () => number } {
  let count = 0;
  const duckdb: DuckDb = {
    ...data.duckdb,
    run(...call) {
      count += 1;
      return data.duckdb.run(...call);
    },
  };
  return { duckdb, count: () => count };
}

/** The segments that are noted as right. */
async function verified(): Promise<string[]> {
  const rows = await data.db.query<{ id: string }>(
    sql`select id from segments where verified_at is not null order by tenant, id`,
  );
  return rows.map(({ id }) => id);
}

/** Gives a segment another object, and the catalogue the right size and SHA-256 of it. */
async function replaceObject(id: string, content: Buffer): Promise<void> {
  const sha256 = createHash('sha256').update(content).digest();
  await writeFile(await data.pathOfSegment(id), content);
  await data.db.query(
    sql`update segments set size_bytes = ${content.length}, sha256 = ${sha256} where id = ${id}`,
  );
  await data.db.query(sql`
    update segment_days set stored_bytes = case when store = 'AUS' then ${content.length}::bigint else 0 end
    where segment_id = ${id}`);
}

/** Writes the rows of a segment anew, with these columns or in this order. */
async function rewrite(id: string, rows: (file: string) => string): Promise<void> {
  const target = join(data.spoolDir, 'rewritten.parquet');
  const file = `read_parquet(${literal(await data.pathOfSegment(id))}, hive_partitioning = false)`;
  await data.duckdb.run(`copy (${rows(file)}) to ${literal(target)} (format parquet)`);
  await replaceObject(id, await readFile(target));
}

test('one statement reads all of a batch, and one compares all filters', async () => {
  const { duckdb, count } = countStatements();
  expect(await data.verifyAll({}, { ...data, duckdb })).toMatchObject({
    ...clean,
    segments_done: segments.length,
    records_done: segments.length * recordsOfSegment,
  });
  expect(count()).toBe(2);
  expect(await verified()).toEqual(segments);
});

test('a filter that is wrong is taken away, and a segment without one is right', async () => {
  await data.db.query(sql`update segments set event_filter = ${oneBitLess} where id = ${last}`);
  expect(await data.verifyAll()).toMatchObject({ problem_count: 1 });
  expect(await data.verifyAll()).toMatchObject({ ...clean, segments_done: segments.length });
  const without = await data.db.query(sql`select id from segments where event_filter is null`);
  expect(without).toEqual([{ id: last }]);
});

test.each([
  [
    'gone',
    async () => rm(await data.pathOfSegment(last)),
    { kind: 'object_missing', message: 'There is no such object' },
  ],
  [
    'cut off',
    async () => truncate(await data.pathOfSegment(last), 100),
    { kind: 'object_size', message: 'The object holds 100 bytes' },
  ],
  [
    'not what was written',
    async () => {
      const path = await data.pathOfSegment(last);
      const content = await readFile(path);
      // Who wrote it stands in the file, and no statement reads that.
      content.write('duckdb', content.lastIndexOf('DuckDB'));
      await writeFile(path, content);
    },
    { kind: 'object_damaged', message: 'The object is not what was written' },
  ],
  [
    'no Parquet file',
    () => replaceObject(last, Buffer.from('these are no records')),
    { kind: 'object_damaged', message: 'it cannot be read' },
  ],
  [
    'of other columns',
    () =>
      rewrite(
        last,
        (file) => `select * replace (occurred_at::varchar as occurred_at) from ${file}`,
      ),
    { kind: 'object_damaged', message: 'it cannot be read' },
  ],
  [
    'of another tenant',
    () => rewrite(last, (file) => `select * replace ('CA/é' as tenant) from ${file}`),
    { kind: 'object_damaged', message: 'it holds records of the tenant CA/é' },
  ],
  [
    'not in order within a day',
    () => rewrite(last, (file) => `select * from ${file} order by store, occurred_at desc`),
    { kind: 'order_mismatch', message: 'its records of store AUS on 2001-01-' },
  ],
  [
    'not in order of its stores',
    () => rewrite(last, (file) => `select * from ${file} order by occurred_at, store`),
    { kind: 'order_mismatch', message: 'are not in order' },
  ],
  [
    'without an event in its filter',
    () => data.db.query(sql`update segments set event_filter = ${oneBitLess} where id = ${last}`),
    { kind: 'filter_mismatch', message: 'The filter of its event ids did not know' },
  ],
  [
    'given half a filter',
    () =>
      data.db.query(sql`
      update segments set event_filter = substring(event_filter for 100) where id = ${last}`),
    { kind: 'filter_mismatch', message: 'The filter of its event ids did not know' },
  ],
])('of a batch, one that is %s is named, and no other', async (_, spoil, { kind, message }) => {
  const [row] = await data.db.query<{ key: string }>(
    sql`select object_key as key from segments where id = ${last}`,
  );
  await spoil();
  const { problems, segments_done } = await data.verifyAll();
  const ofObjects = problems.filter((problem) => problem.object_key !== null);
  expect(new Set(ofObjects.map((problem) => problem.object_key))).toEqual(new Set([row?.key]));
  expect(ofObjects[0]).toMatchObject({ kind, tenant: 'TX' });
  expect(ofObjects[0]?.message).toContain(message);
  expect(segments_done).toBe(segments.length);
  expect(await verified()).toEqual(segments.slice(0, -1));
});

const badSector = Object.assign(new Error('EIO: i/o error, read'), {
  code: 'EIO',
  syscall: 'read',
});

test.each<[string, (real: ObjectStore, isMeant: (key: string) => boolean) => Partial<ObjectStore>]>(
  [
    [
      'EIO',
      (real, isMeant) => ({
        head: async (key, signal) => {
          if (isMeant(key)) throw fromFileSystem(badSector, 'The object cannot be read');
          return real.head(key, signal);
        },
      }),
    ],
    // What is asked for below a file fails with an error of the system, as what may not be read does.
    [
      'ENOTDIR',
      (real, isMeant) => ({
        pathOf: (key) => `${real.pathOf(key)}${isMeant(key) ? '/below' : ''}`,
      }),
    ],
  ],
)('an object that the disk does not give is told of (%s), and no other', async (code, spoil) => {
  const isMeant = (key: string) => key.includes(last);
  const objects = { ...data.objects, ...spoil(data.objects, isMeant) };
  expect(await data.verifyAll({}, { ...data, objects })).toMatchObject({
    state: 'completed',
    segments_done: segments.length,
    problem_count: 1,
    problems: [{ kind: 'object_damaged', message: expect.stringContaining(`(${code})`) }],
  });
  expect(await verified()).toEqual(segments.slice(0, -1));
});

test('a disk that gives nothing is no damage of every object', async () => {
  const fail = async () => {
    throw fromFileSystem(badSector, 'The store cannot be read');
  };
  const list = () => ({ [Symbol.asyncIterator]: () => ({ next: fail }) });
  const objects: ObjectStore = { ...data.objects, head: fail, list };
  expect(await data.verifyAll({}, { ...data, objects })).toMatchObject({
    state: 'failed',
    ok: null,
    error: expect.stringMatching(/^cold_tier_unavailable: .*EIO/),
    problem_count: 0,
  });
});

test('what is not what was written is not given to DuckDB, and costs the others nothing', async () => {
  await truncate(await data.pathOfSegment(last), 100);
  const { duckdb, count } = countStatements();
  expect(await data.verifyAll({}, { ...data, duckdb })).toMatchObject({ problem_count: 1 });
  expect(count()).toBe(2);
});

test('no two copies of objects have the same path', async () => {
  await replaceObject(last, Buffer.from('these are no records'));
  const paths: unknown[] = [];
  const objects: ObjectStore = {
    ...data.objects,
    pathOf: () => null,
    async get(...call) {
      paths.push(call[1]);
      await data.objects.get(...call);
    },
  };
  for (let i = 0; i < 2; i += 1) {
    expect(await data.verifyAll({}, { ...data, objects })).toMatchObject({ ok: false });
  }
  // DuckDB does not tell which of a batch it cannot read, so all of them are read again, and none is fetched twice.
  expect(paths).toHaveLength(2 * segments.length);
  expect(new Set(paths).size).toBe(paths.length);
});

test('copies of objects are removed, also when the store fails meanwhile', async () => {
  const objects: ObjectStore = { ...data.objects, pathOf: () => null };
  const before = await readdir(data.spoolDir);
  expect(await data.verifyAll({}, { ...data, objects })).toMatchObject(clean);
  expect(await readdir(data.spoolDir)).toEqual(before);
  let fetched = 0;
  const failing: ObjectStore = {
    ...objects,
    async get(...call) {
      fetched += 1;
      if (fetched === 2) throw new AppError('cold_tier_unavailable', { detail: 'No answer.' });
      await data.objects.get(...call);
    },
  };
  const sleep = async () => expect(await readdir(data.spoolDir)).toEqual(before);
  const tools = { ...data, objects: failing, sleep };
  expect(await data.verifyAll({}, tools)).toMatchObject(clean);
  expect(await readdir(data.spoolDir)).toEqual(before);
});

test.each([1, 2, 5, 6])(
  'a walk in pages of %i reads each segment once, in order',
  async (limit) => {
    const all = { tenants: null, after: null, limit };
    for (const walk of [eachSegment(data.db, all), eachSegmentKey(data.db, all)]) {
      const read: string[] = [];
      for await (const { id } of walk) read.push(id);
      expect(read).toEqual(segments);
    }
  },
);
