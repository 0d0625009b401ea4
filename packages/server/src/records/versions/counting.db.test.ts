import { hash } from 'node:crypto';
import { rename } from 'node:fs/promises';
import sql from 'sql-template-tag';
import { expect, test, vi } from 'vitest';
import { countPace, holdPace } from '../../../test/held-pace.ts';
import { use } from '../../../test/use.ts';
import { AppError } from '../../kernel/errors.ts';
import type { DuckDb } from '../../platform/duckdb.ts';
import { createLog, type Log } from '../../platform/log.ts';
import { tryLock } from '../../platform/postgres/locks.ts';
import type { Pace } from '../../platform/work/pace.ts';
import {
  addRecords,
  makeRecords,
  startTestMover,
} from '../../retention/mover/testing/test-mover.ts';
import type { Shares } from '../versions.contract.ts';
import { countNow } from './testing/count-now.ts';
import { addTag, freezeVersion } from './testing/freeze-version.ts';
import { readVersionSlice } from './version.ts';

const mover = use(startTestMover, (started) => started.stop());

const days = ['2001-03-30', '2001-03-31', '2001-04-01'];
const [first = '', second = '', third = ''] = days;
const shares: Shares = { train: 60, validation: 30, test: 10 };

type More = { duckdb?: DuckDb; pace?: Pace; log?: Log };
const count = (more: More = {}, signal?: AbortSignal) =>
  countNow({ ...mover, dir: mover.context().spoolDir, ...more }, signal);

/** Sixty records a day in two stores; two days of one of them are tagged, and one of both. */
async function freeze(
  tenant: string,
  options: { shares?: Shares; where?: string } = {},
): Promise<string> {
  await addRecords(mover.db, makeRecords(tenant, { days, perDay: 30 }));
  await addTag(mover.db, tenant, { store: 'DFW', from: first, to: second });
  await addTag(mover.db, tenant, { from: third });
  return (await freezeVersion(mover.db, tenant, options)).id;
}

async function read(id: string) {
  const rows = await mover.db.query<{
    state: string;
    error: string | null;
    splits: Record<string, { count: number; digest: string }> | null;
    is_whole: boolean;
  }>(sql`
    select state, error, splits, (count, bytes, digest)
      is not distinct from (current_count, current_bytes, current_digest) as is_whole
    from dataset_versions where id = ${id}`);
  return rows[0];
}

const countAgain = (id: string) =>
  mover.db.query(sql`
    update dataset_versions set state = 'counting', splits = null, current_count = null where id = ${id}`);

function splitOf(eventId: string): string {
  const place = Math.floor((Number.parseInt(hash('md5', eventId).slice(0, 8), 16) * 100) / 2 ** 32);
  if (place < shares.train) return 'train';
  return place < shares.train + shares.validation ? 'validation' : 'test';
}

test('nothing is done while nothing waits, and by one process at a time', async () => {
  expect(await count()).toEqual([]);
  const id = await freeze('one');
  const session = await mover.db.openSession();
  expect(await tryLock(session, 'versionCounts')).toBe(true);
  expect(await count()).toEqual([]);
  expect(await read(id)).toMatchObject({ state: 'counting' });
  await session.close();
  await expect
    .poll(async () => {
      await count();
      return (await read(id))?.state;
    })
    .toBe('ready');
});

test('it rests after each stretch of hot days and each few segments', async () => {
  const id = await freeze('rests');
  await mover.move('rests', second);
  await countAgain(id);
  const { pace, rests } = countPace();
  expect(await count({ pace })).toEqual([]);
  expect(await read(id)).toMatchObject({ state: 'ready', is_whole: true });
  expect(rests()).toBe(2);
});

test('one that is stopped while it rests is counted by the next', async () => {
  const id = await freeze('stopped');
  const held = holdPace();
  const stopping = new AbortController();
  const resting = count({ pace: held.pace }, stopping.signal);
  await held.resting;
  stopping.abort();
  await expect(resting).rejects.toThrow('aborted');
  expect(await read(id)).toMatchObject({ state: 'counting' });
  expect(await count()).toEqual([]);
  expect(await read(id)).toMatchObject({ state: 'ready', is_whole: true });
});

test('a version has the same triple and splits wherever its records lie', async () => {
  const id = await freeze('tiers', { shares });
  const expected = { train: 0, validation: 0, test: 0 } as Record<string, number>;
  for (let n = 0; n < 30; n += 1) {
    // Each event is on all four store-days of the version.
    const split = splitOf(`e-${n}`);
    expected[split] = (expected[split] ?? 0) + 4;
  }
  const found: unknown[] = [];
  for (const lastDay of [null, first, third]) {
    if (lastDay !== null) await mover.move('tiers', lastDay);
    await countAgain(id);
    expect(await count()).toEqual([]);
    const version = await read(id);
    expect(version).toMatchObject({ state: 'ready', error: null, is_whole: true });
    for (const split of ['train', 'validation', 'test']) {
      expect(version?.splits?.[split]?.count).toBe(expected[split]);
    }
    found.push(version?.splits);
  }
  expect(found).toEqual([found[0], found[0], found[0]]);
});

test('a version of groups has the same splits wherever its records lie, and tells who is in none', async () => {
  const { db } = mover;
  const enrichments = ['{"n":0}', '{"camera":{"id":1}}', '{"camera":1}', '{"camera":1.0}'];
  const all = makeRecords('groups', { days, perDay: 30 }).map((record, n) => ({
    ...record,
    enrichment: enrichments[n % 10] ?? '{"camera":10e-1}',
  }));
  await addRecords(db, all);
  await addTag(db, 'groups');
  const { id } = await freezeVersion(db, 'groups', { shares, group_by: 'camera' });
  const found: unknown[] = [];
  for (const lastDay of [null, first, third]) {
    if (lastDay !== null) await mover.move('groups', lastDay);
    await countAgain(id);
    expect(await count()).toEqual([]);
    expect(await read(id)).toMatchObject({ state: 'ready', error: null, is_whole: true });
    found.push((await read(id))?.splits);
    const [row] = await db.query(sql`select ungrouped from dataset_versions where id = ${id}`);
    expect(row).toEqual({ ungrouped: 36 });
  }
  expect(found).toEqual([found[0], found[0], found[0]]);
  const counts = Object.values(found[0] as Record<string, { count: number }>);
  expect(counts.reduce((sum, split) => sum + split.count, 0)).toBe(180);
  // All records with a camera are one group.
  expect(Math.max(...counts.map((split) => split.count))).toBeGreaterThanOrEqual(144);
});

const row = async (id: string) =>
  (
    await mover.db.query<Record<string, unknown>>(sql`
      select state, is_counted, count, change, error, current_count from dataset_versions where id = ${id}`)
  )[0];

test('with a where the first counting tells what a version has, in either tier', async () => {
  const found: unknown[] = [];
  for (const lastDay of [null, first, third]) {
    const tenant = `where-${lastDay}`;
    const id = await freeze(tenant, { shares, where: 'n < 7 and not kind = "x"' });
    if (lastDay !== null) await mover.move(tenant, lastDay);
    expect(await row(id)).toMatchObject({ state: 'counting', is_counted: false, count: 0 });
    expect(await count()).toEqual([]);
    expect(await read(id)).toMatchObject({ state: 'ready', error: null, is_whole: true });
    expect(await row(id)).toMatchObject({ is_counted: true, count: 28, current_count: 28 });
    found.push(Object.values((await read(id))?.splits ?? {}).map((split) => split.count));
    // What is counted again is compared with the first time.
    await mover.db.query(sql`
      update dataset_versions set state = 'counting', digest = digest + 1 where id = ${id}`);
    await count();
    expect(await read(id)).toMatchObject({ state: 'failed', is_whole: false });
  }
  expect(found).toEqual([found[0], found[0], found[0]]);
});

test('a where that no record fits fails the version, and says so', async () => {
  const id = await freeze('where-none', { where: 'n > 1000' });
  expect(await count()).toEqual([]);
  expect(await row(id)).toMatchObject({ state: 'failed', is_counted: true, count: 0 });
  expect((await read(id))?.error).toMatch(/^No record of the tagged days fits/);
});

test('what goes during the first counting was never part of a version with a where', async () => {
  const id = await freeze('where-gone', { where: 'n < 7' });
  await mover.move('where-gone', first);
  const duckdb = thenDo(() =>
    mover.db.query(sql`
      with gone as (
        delete from enrichment_records where tenant = 'where-gone' and event_id = 'e-3'
      ) update dataset_versions set change = 'erased', changed_at = now() where id = ${id} and tenant = 'where-gone'`),
  );
  expect(await count({ duckdb })).toEqual([]);
  expect(await row(id)).toMatchObject({
    state: 'ready',
    change: null,
    count: 25,
    current_count: 25,
  });
});

test('a record that is not what was frozen fails the version, which tells both sums', async () => {
  const id = await freeze('differs');
  await mover.db.query(sql`
    update enrichment_records set enrichment = '{"n": 99}'
    where tenant = 'differs' and store = 'DFW' and event_id = 'e-3'
      and occurred_at < ${`${second}T00:00:00Z`}::timestamptz`);
  expect(await count()).toEqual([]);
  const version = await read(id);
  expect(version).toMatchObject({ state: 'failed', is_whole: false });
  expect(version?.error).toMatch(/^120 records .* were frozen, 120 records .* are read\./);
});

test('a version that cannot be read waits, says why, and is counted once it can', async () => {
  const id = await freeze('damaged');
  await mover.move('damaged', third);
  const [row] = await mover.db.query<{ object_key: string }>(
    sql`select object_key from segments where tenant = 'damaged'`,
  );
  const path = mover.store.pathOf(row?.object_key ?? '') ?? '';
  await rename(path, `${path}.away`);
  expect(await count()).toEqual([id]);
  const version = await read(id);
  expect(version?.state).toBe('counting');
  expect(version?.error).toMatch(/^Not counted yet\. .*Restore it from a backup/);
  await rename(`${path}.away`, path);
  expect(await count()).toEqual([]);
  expect(await read(id)).toMatchObject({ state: 'ready', error: null, is_whole: true });
});

test('a store that is away is a warning, a damaged object an error', async () => {
  const id = await freeze('levels');
  await mover.move('levels', third);
  const logged = async (error: Error) => {
    const log = createLog('silent');
    const [warn, mistake] = [vi.spyOn(log, 'warn'), vi.spyOn(log, 'error')];
    const duckdb = { ...mover.duckdb, run: () => Promise.reject(error) };
    expect(await count({ duckdb, log })).toEqual([id]);
    return [warn.mock.calls.length, mistake.mock.calls.length];
  };
  const cause = Object.assign(new Error('away'), { code: 'ETIMEDOUT' });
  expect(await logged(new AppError('cold_tier_unavailable', { detail: 'away', cause }))).toEqual([
    1, 0,
  ]);
  expect(await logged(new AppError('segment_damaged', { detail: 'damaged' }))).toEqual([0, 1]);
});

/** Does something right after cold records were read. */
function thenDo(work: () => Promise<unknown>): DuckDb {
  let isDone = false;
  return {
    ...mover.duckdb,
    async run(statements, options) {
      const rows = await mover.duckdb.run(statements, options);
      if (!isDone) {
        isDone = true;
        await work();
      }
      return rows as never;
    },
  };
}

test('what goes while a version is read is counted again', async () => {
  const id = await freeze('changes');
  await mover.move('changes', first);
  const duckdb = thenDo(() =>
    mover.db.query(sql`
      with gone as (
        delete from enrichment_records where tenant = 'changes' and event_id = 'e-3'
      ) update dataset_versions set change = 'erased', changed_at = now() where tenant = 'changes' and id = ${id}`),
  );
  expect(await count({ duckdb })).toEqual([]);
  const rows = await mover.db.query(
    sql`select state, change, count, current_count from dataset_versions where id = ${id}`,
  );
  // One of the four store-days is cold.
  expect(rows).toEqual([{ state: 'ready', change: 'erased', count: 120, current_count: 117 }]);
});

test('a process that ends while it counts leaves the version to the next', async () => {
  const id = await freeze('killed');
  await mover.move('killed', third);
  const ending = new AbortController();
  const duckdb = thenDo(async () => ending.abort());
  await expect(count({ duckdb }, ending.signal)).rejects.toThrow();
  expect(await read(id)).toMatchObject({ state: 'counting', error: null });
  await expect
    .poll(async () => {
      await count();
      return (await read(id))?.state;
    })
    .toBe('ready');
});

test('a version that is deleted while it is read is no fault', async () => {
  const id = await freeze('deleted');
  await mover.move('deleted', third);
  const duckdb = thenDo(() => mover.db.query(sql`delete from dataset_versions where id = ${id}`));
  expect(await count({ duckdb })).toEqual([]);
  expect(await read(id)).toBeUndefined();
});

test('the parts of a version hold all its records, each once', async () => {
  const id = await freeze('parts');
  const { parts } = await readVersionSlice(mover.db, { tenant: 'parts', id, tenants: null });
  expect(parts).toEqual([
    {
      first: { store: 'DFW', day: first },
      last: { store: 'ORD', day: third },
      minDay: first,
      maxDay: third,
    },
  ]);
});
