import sql from 'sql-template-tag';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { testActor } from '../../test/actor.ts';
import { use } from '../../test/use.ts';
import { createLog } from '../platform/log.ts';
import { listOrphans } from '../retention/objects.ts';
import type { RetentionOptions } from '../retention/store.ts';
import { loadTable } from './load-table.ts';
import { sweepSnapshots } from './sweep.ts';
import { startTableWorld, type TableWorld } from './testing/table-world.ts';
import { bringUpToDate } from './write-snapshot.ts';

const world = use<TableWorld>(startTableWorld, (started) => started.stop());
const { signal } = new AbortController();
const all = { name: 'all', tenants: null };

beforeAll(async () => {
  for (const tenant of ['TX', 'ZZ']) await world.addSegment(tenant);
});
beforeEach(() => world.forgetAll());

async function listKeys(): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of world.mover.store.list('iceberg/', signal)) keys.push(key);
  return keys.sort();
}

/** Sweeps as if all objects had been written two hours ago. */
async function sweep(): Promise<void> {
  const options = { log: createLog('silent'), signal, now: () => Date.now() + 2 * 3_600_000 };
  await sweepSnapshots(world.mover, options);
}

/** As if the time of grace of all snapshots but the newest had passed. */
const endGrace = () =>
  world.mover.db.query(sql`
    update iceberg_snapshots set readable_until = now() - interval '1 second'
    where readable_until is not null`);

test('what is young stays, and later all that no snapshot needs goes', async () => {
  await sweep();
  const before = await world.readTable();
  await world.addSegment('TX');
  await world.readTable();
  const written = await listKeys();
  const usual = { log: createLog('silent'), signal, now: Date.now };
  await world.forgetAll();
  await sweepSnapshots(world.mover, usual);
  expect(await listKeys()).toEqual(written);
  await sweep();
  expect(await listKeys()).toEqual([]);
  for (const path of before.paths) await world.fileOf(path);
});

test('what is written for readers is never taken for objects that nobody knows', async () => {
  await world.readTable();
  const { store } = world.mover;
  const options = { store: { store }, graceSeconds: 0 } as RetentionOptions;
  const { data } = await listOrphans(world.mover.db, options, testActor);
  expect((await listKeys()).length).toBeGreaterThan(0);
  expect(data.filter(({ object_key }) => object_key.startsWith('iceberg/'))).toEqual([]);
});

test('a snapshot stays whole for the time of grace, and then only what the newest needs', async () => {
  const { metadata: before } = await world.readTable();
  await world.addSegment('TX');
  const { metadata } = await world.readTable();
  expect(metadata.snapshots.length).toBe(before.snapshots.length + 1);
  await sweep();
  await world.readTable(null, 0);
  await endGrace();
  await sweep();
  const after = await world.readTable();
  expect(after.metadata.snapshots.length).toBe(1);
  expect(after.paths).toEqual(await world.livePaths());
  // The metadata and the list of the newest, and one manifest of each tenant.
  await sweep();
  const names = (await listKeys()).map((key) => key.replace(/^.*-/, ''));
  expect(names.filter((name) => name !== 'list.avro' && name.startsWith('m')).length).toBe(2);
});

test('a snapshot whose objects are gone before the grace ends is not told any more', async () => {
  await world.readTable();
  await world.addSegment('TX');
  const [gone] = await world.mover.db.query<{ id: string }>(sql`
    delete from segments where tenant = 'ZZ' returning id`);
  expect(gone).toBeDefined();
  const { metadata, snapshot, paths } = await world.readTable();
  expect(metadata.snapshots.length).toBe(2);
  expect(metadata.snapshots[0].summary.operation).toBe('delete');
  expect(snapshot.summary.operation).toBe('append');
  expect(paths).toEqual(await world.livePaths());
  await world.addSegment('ZZ');
});

test('a table for which nobody asked for 30 days is forgotten, and begins anew under the same id', async () => {
  const before = await world.readTable(['TX']);
  await world.readTable();
  await world.mover.db.query(sql`
    update iceberg_snapshots set asked_at = now() - interval '31 days' where scope <> 'all'`);
  await sweep();
  const keys = await listKeys();
  expect(keys.length).toBeGreaterThan(0);
  expect(keys.every((key) => key.startsWith('iceberg/all/'))).toBe(true);
  const after = await world.readTable(['TX']);
  expect(after.metadata['table-uuid']).toBe(before.metadata['table-uuid']);
  expect(after.snapshot['sequence-number']).toBeGreaterThan(before.snapshot['sequence-number']);
  expect(after.paths).toEqual(before.paths);
});

test('who asks keeps the table from being forgotten', async () => {
  await world.readTable();
  await world.mover.db.query(
    sql`update iceberg_snapshots set asked_at = now() - interval '31 days'`,
  );
  await world.readTable();
  await sweep();
  expect((await listKeys()).length).toBeGreaterThan(0);
});

test('a database that was set back, and whose files are gone, begins anew', async () => {
  const before = await world.readTable();
  const list = before.snapshot['manifest-list'].replace(/^.*\/iceberg\//, 'iceberg/');
  await world.mover.store.remove(list);
  const after = await world.readTable();
  expect(after.metadata.snapshots[0]).not.toHaveProperty('parent-snapshot-id');
  const [first] = after.metadata.snapshots;
  expect(first['snapshot-id']).toBeGreaterThan(before.snapshot['snapshot-id']);
  expect(after.paths).toEqual(await world.livePaths());
});

test('of many processes that tell the next switches at once, one does', async () => {
  const { metadata: before } = await world.readTable();
  for (const tenant of ['TX', 'ZZ', 'TX']) await world.addSegment(tenant);
  const paths = await world.livePaths();
  await Promise.all(Array.from({ length: 4 }, () => bringUpToDate(world.tools, all, signal)));
  const { metadata, ...table } = await world.readTable();
  expect(metadata.snapshots.slice(0, -3)).toEqual(before.snapshots);
  expect(table.paths).toEqual(paths);
});

test('whatever is written before a load dies, nothing is told, and the next load tells it once', async () => {
  const before = await world.readTable();
  for (const tenant of ['TX', 'ZZ']) await world.addSegment(tenant);
  let [left, deaths] = [0, 0];
  const dies = async (...given: Parameters<typeof world.mover.store.put>) => {
    if (left-- === 0) throw new Error('killed');
    return world.mover.store.put(...given);
  };
  const dying = { ...world.tools, store: { ...world.mover.store, put: dies } };
  const loadDying = () => {
    left = deaths;
    return loadTable(dying, null).then(
      () => false,
      (error) => error.message === 'killed',
    );
  };
  const told = sql`select id from iceberg_snapshots`;
  const rows = await world.mover.db.query(told);
  // A manifest and a list of both snapshots, and only then the file of the metadata.
  for (; await loadDying(); deaths += 1) {
    if (deaths < 4) expect(await world.mover.db.query(told)).toEqual(rows);
  }
  expect(deaths).toBe(5);
  const after = await world.readTable();
  expect(after.metadata.snapshots.slice(0, -2)).toEqual(before.metadata.snapshots);
  expect(after.paths).toEqual(await world.livePaths());
});

test('nothing is written while another database has the store, and what did not change is still told', async () => {
  const before = await loadTable(world.tools, null);
  const refused = { advance: () => Promise.reject(new Error('fenced')), assertOwn: async () => {} };
  const fenced = { ...world.tools, fence: refused };
  expect(await loadTable(fenced, null)).toEqual(before);
  await world.addSegment('ZZ');
  const keys = await listKeys();
  await expect(loadTable(fenced, null)).rejects.toThrow('fenced');
  expect(await listKeys()).toEqual(keys);
});
