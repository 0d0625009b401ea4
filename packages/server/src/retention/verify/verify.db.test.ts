import { readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import sql, { raw } from 'sql-template-tag';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { countPace, hold, holdPace } from '../../../test/held-pace.ts';
import { AppError } from '../../kernel/errors.ts';
import { newId } from '../../kernel/ids.ts';
import type { ObjectStore } from '../../platform/objects/objects.ts';
import { advisoryLocks, isHeldLock } from '../../platform/postgres/locks.ts';
import type { VerificationRow } from '../schemas.contract.ts';
import type { VerifyTools } from './check-segment.ts';
import { findVerification, insertVerification, type VerifyScope } from './queries.ts';
import { runOpenVerifications, startVerifications } from './run-verifications.ts';
import { type ColdData, createColdData } from './testing/cold-data.ts';

const january = ['2001-01-05', '2001-01-06', '2001-01-07', '2001-02-01'];

let data: ColdData;
let segment: string;
let path: string;
beforeAll(async () => {
  data = await createColdData();
});
afterAll(() => data.close());
beforeEach(async () => {
  await data.addRecords('TX', january);
  await data.addRecords('CA/é', ['2001-01-05'], 3);
  segment = await data.makeCold('TX', '2001-01-05', '2001-01-06');
  await data.makeCold('CA/é', '2001-01-05', '2001-01-05');
  path = await pathOfSegment(segment);
});
afterEach(async () => {
  const tables = 'segments, segment_days, enrichment_records, verifications, moves, move_segments';
  await data.db.query(sql`truncate ${raw(tables)}, object_removals, work_shares, verified_tenants`);
  await rm(join(data.dir, 'objects'), { recursive: true, force: true });
});

async function pathOfSegment(id: string): Promise<string> {
  const rows = await data.db.query<{ key: string }>(
    sql`select object_key as key from segments where id = ${id}`,
  );
  return data.objects.pathOf(rows[0]?.key ?? '') ?? '';
}

const byText = (a: unknown, b: unknown) => (String(a) < String(b) ? -1 : 1);

type Scope = Partial<VerifyScope>;

async function request(scope: Scope = {}): Promise<string> {
  const id = newId('vrf');
  const all = { tenant: null, tenants: null, since: null, sample_percent: null };
  await insertVerification(data.db, { id, ...all, ...scope, requestedBy: 'test' });
  return id;
}

async function read(id: string): Promise<VerificationRow> {
  const row = await findVerification(data.db, null, id);
  if (row === undefined) throw new Error('no such verification');
  return row;
}

async function verifyAll(scope: Scope = {}, context: VerifyTools = data): Promise<VerificationRow> {
  const id = await request(scope);
  await runOpenVerifications(context, new AbortController().signal);
  return read(id);
}

const never = new AbortController().signal;
const now = async () =>
  (await data.db.query<{ now: string }>(sql`select clock_timestamp()::text as now`))[0]?.now ?? '';

/** A store in which looks at objects wait until they are let go, or fail. */
function holdStore() {
  const [reached, held] = [hold(), hold()];
  const objects: ObjectStore = {
    ...data.objects,
    async head(key, signal) {
      reached.resolve();
      await held.promise;
      return data.objects.head(key, signal);
    },
  };
  return { objects, reached: reached.promise, held };
}

const clean = { state: 'completed', ok: true, problem_count: 0, problems: [], error: null };

test('what differs in nothing passes, hot and cold', async () => {
  const sizes = await data.db.query<{ size: number }>(sql`select size_bytes as size from segments`);
  const bytes = sizes.reduce((sum, { size }) => sum + size, 0);
  expect(await verifyAll()).toMatchObject({
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
  expect(await verifyAll({}, { ...data, objects })).toMatchObject(clean);
  expect(fetched).toBe(2);
});

test('it rests after each piece of an object, each object and each month', async () => {
  const { pace, rests } = countPace();
  expect(await verifyAll({}, { ...data, pace })).toMatchObject({ ...clean, segments_done: 2 });
  const months = await data.db.query(sql`select distinct tenant, month from leaf_months`);
  // Each of the objects is a single piece.
  expect(rests()).toBe(2 * 2 + months.length);
});

test('one that is stopped while it rests is begun anew, and finds the same', async () => {
  const held = holdPace();
  const stopping = new AbortController();
  const id = await request({});
  const resting = runOpenVerifications({ ...data, pace: held.pace }, stopping.signal);
  await held.resting;
  expect(await read(id)).toMatchObject({ state: 'running', segments_done: 0 });
  stopping.abort();
  await expect(resting).rejects.toThrow('aborted');
  await runOpenVerifications(data, new AbortController().signal);
  expect(await read(id)).toMatchObject({ ...clean, segments_done: 2 });
});

test('a flipped byte is found wherever it is', async () => {
  const content = await readFile(path);
  let flips = 0;
  for (let at = 0; at < content.length; at += 997) {
    const damaged = Buffer.from(content);
    damaged[at] = (damaged[at] ?? 0) ^ 1;
    await writeFile(path, damaged);
    const { ok, problems } = await verifyAll();
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

test('an object that was cut off, and one that is gone, are found', async () => {
  await truncate(path, 1000);
  expect((await verifyAll()).problems).toMatchObject([
    { kind: 'object_size', message: expect.stringContaining('The object holds 1,000 bytes') },
  ]);
  await rm(path);
  expect((await verifyAll()).problems).toMatchObject([
    { kind: 'object_missing', object_key: expect.stringContaining(segment) },
  ]);
});

test('an object that nobody names is an orphan, others are not', async () => {
  const name = (tenant: string, id: string) =>
    `records/tenant=${tenant}/2001-01-01_2001-01-02_${id}.parquet`;
  // Segments lay at the root before there was the folder records/.
  const old = name('TX', 'seg_old').replace('records/', '');
  const put = (key: string) => data.objects.put(key, path);
  for (const id of ['seg_orphan', 'seg_planned', 'seg_given_up', 'seg_replaced']) {
    await put(name('TX', id));
  }
  // Of others, whose bucket it is, too.
  for (const foreign of ['notes.txt', 'exports/nightly.parquet', 'records/other-app/big.bin']) {
    await put(foreign);
  }
  await put('records/tenant=/notes.txt');
  await put(old);
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
  const { problems } = await verifyAll();
  expect(
    problems.map(({ kind, tenant, object_key }) => [kind, tenant, object_key]).sort(byText),
  ).toEqual([
    ['object_orphan', null, 'records/tenant=/notes.txt'],
    ['object_orphan', 'TX', name('TX', 'seg_given_up')],
    ['object_orphan', 'TX', name('TX', 'seg_orphan')],
    ['object_orphan', 'TX', old],
  ]);
  const ofTenant = await verifyAll({ tenant: 'TX' });
  expect(ofTenant.problems.map(({ object_key }) => object_key)).toContain(old);
  expect(ofTenant.problem_count).toBe(3);
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
  const { problems } = await verifyAll();
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
  const messages = (await verifyAll()).problems.map((problem) => problem.message);
  expect(messages[0]).toContain(
    'TX › AUS › 2001-02-01: the counter leaf_days (hot) says 0 records, 0 bytes, digest 0000000000000000; the hot records are 40 records',
  );
  await data.db.query(sql`delete from leaf_days where tenant = 'TX'`);
  await data.db.query(sql`
    delete from enrichment_records where tenant = 'TX' and occurred_at > '2001-02-01' and event_id = 'e7'`);
  expect((await verifyAll()).problems.map((problem) => problem.message).join()).toContain(
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
  const { problems } = await verifyAll();
  expect(problems).toContainEqual(
    expect.objectContaining({ kind, message: expect.stringContaining(message) }),
  );
});

test('a verification of a tenant looks at nothing else', async () => {
  await rm(path);
  await data.objects.put(
    'tenant=NY/2001-01-01_2001-01-02_seg_1.parquet',
    join(data.dir, `${segment}.csv`),
  );
  expect(await verifyAll({ tenant: 'CA/é' })).toMatchObject({ ...clean, segments_total: 1 });
  expect(await verifyAll({ tenants: ['CA/é'] })).toMatchObject({ ...clean, segments_total: 1 });
  expect(await verifyAll({ tenants: ['CA/é'], tenant: 'TX' })).toMatchObject({
    ...clean,
    segments_total: 0,
  });
  expect(await verifyAll({ tenant: 'TX' })).toMatchObject({ ok: false, problem_count: 1 });
  expect(await verifyAll()).toMatchObject({ ok: false, problem_count: 2 });
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
  expect(await verifyAll({}, { ...data, objects })).toMatchObject(clean);
  expect(hasMoved).toBe(true);
});

test('an object that is written, replaced and removed while objects are listed is no orphan', async () => {
  const key = 'tenant=TX/2001-01-01_2001-01-02_seg_passing.parquet';
  const objects: ObjectStore = {
    ...data.objects,
    async *list(prefix, signal) {
      await data.objects.put(key, path);
      yield* data.objects.list(prefix, signal);
      await data.objects.remove(key);
    },
  };
  expect(await verifyAll({}, { ...data, objects })).toMatchObject(clean);
});

test('one that is broken off is done anew, from its beginning, by whoever comes next', async () => {
  const id = await request();
  const stopping = new AbortController();
  const objects: ObjectStore = {
    ...data.objects,
    head(key, signal) {
      if (key.includes(segment)) stopping.abort(new Error('stopped'));
      return data.objects.head(key, signal);
    },
  };
  await expect(runOpenVerifications({ ...data, objects }, stopping.signal)).rejects.toThrow(
    'stopped',
  );
  expect(await read(id)).toMatchObject({ state: 'running', ok: null, finished_at: null });
  const runner = startVerifications(data);
  runner.poke();
  await expect
    .poll(() => read(id), { timeout: 20_000 })
    .toMatchObject({
      ...clean,
      segments_done: 2,
      records_done: 166,
    });
  await runner.stop();
});

test('a process that lost its share changes nothing any more, not even when it fails', async () => {
  const id = await request();
  const store = holdStore();
  const lost = runOpenVerifications({ ...data, objects: store.objects }, never);
  await store.reached;
  await data.db.query(sql`
    select pg_terminate_backend(pid) from pg_locks where ${isHeldLock('verifications')}`);
  await expect
    .poll(async () => {
      await runOpenVerifications(data, never);
      return read(id);
    })
    .toMatchObject({ ...clean, segments_done: 2 });
  store.held.reject(new AppError('cold_tier_unavailable', { detail: 'No answer.' }));
  await expect(lost).rejects.toThrow();
  expect(await read(id)).toMatchObject({ ...clean, segments_done: 2 });
});

test('several processes divide a verification, and the last of them ends it', async () => {
  const id = await request();
  const store = holdStore();
  const first = runOpenVerifications({ ...data, objects: store.objects }, never);
  await store.reached;
  // The first share holds both segments. All others are done meanwhile.
  await runOpenVerifications(data, never);
  expect(await read(id)).toMatchObject({ state: 'running', segments_done: 0 });
  expect(await data.db.query(sql`select work ->> 'kind' as kind from work_shares`)).toEqual([
    { kind: 'segments' },
  ]);
  store.held.resolve();
  await first;
  expect(await read(id)).toMatchObject({ ...clean, segments_done: 2, records_done: 166 });
  expect(await data.db.query(sql`select job from work_shares`)).toEqual([]);
});

test('since: what was found right then or later is not read again, what was not is', async () => {
  const start = await now();
  expect(await verifyAll({ since: start })).toMatchObject({ ...clean, segments_total: 2 });
  const next = await data.makeCold('TX', '2001-02-01', '2001-02-01');
  expect(await verifyAll({ since: start })).toMatchObject({ ...clean, segments_total: 1 });
  expect(await verifyAll({ since: start })).toMatchObject({ ...clean, segments_total: 0 });
  expect(await verifyAll({ since: await now() })).toMatchObject({ ...clean, segments_total: 3 });
  // What is damaged is found again and again, and so is a wrong counter.
  const later = await now();
  await truncate(await pathOfSegment(next), 1000);
  await data.db.query(
    sql`update leaf_stores set count = count + 1 where tenant = 'TX' and store = 'AUS'`,
  );
  for (const total of [3, 1, 1]) {
    const { problems, segments_total } = await verifyAll({ since: later });
    expect(segments_total).toBe(total);
    expect(problems.map(({ kind }) => kind)).toEqual(['object_size', 'counter_mismatch']);
  }
  await data.addRecords('TX', []);
});

test('a sample reads so many percent, others each time, and lists no objects', async () => {
  await data.objects.put('records/tenant=TX/2001-01-01_2001-01-02_seg_orphan.parquet', path);
  // A hundred segments that lack their objects: each that is read is told.
  await data.db.query(sql`
    insert into segments (tenant, id, object_key, size_bytes, sha256, count, bytes, digest, first_day, last_day)
    select 'TX', 'seg_' || n, 'records/tenant=TX/' || n, 1, '', 0, 0, 0, '2001-01-05', '2001-01-05'
    from generate_series(1, 400) as n`);
  const sampled = async (percent: number) => {
    const done = await verifyAll({ sample_percent: percent });
    expect(done.segments_done).toBe(done.segments_total);
    expect(done.problems.some(({ kind }) => kind === 'object_orphan')).toBe(false);
    return done.problems.map((problem) => problem.object_key).sort(byText);
  };
  const [one, other] = [await sampled(25), await sampled(25)];
  for (const keys of [one, other]) {
    expect(keys.length).toBeGreaterThan(50);
    expect(keys.length).toBeLessThan(150);
  }
  expect(one).not.toEqual(other);
  expect(await sampled(100)).toHaveLength(400);
});

test('shares of many segments are cut by their number and their bytes', async () => {
  await data.db.query(sql`
    insert into segments (tenant, id, object_key, size_bytes, sha256, count, bytes, digest, first_day, last_day)
    select 'TY', 'seg_' || to_char(n, 'FM0000'), 'records/tenant=TY/' || n, case when n <= 250 then 1 else 40000000 end,
      '', 0, 0, 0, '2001-01-05', '2001-01-05'
    from generate_series(1, 254) as n`);
  const id = await request({ tenant: 'TY' });
  const stopping = new AbortController();
  const objects: ObjectStore = {
    ...data.objects,
    head(key, signal) {
      stopping.abort(new Error('stopped'));
      return data.objects.head(key, signal);
    },
  };
  await expect(runOpenVerifications({ ...data, objects }, stopping.signal)).rejects.toThrow();
  const shares = await data.db.query<{ last: string }>(sql`
    select work -> 'last' ->> 1 as last from work_shares
    where job = ${id} and work ->> 'kind' = 'segments' order by number`);
  expect(shares.map(({ last }) => last)).toEqual(['seg_0100', 'seg_0200', 'seg_0252', 'seg_0254']);
  expect(await verifyAll({ tenant: 'TX' })).toMatchObject(clean);
  expect(await read(id)).toMatchObject({ segments_done: 254, problem_count: 254 });
});

test('what another process is at is left to it', async () => {
  const id = await request();
  const holder = await data.db.openSession();
  await holder.query(sql`select pg_advisory_lock(${advisoryLocks.verifications})`);
  await runOpenVerifications(data, new AbortController().signal);
  expect((await read(id)).state).toBe('queued');
  await holder.close();
  await expect
    .poll(async () => {
      await runOpenVerifications(data, new AbortController().signal);
      return read(id);
    })
    .toMatchObject(clean);
});

test('a store that is away fails the verification, and says so', async () => {
  const objects: ObjectStore = {
    ...data.objects,
    head: () => Promise.reject(new AppError('cold_tier_unavailable', { detail: 'No answer.' })),
  };
  expect(await verifyAll({}, { ...data, objects })).toMatchObject({
    state: 'failed',
    ok: null,
    problem_count: 0,
    error: 'cold_tier_unavailable: No answer.',
  });
});
