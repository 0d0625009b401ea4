import { readdir } from 'node:fs/promises';
import sql from 'sql-template-tag';
import { beforeEach, describe, expect, test } from 'vitest';
import { freeze } from '../../records/read/testing/freeze.ts';
import { ingest as store } from '../../records/read/testing/walk.ts';
import { dropPlaceSecrets } from '../jobs/delivery-queries.ts';
import { cancelOpenJob, pruneJobs } from '../jobs/queries.ts';
import { listGoneDeliveries, noteGoneExports } from '../jobs/sweep.ts';
import { beginRuns } from './begin-runs.ts';
import * as queries from './queries.ts';
import { idsOf } from './testing/delivered.ts';
import { useScheduleRuns } from './testing/runs.ts';

const runs = useScheduleRuns();
const {
  exports,
  root,
  schedule,
  placeWith,
  placeOfRun,
  lead,
  begin,
  mark,
  runWhole,
  delivered,
  lastId,
  tools,
  signal,
} = runs;
let tenant = '';
beforeEach(() => {
  tenant = runs.tenantOf();
});
const killed = () => {
  throw new Error('killed');
};

describe('a run', () => {
  test('that is killed at any put of its delivery is whole in the end, and nothing goes twice', async () => {
    await exports.ingest(tenant, 70, 'a');
    await begin();
    const before: string[] = [];
    // Each attempt comes one put further than the one before.
    for (let most = 0; ; most += 1) {
      let puts = 0;
      await exports.db.query(sql`update exports set failures = 0, due_at = null`);
      await exports.work(
        placeWith((key) => {
          if (puts === most) killed();
          puts += 1;
          before.push(key);
        }),
      );
      // Without its marker nothing of it counts.
      expect(await delivered()).toEqual([]);
      if (puts < most || (await exports.job(await lastId())).state === 'completed') break;
    }
    expect(new Set(before).size).toBeGreaterThan(2);
    // While the marker is missing, no other run begins.
    await exports.ingest(tenant, 10, 'b');
    expect(await begin()).toBe(0);
    expect(await mark(placeWith(killed))).toHaveLength(1);
    expect(await delivered()).toEqual([]);
    await mark();
    expect(await delivered()).toEqual(idsOf('a', 70).sort());
    await runWhole();
    expect(await delivered()).toEqual([...idsOf('a', 70), ...idsOf('b', 10)].sort());
  });

  test('that is cancelled, failed or erased is made up for by the next', async () => {
    await exports.ingest(tenant, 20, 'a');
    for (const end of ['cancel', 'fail', 'erase'] as const) {
      await begin();
      const id = await lastId();
      if (end === 'cancel') await cancelOpenJob(exports.db, { tenant, id });
      else if (end === 'fail') {
        for (let n = 0; n < 5; n += 1) await exports.work(placeWith(killed));
      } else {
        const window = { store: null, from: '2001-03-01', until: '2001-03-02' };
        await exports.db.transaction((connection) =>
          noteGoneExports(connection, {
            tenant,
            kind: 'erase',
            days: [{ store: 'A', day: '2001-03-01' }],
            window,
          }),
        );
      }
      const { state } = await exports.job(id);
      expect(state).toBe(end === 'cancel' ? 'cancelled' : 'failed');
      expect(await delivered()).toEqual([]);
    }
    await exports.ingest(tenant, 5, 'b');
    await runWhole();
    expect(await delivered()).toEqual([...idsOf('a', 20), ...idsOf('b', 5)].sort());
  });

  test('that lacks only its marker where its schedule was before gets it there, and is not waited for', async () => {
    await exports.ingest(tenant, 10, 'a');
    await begin();
    await exports.work(placeOfRun());
    expect(await mark(placeOfRun(killed))).toHaveLength(1);
    const first = await exports.job(await lastId());
    await exports.ingest(tenant, 5, 'b');
    expect(await begin()).toBe(0);
    await lead(`${root}/{tenant}-new`);
    expect(await begin()).toBe(1);
    await exports.work(placeOfRun());
    // The new run has its marker although the old one still has none.
    await mark(placeOfRun((key) => void (key.startsWith(`${tenant}/`) && killed())));
    const second = await exports.job(await lastId());
    expect(second.delivered_to).toContain(`${root}/${tenant}-new/`);
    expect([first, second].map(({ rows_total: rows }) => rows)).toEqual([10, 5]);
    expect(await readdir(second.delivered_to ?? '')).toContain('_SUCCESS');
    expect(await delivered()).toEqual([]);
    await mark(placeOfRun());
    expect(await delivered()).toEqual(idsOf('a', 10).sort());
  });

  test('keeps the key of the place where it began until it has ended, sealed anew if need be', async () => {
    const [old, anew] = [Buffer.from('old'), Buffer.from('anew')];
    await exports.db.query(sql`update export_schedules set access_key_id = 'AK', secret = ${old}`);
    await begin();
    await lead(`${root}/elsewhere`);
    const run = { tenant, id: await lastId() };
    const sealed = await queries.listSealedSchedules(exports.db);
    expect(sealed).toEqual([{ id: schedule().id, secret: old }]);
    await queries.replaceSealedSchedule(exports.db, { id: schedule().id, secret: old }, anew);
    const place = { target: `${root}/{tenant}`, access_key_id: 'AK', schedule_id: schedule().id };
    await dropPlaceSecrets(exports.db);
    expect(await queries.findTarget(exports.db, run)).toEqual({ ...place, secret: anew });
    await cancelOpenJob(exports.db, run);
    await dropPlaceSecrets(exports.db);
    expect(await queries.findTarget(exports.db, run)).toEqual({ ...place, secret: null });
  });

  test('begins again an hour after it failed', async () => {
    await begin();
    await exports.db.query(sql`
      update exports set state = 'failed', finished_at = now() - interval '59 minutes'`);
    expect(await beginRuns({ ...tools, db: exports.db }, signal)).toBe(0);
    await exports.db.query(sql`update exports set finished_at = now() - interval '1 hour'`);
    expect(await beginRuns({ ...tools, db: exports.db }, signal)).toBe(1);
  });

  test('begins although a hundred that are due before it cannot', async () => {
    await exports.db.query(sql`
      insert into export_schedules (tenant, id, name, cron, format, request, target, due_at, created_by, token_id)
      select tenant, id || n, name || n, cron, format, request, '/elsewhere', now() - interval '1 hour', 'test', 'tok'
      from export_schedules, generate_series(1, 100) n`);
    const paused = new Map<string, number>();
    await queries.setDue(exports.db, schedule(), 'now');
    const look = () => beginRuns({ ...tools, db: exports.db }, signal, paused);
    expect(await look()).toBe(0);
    expect(paused.size).toBe(100);
    expect(await look()).toBe(1);
  });

  test('begins once, however many processes look', async () => {
    await exports.ingest(tenant, 8, 'a');
    await queries.setDue(exports.db, schedule(), 'now');
    const looks = Array.from({ length: 6 }, () => beginRuns({ ...tools, db: exports.db }, signal));
    expect((await Promise.all(looks)).reduce((sum, begun) => sum + begun, 0)).toBe(1);
    await exports.work(placeWith());
    await Promise.all([mark(), mark()]);
    expect(await delivered()).toEqual(idsOf('a', 8).sort());
  });
});

test('records that are stored while runs begin go out once, in either tier', async () => {
  const kinds: string[] = [];
  const writer = async (of: number) => {
    for (let n = 0; n < 6; n += 1) {
      const kind = `w${of}x${n}`;
      await exports.ingest(tenant, 5, kind);
      kinds.push(kind);
    }
  };
  let isWriting = true;
  const writing = Promise.all([writer(1), writer(2), writer(3)]).finally(() => {
    isWriting = false;
  });
  for (let n = 0; isWriting || n < 3; n += 1) {
    await runWhole();
    const what = {
      tenant,
      id: `seg_${tenant}_${n}`,
      filter: `store = '${n % 2 === 0 ? 'A' : 'B'}'`,
    };
    if (!isWriting) await freeze(exports.db, exports.cold, what);
  }
  await writing;
  await runWhole();
  expect(await delivered()).toEqual(kinds.flatMap((kind) => idsOf(kind, 5)).sort());
});

test('late records of many months go out in few files', async () => {
  const line = (month: number, n: number) =>
    JSON.stringify({
      tenant,
      store: 'A',
      event_id: `m${month}-${n}`,
      enrichment: { n },
      occurred_at: `2001-${String(month).padStart(2, '0')}-0${n + 1}T00:00:00Z`,
    });
  const all = (n: number) => Array.from({ length: 12 }, (_, month) => line(month + 1, n));
  await store(exports.db, exports.cold, [[...all(0), ...all(3), ...all(6)]]);
  await runWhole();
  await store(exports.db, exports.cold, [[...all(1), ...all(4)]]);
  await runWhole();
  const { parts_total: parts, rows_total: rows } = await exports.job(await lastId());
  expect({ parts, rows }).toEqual({ parts: 12, rows: 24 });
  expect(await delivered()).toHaveLength(60);
});

test('what came for two stores and months goes out once from one segment', async () => {
  const lines = ['A', 'B'].flatMap((place) =>
    [1, 2].map((month) =>
      JSON.stringify({
        tenant,
        store: place,
        event_id: `${place}${month}`,
        enrichment: {},
        occurred_at: `2001-0${month}-05T00:00:00Z`,
      }),
    ),
  );
  await exports.ingest(tenant, 1, 'first');
  await runWhole();
  await store(exports.db, exports.cold, [lines]);
  await freeze(exports.db, exports.cold, { tenant, id: `seg_${tenant}` });
  await runWhole();
  expect(await exports.job(await lastId())).toMatchObject({ state: 'completed', rows_total: 4 });
  expect(await delivered()).toEqual(['A1', 'A2', 'B1', 'B2', 'first-0']);
});

test('an erasure names the folders that have records of its days, and keeps files of other days', async () => {
  const line = (month: number) =>
    JSON.stringify({
      tenant,
      store: 'A',
      event_id: `m${month}`,
      enrichment: {},
      occurred_at: `2001-0${month}-05T00:00:00Z`,
    });
  const folders: string[] = [];
  for (const month of [1, 2]) {
    await store(exports.db, exports.cold, [[line(month)]]);
    await runWhole();
    folders.push((await exports.job(await lastId())).delivered_to ?? '');
  }
  const gone = goneOn('2001-01-05');
  await exports.db.transaction(async (connection) => {
    expect(await listGoneDeliveries(connection, gone)).toEqual([folders[0]]);
    expect(await noteGoneExports(connection, gone)).toHaveLength(1);
  });
  expect((await exports.job(await lastId())).state).toBe('completed');
  const erased = await exports.db.query(sql`select error from exports where state = 'erased'`);
  expect(erased).toEqual([
    { error: expect.stringMatching(/so its file was removed\. What was delivered stays/) },
  ]);
});

const goneOn = (day: string) => ({
  tenant,
  kind: 'erase' as const,
  window: null,
  days: [{ store: 'A', day }],
});

test('an erasure names folders of runs that did not end well, which are remembered for it', async () => {
  await begin();
  await exports.work(placeWith());
  await mark();
  await exports.ingest(tenant, 20, 'a');
  const folders: (string | null)[] = [];
  for (const end of ['cancel', 'fail'] as const) {
    await begin();
    const id = await lastId();
    // Its manifest does not come any more, its parts are there.
    for (let n = 0; n < (end === 'fail' ? 5 : 1); n += 1) {
      await exports.work(placeWith((key) => void (key.includes('manifest') && killed())));
    }
    if (end === 'cancel') await cancelOpenJob(exports.db, { tenant, id });
    const { state, delivered_to: folder } = await exports.job(id);
    expect(state).toBe(end === 'cancel' ? 'cancelled' : 'failed');
    expect(await readdir(folder ?? '')).toContain('part-00001.ndjson');
    folders.push(folder);
  }
  await exports.db.query(sql`
    update exports set created_at = now() - interval '91 days', files_removed_at = now()`);
  await pruneJobs(exports.db);
  const list = (day: string) =>
    exports.db.transaction((connection) => listGoneDeliveries(connection, goneOn(day)));
  expect(new Set(await list('2001-03-01'))).toEqual(new Set(folders));
  expect(await list('2001-01-05')).toEqual([]);
  expect(await exports.db.query(sql`select from exports`)).toHaveLength(2);
  // Of a run that is to fail by this erasure.
  await begin();
  await exports.work(placeWith((key) => void (key.includes('manifest') && killed())));
  const { delivered_to: open } = await exports.job(await lastId());
  expect(await list('2001-03-01')).toContain(open);
});

test('a schedule is told of when its last run failed, and when the next is late', async () => {
  const troubles = () => queries.listTroubledSchedules(exports.db, null);
  const due = (ago: string) =>
    exports.db.query(sql`update export_schedules set due_at = now() - ${ago}::interval`);
  await due('29 minutes');
  expect(await troubles()).toEqual([]);
  await due('31 minutes');
  expect(await troubles()).toMatchObject([{ id: schedule().id, state: 'late' }]);
  expect(await queries.listTroubledSchedules(exports.db, ['other'])).toEqual([]);
  await runWhole();
  expect(await troubles()).toEqual([]);
  await exports.ingest(tenant, 3, 'a');
  await begin();
  await exports.db.query(sql`
    update exports set state = 'failed', finished_at = now() where id = ${await lastId()}`);
  expect(await troubles()).toMatchObject([{ id: schedule().id, state: 'failing' }]);
  await exports.db.query(sql`update export_schedules set enabled = false`);
  expect(await troubles()).toEqual([]);
});
