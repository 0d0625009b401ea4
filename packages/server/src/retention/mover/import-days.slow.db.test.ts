import { copyFile } from 'node:fs/promises';
import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { testActor } from '../../../test/actor.ts';
import { withPin } from '../../records/index.ts';
import { createDayImporter } from './import-days.ts';
import { importedDays, rowsOf, useDayImports } from './testing/day-imports.ts';
import { eraseOnce } from './testing/eraser.ts';
import { at, dieAt, killPoints } from './testing/points.ts';
import { addRecords, makeRecords, useTestMover } from './testing/test-mover.ts';
import { differences, journal } from './testing/truth.ts';

const mover = useTestMover();
const { upload, importRows, countOf, beginImport, countsOf } = useDayImports(mover);
const [day, lastDay] = importedDays;

test.each(killPoints)('killed at %s: the next mover ends it with all or nothing', async (point) => {
  const tenant = `kill-${point.replace(' ', '-')}`;
  const stored = point === 'planned after' || point === 'copied before' ? 0 : 20;
  const ofImport = { import: tenant.replaceAll('-', '_') };
  await beginImport(ofImport.import);
  const killed = importRows(tenant, rowsOf(tenant), dieAt(point), ofImport);
  await expect(killed).rejects.toThrow('killed');
  expect(await differences(mover, tenant)).toEqual([]);
  await mover.move(tenant, lastDay);
  expect(await countOf(tenant)).toBe(stored);
  expect(await differences(mover, tenant)).toEqual([]);
  expect(await journal(mover, tenant)).toMatchObject([
    stored > 0
      ? { kind: 'import', state: 'removed' }
      : { kind: 'import', state: 'failed', error_code: 'upload_gone' },
  ]);
  const again = importRows(tenant, rowsOf(tenant), {}, ofImport);
  if (stored > 0) await expect(again).rejects.toMatchObject({ code: 'days_held' });
  else expect(await again).toMatchObject({ count: 20 });
  expect(await countsOf(ofImport.import)).toEqual([{ cold: 20, cold_days: 4 }]);
  expect(await countOf(tenant)).toBe(20);
  expect(await differences(mover, tenant)).toEqual([]);
});

test('of two imports of the same days one stores them', async () => {
  const path = await upload(rowsOf('two'));
  await copyFile(path, `${path}.2`);
  const importer = createDayImporter({ ...mover.context(), maxEnrichmentBytes: 1000 });
  const results = await Promise.allSettled(
    [path, `${path}.2`].map((each) => importer.take(testActor, { tenant: 'two' }, each)),
  );
  expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  expect(results.find(({ status }) => status === 'rejected')).toMatchObject({
    reason: { code: 'days_held' },
  });
  expect(await countOf('two')).toBe(20);
  expect(await differences(mover, 'two')).toEqual([]);
});

test.each(['copied', 'verified'] as const)(
  'records that come by ingest once it is %s stay, and it stores nothing',
  async (state) => {
    const tenant = `late-${state}`;
    const late = makeRecords(tenant, { days: [day], stores: ['DFW'], perDay: 1 });
    const come = at(`${state} after`, () => addRecords(mover.db, late));
    await expect(importRows(tenant, rowsOf(tenant), come)).rejects.toMatchObject({
      code: 'days_held',
    });
    expect(await countOf(tenant)).toBe(1);
    expect(await differences(mover, tenant)).toEqual([]);
    expect(await journal(mover, tenant)).toMatchObject([
      { state: 'failed', failed_in: 'verified', error_code: 'days_held' },
    ]);
  },
);

test.each([
  [
    'a version',
    'pinned',
    (tenant: string, at: string, n: number) => sql`
      insert into dataset_versions (tenant, id, name, dataset, slices, tags, recorded_before, count, bytes, digest, parts, created_by)
      values (${tenant}, ${`ver_${n}`}, ${`v${n}`}, 'training', '[]', '[]', ${at}::timestamptz, 0, 0, 0, '[]', 'me')`,
  ],
  [
    'a schedule',
    'scheduled',
    (tenant: string, at: string, n: number) => sql`
      insert into export_schedules (tenant, id, name, cron, format, request, target, delivered_before, created_by, token_id)
      values (${tenant}, ${`sch_${n}`}, ${`s${n}`}, '0 2 * * *', 'csv', '{}', '/nowhere', ${at}::timestamptz, 'me', 'tok')`,
  ],
])(
  'what %s pinned meanwhile never gets the records, so it is done anew',
  async (_, tenant, note) => {
    let pins = 0;
    let pinnedAt = '';
    const pin = () =>
      withPin(mover.db, tenant, {
        read: async (snapshot, recordedBefore) => {
          const rows = await snapshot.query(
            sql`select count from leaf_tenants where tenant = ${tenant}`,
          );
          return { rows, recordedBefore };
        },
        write: async (connection, { rows, recordedBefore }) => {
          expect(rows).toEqual([]);
          pins += 1;
          pinnedAt = recordedBefore;
          await connection.query(note(tenant, recordedBefore, pins));
        },
      });
    const pinOnce = () => (pins === 0 ? pin() : undefined);
    await importRows(tenant, rowsOf(tenant), at('verified after', pinOnce));
    expect(await journal(mover, tenant)).toMatchObject([
      { state: 'failed', error_code: 'pinned_meanwhile' },
      { state: 'removed' },
    ]);
    const early = await mover.db.query(sql`
    select 1 from stored_parts where tenant = ${tenant} and recorded_at <= ${pinnedAt}::timestamptz`);
    expect(early).toEqual([]);
    expect(await differences(mover, tenant)).toEqual([]);
  },
);

test('an erasure after a kill finds what the import had copied', async () => {
  await expect(importRows('erased', rowsOf('erased'), dieAt('verified after'))).rejects.toThrow(
    'killed',
  );
  const receipt = await eraseOnce(mover, { tenant: 'erased', event_ids: ['e-3'] });
  expect(receipt.erased.count).toBe(1);
  expect(await countOf('erased')).toBe(19);
  expect(await differences(mover, 'erased')).toEqual([]);
});

test.each(['planned', 'copied', 'verified', 'switched'] as const)(
  'an erasure that is asked for once an import is %s erases of what it stores',
  async (state) => {
    const tenant = `asked-${state}`;
    let erasing: ReturnType<typeof eraseOnce> | undefined;
    const ask = at(`${state} after`, () => {
      erasing = eraseOnce(mover, { tenant, event_ids: ['e-3', 'e-17'] });
    });
    await importRows(tenant, rowsOf(tenant), ask);
    expect((await erasing)?.erased.count).toBe(2);
    expect(await countOf(tenant)).toBe(18);
    expect(await differences(mover, tenant)).toEqual([]);
  },
);
