import sql from 'sql-template-tag';
import { beforeEach, expect, test } from 'vitest';
import { use } from '../../test/use.ts';
import { deleteTenant } from '../retention/mover/delete-tenant.ts';
import type { MoverContext } from '../retention/mover/move.ts';
import { eraseOnce, forgetOnce } from '../retention/mover/testing/eraser.ts';
import { startTestMover } from '../retention/mover/testing/test-mover.ts';
import { loadTable } from './load-table.ts';
import { startTableWorld, type TableWorld } from './testing/table-world.ts';

const world = use<TableWorld>(startTableWorld, (started) => started.stop());
const { signal } = new AbortController();

/** What the catalogue said right after each switch of a test. */
let said: { paths: string[]; records: number; at: number }[];
beforeEach(async () => {
  said = [];
  await world.mover.db.query(sql`
    truncate segments, segment_days, moves, move_segments, enrichment_records, leaf_days, leaf_months,
      leaf_stores, leaf_tenants, tenant_days, tenant_months`);
  await world.forgetAll();
});

const say = async () => {
  const [sum] = await world.mover.db.query<{ records: number; at: number }>(sql`
    select (select coalesce(sum(count), 0)::bigint from segments) as records,
      (extract(epoch from max(switched_at)) * 1000)::bigint as at from moves`);
  said.push({ records: 0, at: 0, ...sum, paths: await world.livePaths() });
};
const listening: Partial<MoverContext> = {
  async onTransition(to, when) {
    if (to === 'switched' && when === 'after') await say();
  },
};
const add = (tenant: string) => world.addSegment(tenant, listening);
const deleteAll = (tenant: string, lastDay: string) =>
  deleteTenant(world.mover.context({ graceSeconds: 3600, ...listening }), {
    tenant,
    lastDay,
    runId: null,
    signal,
  });

/** Loads the table, and reads its snapshots from this one on as others do. */
async function readSnapshots(from = 0, tenants: readonly string[] | null = null) {
  const { metadata } = await world.readTable(tenants);
  const tables = [];
  for (let at = from; at < metadata.snapshots.length; at++) {
    const { live, paths, snapshot } = await world.readTable(tenants, at);
    for (const path of paths) await world.fileOf(path);
    const records = live.reduce((sum, { data_file }) => sum + Number(data_file.record_count), 0);
    expect(snapshot.summary).toMatchObject({
      'total-records': String(records),
      'total-data-files': String(paths.length),
    });
    tables.push({ paths, records, snapshot });
  }
  return tables;
}

/** Compares snapshots with what the catalogue said after the switches. */
function expectSaid(tables: Awaited<ReturnType<typeof readSnapshots>>): void {
  expect(tables.map(({ paths, records }) => ({ paths, records }))).toEqual(
    said.map(({ paths, records }) => ({ paths, records })),
  );
  // In a millisecond there is one snapshot.
  let last = 0;
  const times = said.map(({ at }) => {
    last = Math.max(at, last + 1);
    return last;
  });
  const told = tables.map(({ snapshot }) => snapshot['timestamp-ms']);
  for (const [index, at] of told.entries()) {
    expect(Math.abs(at - (times[index] ?? 0))).toBeLessThanOrEqual(1);
  }
}

const operationsOf = (tables: Awaited<ReturnType<typeof readSnapshots>>) =>
  tables.map(({ snapshot }) => snapshot.summary.operation);

test('between two loads each switch is a snapshot, with what the catalogue said then', async () => {
  await world.addSegment('TX');
  const { length } = (await world.readTable()).metadata.snapshots;
  const day = await add('leaves');
  for (let n = 0; n < 7; n++) await add('TX');
  await deleteAll('leaves', day);
  await add('TX');
  const tables = await readSnapshots(length);
  expectSaid(tables);
  const appends = Array.from({ length: 7 }, () => 'append');
  expect(operationsOf(tables)).toEqual(['append', ...appends, 'replace', 'delete', 'append']);
  expect(tables[8]?.snapshot.summary).toMatchObject({
    'added-data-files': '1',
    'deleted-data-files': '8',
    'added-records': '32',
    'deleted-records': '32',
  });
  expect(tables[9]?.snapshot.summary).toMatchObject({ 'deleted-records': '4' });
});

test('the first load tells of the switches before it, and a limited one of those of its tenants', async () => {
  for (let n = 0; n < 3; n++) await add('TX');
  expectSaid(await readSnapshots());
  const limited = await readSnapshots(0, ['TX']);
  expectSaid(limited);
  await add('other');
  expect(await readSnapshots(0, ['TX'])).toEqual(limited);
  expectSaid(await readSnapshots());
});

test('a tenant that comes and goes between two loads is told of', async () => {
  const { length } = (await world.readTable()).metadata.snapshots;
  await deleteAll('comes', await add('comes'));
  const tables = await readSnapshots(length);
  expectSaid(tables);
  expect(operationsOf(tables)).toEqual(['append', 'delete']);
  expect(await readSnapshots(length)).toEqual(tables);
});

test('what had erased records is in no new snapshot', async () => {
  for (let n = 0; n < 2; n++) await add('TX');
  const before = await world.livePaths();
  await eraseOnce(
    world.mover,
    { tenant: 'TX', store: 'DFW' },
    { graceSeconds: 3600, ...listening },
  );
  await add('TX');
  const tables = await readSnapshots();
  expect(said.splice(0, 2)).toHaveLength(2);
  expectSaid(tables);
  for (const { paths } of tables) for (const path of before) expect(paths).not.toContain(path);
});

test('nor is a segment that was lost', async () => {
  await add('TX');
  const [lost] = await world.mover.db.query<{ key: string }>(
    sql`select object_key as key from segments`,
  );
  await world.mover.store.remove(lost?.key ?? '');
  await forgetOnce(
    world.mover,
    { object_key: lost?.key ?? '' },
    { graceSeconds: 3600, ...listening },
  );
  await add('TX');
  said.splice(0, 2);
  expectSaid(await readSnapshots());
});

test('a switch that commits after a load which began later is told by the next one', async () => {
  await world.readTable();
  let length = 0;
  await world.addSegment('TX', {
    async onTransition(to, when) {
      if (to !== 'switched') return;
      if (when === 'after') return say();
      await world.addSegment('ZZ');
      ({ length } = (await world.readTable()).metadata.snapshots);
    },
  });
  const [told, ...more] = await readSnapshots(length);
  expect(more).toEqual([]);
  expect(told?.paths).toEqual(said[0]?.paths);
  expect(told?.snapshot.summary).toMatchObject({ operation: 'append', 'added-data-files': '1' });
});

test('a database that is set back tells of what it has, under ids that nobody was told', async () => {
  await add('TX');
  await world.readTable();
  await add('TX');
  const copy = await startTestMover(world.mover);
  try {
    await world.addSegment('gone');
    const { metadata } = await world.readTable();
    const { db, fence } = copy;
    await fence.adopt();
    const { metadata: own } = await loadTable({ ...world.tools, db, fence }, null);
    expect(own['current-snapshot-id']).toBeGreaterThan(metadata['current-snapshot-id']);
    expect(own.snapshots.map(({ summary }) => summary['total-records'])).toEqual(
      said.map(({ records }) => String(records)),
    );
  } finally {
    await copy.stop();
  }
});
