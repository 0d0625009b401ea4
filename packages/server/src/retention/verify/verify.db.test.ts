import { readFile, rm, writeFile } from 'node:fs/promises';
import sql, { raw } from 'sql-template-tag';
import { afterEach, beforeAll, expect, test } from 'vitest';
import type { ObjectStore } from '../../platform/objects/objects.ts';
import { advisoryLocks } from '../../platform/postgres/locks.ts';
import { listOverdueRemovals } from '../mover/queries.ts';
import { clean, useVerifying } from './testing/verifying.ts';

let segment: string;
let path: string;
const data = useVerifying();
let putBack: () => Promise<void>;
beforeAll(async () => {
  ({ segment, path } = await data.fill());
  putBack = await data.keep();
});
afterEach(() => putBack());

const byText = (a: unknown, b: unknown) => (String(a) < String(b) ? -1 : 1);

test('what differs in nothing passes, hot and cold', async () => {
  const sizes = await data.db.query<{ size: number }>(sql`select size_bytes as size from segments`);
  const bytes = sizes.reduce((sum, { size }) => sum + size, 0);
  expect(await data.verifyAll()).toMatchObject({
    ...clean,
    segments_total: 2,
    segments_done: 2,
    bytes_total: bytes,
    bytes_done: bytes,
    records_done: 166,
  });
});

test('an object is read anew from a store that is no file system', async () => {
  let fetched = 0;
  const objects: ObjectStore = {
    ...data.objects,
    pathOf: () => null,
    get: (key, to, signal) => {
      fetched += 1;
      return data.objects.get(key, to, signal);
    },
  };
  expect(await data.verifyAll({}, { ...data, objects })).toMatchObject(clean);
  expect(fetched).toBe(2);
});

test('a flipped byte is found wherever it is', async () => {
  const content = await readFile(path);
  let flips = 0;
  for (let at = 0; at < content.length; at += 499) {
    const damaged = Buffer.from(content);
    damaged[at] = (damaged[at] ?? 0) ^ 1;
    await writeFile(path, damaged);
    const { ok, problems } = await data.verifyAll();
    expect(ok).toBe(false);
    expect(problems).toMatchObject([
      {
        kind: 'object_damaged',
        tenant: 'TX',
        first_day: '2001-01-05',
        last_day: '2001-01-06',
        message: expect.stringContaining('Put the object back from a copy with SHA-256'),
      },
    ]);
    flips += 1;
  }
  expect(flips).toBeGreaterThan(3);
});

test('an object that nobody names is an orphan, others are not', async () => {
  const name = (tenant: string, id: string) =>
    `records/tenant=${tenant}/2001-01-01_2001-01-02_${id}.parquet`;
  const put = (key: string) => data.objects.put(key, path);
  for (const id of ['seg_orphan', 'seg_planned', 'seg_given_up', 'seg_replaced']) {
    await put(name('TX', id));
  }
  // Of others, whose bucket it is, too.
  for (const foreign of ['notes.txt', 'exports/nightly.parquet', 'records/other-app/big.bin']) {
    await put(foreign);
  }
  await put('records/tenant=/notes.txt');
  await data.db.query(sql`
    insert into moves (tenant, id, kind, state, first_day, last_day, runner) values
      ('TX', 'mv_1', 'move', 'copied', '2001-01-01', '2001-01-02', 'r'),
      ('TX', 'mv_2', 'move', 'failed', '2001-01-01', '2001-01-02', 'r')`);
  await data.db.query(sql`
    insert into move_segments (tenant, move_id, segment_id, role, object_key) values
      ('TX', 'mv_1', 'seg_planned', 'out', ${name('TX', 'seg_planned')}),
      ('TX', 'mv_2', 'seg_given_up', 'out', ${name('TX', 'seg_given_up')})`);
  await data.db.query(sql`
    insert into object_removals (tenant, object_key, move_id, remove_after)
    values ('TX', ${name('TX', 'seg_replaced')}, 'mv_0', now())`);
  const { problems } = await data.verifyAll();
  expect(
    problems.map(({ kind, tenant, object_key }) => [kind, tenant, object_key]).sort(byText),
  ).toEqual([
    ['object_orphan', null, 'records/tenant=/notes.txt'],
    ['object_orphan', 'TX', name('TX', 'seg_given_up')],
    ['object_orphan', 'TX', name('TX', 'seg_orphan')],
  ]);
  const ofTenant = await data.verifyAll({ tenant: 'TX' });
  expect(ofTenant.problem_count).toBe(2);
});

test.each([
  [
    'leaf_days',
    'count = count + 1',
    'TX › AUS › 2001-01-05: the counter leaf_days (hot) says 1 record',
  ],
  ['leaf_days', 'cold_bytes = cold_bytes - 1', 'the counter leaf_days (cold) says 40 records'],
  ['leaf_days', 'cold_stored_bytes = 1', '1 bytes stored; its segments hold'],
  ['leaf_months', 'digest = 7', 'TX › AUS › 2001-01: the counter leaf_months says 120 records'],
  ['leaf_stores', 'bytes = bytes + 1', 'TX › AUS: the counter leaf_stores says'],
  ['leaf_stores', 'cold_count = 0', 'the counter leaf_stores (cold) says 0 records'],
  ['tenant_days', 'count = 7', 'TX › 2001-01-05: the counter tenant_days says 7 records'],
  ['tenant_days', 'cold_count = 7', 'the counter tenant_days (cold) says 7 records'],
  ['tenant_months', 'count = 7', 'TX › 2001-01: the counter tenant_months says 7 records'],
  ['leaf_tenants', 'cold_stored_bytes = 5', 'TX: the counter leaf_tenants (cold) says'],
])('a wrong counter in %s is found: %s', async (table, change, message) => {
  const key = table.includes('tenant') ? "tenant = 'TX'" : "tenant = 'TX' and store = 'AUS'";
  const day =
    table === 'leaf_days' || table === 'tenant_days'
      ? " and day = '2001-01-05'"
      : table === 'leaf_months' || table === 'tenant_months'
        ? " and month = '2001-01'"
        : '';
  await data.db.query(sql`update ${raw(`${table} set ${change} where ${key}${day}`)}`);
  const { problems } = await data.verifyAll();
  expect(problems.map((problem) => problem.kind)).toContain('counter_mismatch');
  expect(problems.map((problem) => problem.message).join('\n')).toContain(message);
});

test('hot records that no counter knows are found, and those that are gone', async () => {
  await data.db.query(sql`delete from leaf_days where tenant = 'TX' and day = '2001-02-01'`);
  for (const table of [
    'leaf_months',
    'leaf_stores',
    'tenant_days',
    'tenant_months',
    'leaf_tenants',
  ]) {
    await data.db.query(sql`delete from ${raw(table)} where tenant = 'TX'`);
  }
  const messages = (await data.verifyAll()).problems.map((problem) => problem.message);
  expect(messages[0]).toContain(
    'TX › AUS › 2001-02-01: the counter leaf_days (hot) says 0 records, 0 bytes, digest 0000000000000000; the hot records are 40 records',
  );
  await data.db.query(sql`delete from leaf_days where tenant = 'TX'`);
  await data.db.query(sql`
    delete from enrichment_records where tenant = 'TX' and occurred_at > '2001-02-01' and event_id = 'e-7'`);
  expect((await data.verifyAll()).problems.map((problem) => problem.message).join()).toContain(
    'the hot records are 39 records',
  );
});

test.each([
  ['count = count + 1', 'triple_mismatch', 'AUS 2001-01-05: the catalogue says 41 records'],
  ['digest = 1', 'triple_mismatch', 'digest 0000000000000001; the object holds 40 records'],
  ['first_row = 1', 'order_mismatch', 'its rows begin at 1; in the object they begin at 0'],
  ['stored_bytes = 0', 'counter_mismatch', 'the shares of its days in the catalogue add up to'],
  ["store = 'BOS'", 'triple_mismatch', 'AUS 2001-01-05: the catalogue says 0 records'],
  [
    "segment_id = 'seg_none'",
    'triple_mismatch',
    'records of the segment seg_none, but not the segment',
  ],
])('a wrong row of the catalogue is found: %s', async (change, kind, message) => {
  await data.db.query(sql`
    update segment_days set ${raw(change)} where tenant = 'TX' and store = 'AUS' and day = '2001-01-05'`);
  const { problems } = await data.verifyAll();
  expect(problems).toContainEqual(
    expect.objectContaining({ kind, message: expect.stringContaining(message) }),
  );
});

test('a verification of a tenant looks at nothing else', async () => {
  await data.objects.put('records/tenant=NY/2001-01-01_2001-01-02_seg_1.parquet', path);
  await rm(path);
  expect(await data.verifyAll({ tenant: 'CA/é' })).toMatchObject({ ...clean, segments_total: 1 });
  expect(await data.verifyAll({ tenants: ['CA/é'] })).toMatchObject({
    ...clean,
    segments_total: 1,
  });
  expect(await data.verifyAll({ tenants: ['CA/é'], tenant: 'TX' })).toMatchObject({
    ...clean,
    segments_total: 0,
  });
  expect(await data.verifyAll({ tenant: 'TX' })).toMatchObject({ ok: false, problem_count: 1 });
  expect(await data.verifyAll()).toMatchObject({ ok: false, problem_count: 2 });
});

test('a segment that is replaced meanwhile raises no alarm', async () => {
  let hasMoved = false;
  const objects: ObjectStore = {
    ...data.objects,
    async head(key, signal) {
      if (key.includes(segment) && !hasMoved) {
        hasMoved = true;
        const { oldKey } = await data.replaceSegment(segment);
        await data.objects.remove(oldKey);
      }
      return data.objects.head(key, signal);
    },
  };
  expect(await data.verifyAll({}, { ...data, objects })).toMatchObject(clean);
  expect(hasMoved).toBe(true);
});

test('an object that should have been removed minutes ago is named, if this database removes any', async () => {
  const keys = ['late', 'soon', 'gone'].map(
    (id) => `records/tenant=TX/2001-02-01_2001-02-01_seg_${id}.parquet`,
  );
  const [late = '', soon = '', gone = ''] = keys;
  for (const key of [late, soon]) await data.objects.put(key, path);
  await data.db.query(sql`
    insert into object_removals (tenant, object_key, move_id, remove_after)
    select 'TX', key, 'mov_1', now() - make_interval(mins => minutes)
    from unnest(${[late, soon, gone]}::text[], array[10, 1, 10]) as due (key, minutes)`);
  const found = async (removes?: () => boolean) =>
    (await data.verifyAll({}, { ...data, removes })).problems.map(({ kind, object_key: key }) => [
      kind,
      key,
    ]);
  expect(await found(() => true)).toEqual([['object_overdue', late]]);
  expect(await found(() => false)).toEqual([]);
  expect(await found()).toEqual([]);
  expect(await listOverdueRemovals(data.db, { tenants: ['TX'], limit: 9 })).toHaveLength(2);
  expect(await listOverdueRemovals(data.db, { tenants: ['TY'], limit: 9 })).toEqual([]);
  // A backup that copies objects needs them for so long.
  const backup = await data.db.openSession();
  await backup.query(sql`select pg_advisory_lock(${advisoryLocks.objectHolds})`);
  const listAll = () => listOverdueRemovals(data.db, { tenants: null, limit: 9 });
  expect(await listAll()).toEqual([]);
  await backup.close();
  // A process that has only just begun removes what fell due while there was none.
  await data.db.query(sql`
    insert into processes (id, host, pid, version, node, roles, settings)
    values ('prc_1', 'h', 1, '1', 'v20', array['retention'], '{}')`);
  expect(await listAll()).toEqual([]);
  await data.db.query(sql`update processes set since = now() - interval '6 minutes'`);
  expect(await listAll()).toHaveLength(2);
  await data.db.query(sql`delete from processes`);
  await data.db.query(sql`delete from object_removals`);
});

test('an object that is written, replaced and removed while objects are listed is no orphan', async () => {
  const key = 'records/tenant=TX/2001-01-01_2001-01-02_seg_passing.parquet';
  const objects: ObjectStore = {
    ...data.objects,
    async *list(prefix, signal) {
      await data.objects.put(key, path);
      yield* data.objects.list(prefix, signal);
      await data.objects.remove(key);
    },
  };
  expect(await data.verifyAll({}, { ...data, objects })).toMatchObject(clean);
});
