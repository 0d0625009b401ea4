import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import sql from 'sql-template-tag';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { planOf, testOnOneServer, untilLockWaits } from '../../../test/one-server.ts';
import { onGone } from '../../app/retention.ts';
import { createLog } from '../../platform/log.ts';
import { type Connection, onlyRow } from '../../platform/postgres/database.ts';
import { type Gone, hasLost } from '../../records/index.ts';
import { findOrphans } from '../../retention/verify/find-orphans.ts';
import { findNextJob } from './hold-queries.ts';
import { jobFolder, toExportJob } from './job.ts';
import { manifestOf } from './list.ts';
import { cancelOpenJob, lockQueue, pruneJobs } from './queries.ts';
import { noteGoneExports, sweep } from './sweep.ts';
import { useTestExports } from './testing/test-exports.ts';

const exports = useTestExports();
beforeAll(() => exports.ingest('T', 60));
beforeEach(async () => {
  await exports.db.query(sql`update exports set expires_at = now()`);
  await clean();
  await exports.db.query(sql`delete from exports`);
  await exports.db.query(sql`delete from export_parts`);
});

const never = new AbortController().signal;
const clean = (store = exports.cold.store) =>
  sweep({ db: exports.db, store, fence: exports.fence, log: createLog('silent') }, never);
async function completed(): Promise<string> {
  const { id } = await exports.create('csv', { tenant: 'T' });
  await exports.work();
  expect((await exports.job(id)).state).toBe('completed');
  return id;
}
const days = [{ store: 'A', day: '2001-03-01' }];
const noteGone = (connection: Connection, more: Partial<Gone> = {}) =>
  noteGoneExports(connection, { tenant: 'T', kind: 'erase', days, window: null, ...more });
const gone = async (more?: Partial<Gone>) =>
  (await exports.db.transaction((connection) => noteGone(connection, more))).length;
async function orphans(prefix = ''): Promise<string[]> {
  const found: string[] = [];
  await findOrphans(exports.db, exports.cold.store, [prefix], {
    rest: async () => {},
    signal: never,
    add: (problems) => void found.push(...problems.map(({ object_key }) => object_key ?? '')),
  });
  return found;
}

test('a sweep leaves a file alone until it expires, and then removes all of it', async () => {
  const id = await completed();
  await clean();
  const keys = await exports.keys();
  expect(keys.length).toBeGreaterThan(3);
  expect((await exports.job(id)).has_file).toBe(true);
  await exports.db.query(sql`update exports set expires_at = now()`);
  expect((await exports.job(id)).has_file).toBe(false);
  await clean();
  expect(await exports.keys()).toEqual([]);
  expect(await exports.db.query(sql`select from exports where files_removed_at is null`)).toEqual(
    [],
  );
});

test('an erasure names the folder of a run that begins and delivers while the erasure waits', async () => {
  const { id } = await exports.create('csv', { tenant: 'T' });
  await exports.db.query(sql`update exports set delivered_to = 'place/run' where id = ${id}`);
  const { erasing } = await exports.db.transaction(async (connection) => {
    await lockQueue(connection, 'T');
    const lost = { tenant: 'T', kind: 'erase', days, window: null } as const;
    const effects = exports.db.transaction((other) => onGone(other, lost));
    await untilLockWaits(exports.db);
    // Only now its parts are cut, which tell the days of its records.
    await exports.work();
    return { erasing: effects };
  });
  expect(await erasing).toMatchObject({ exportsRemoved: 1, delivered: ['place/run'] });
});

test('a removal that was cut off is tried again', async () => {
  await completed();
  await exports.db.query(sql`update exports set expires_at = now()`);
  let removals = 0;
  await clean({
    ...exports.cold.store,
    async remove(key) {
      removals += 1;
      if (removals === 2) throw new Error('killed');
      await exports.cold.store.remove(key);
    },
  });
  expect((await exports.keys()).length).toBeGreaterThan(0);
  await clean();
  expect(await exports.keys()).toEqual([]);
});

test('many jobs whose objects cannot be removed keep nobody from the others', async () => {
  const id = await completed();
  const stuck = { ...exports.cold.store };
  const { store } = exports.cold;
  stuck.list = (prefix, signal) => {
    if (!prefix.startsWith(jobFolder({ tenant: 'T', id }))) throw new Error('no such folder');
    return store.list(prefix, signal);
  };
  await exports.db.query(sql`
    insert into exports select (jsonb_populate_record(e, jsonb_build_object('id', 'exp_stuck' || n))).*
    from exports e, generate_series(1, 150) n where e.id = ${id}`);
  await exports.db.query(sql`
    update exports set expires_at = now() - case id when ${id} then '1 hour' else '2 hours' end::interval`);
  await expect
    .poll(async () => {
      await clean(stuck);
      return exports.keys();
    })
    .toEqual([]);
});

test('a cancelled job is swept when nobody works on it any more', async () => {
  const { id } = await exports.create('csv', { tenant: 'T' });
  const taken = await exports.tryTake();
  await cancelOpenJob(exports.db, { tenant: 'T', id });
  const path = join(exports.cold.spoolDir, randomBytes(4).toString('hex'));
  await writeFile(path, 'half');
  await exports.cold.store.put(`${jobFolder({ tenant: 'T', id })}1.1`, path);
  await clean();
  expect(await exports.keys()).toHaveLength(1);
  await taken?.session.close();
  await expect
    .poll(async () => {
      await clean();
      return exports.keys();
    })
    .toEqual([]);
});

test('jobs of more than 90 days are forgotten when their files are gone', async () => {
  await completed();
  const kept = await completed();
  await exports.db.query(sql`
    update exports set created_at = now() - interval '91 days',
      expires_at = case when id = ${kept} then now() + interval '1 day' else now() end`);
  await clean();
  expect(await exports.db.query(sql`select id from exports`)).toEqual([{ id: kept }]);
  expect(
    await exports.db.query(
      sql`select distinct export_id from export_parts where export_id <> ${kept}`,
    ),
  ).toEqual([]);
});

// What schedules delivered is kept: of all tables of jobs this one alone grows for ever.
testOnOneServer('no look goes through all jobs that ever were', async () => {
  const next = await planOf(exports.db, (db) => findNextJob(db, 2));
  expect(next).toContain('Index Only Scan Backward using exports_turns_idx');
  expect(await planOf(exports.db, pruneJobs)).toContain('exports_prunable_idx');
});

testOnOneServer(
  'a connection that looked when there were few jobs still looks along the index',
  async () => {
    await exports.create('csv', { tenant: 'T' });
    const { db } = exports;
    await db.query(sql`analyze exports`);
    await db.transaction(async (connection) => {
      const read = async () => {
        const rows = await connection.query<{ blocks: number }>(sql`
        select pg_stat_get_xact_blocks_fetched('exports'::regclass)::int as blocks`);
        return onlyRow(rows).blocks;
      };
      // After five looks PostgreSQL may keep the plan of a prepared statement.
      for (let n = 0; n < 7; n += 1) expect(await findNextJob(connection, 2)).toBeDefined();
      await connection.query(sql`
      insert into exports (tenant, id, format, request, options, file_name, slice, recorded_before, requested_by,
        token_id, state, taken_at, finished_at)
      select 'T' || n, 'exp_' || n, 'csv', '{}', '{}', repeat('x', 500), '{}', now(), 'test', 'tok_' || n % 100,
        case when n > 4900 then 'queued' else 'completed' end, now(), case when n <= 4900 then now() end
      from generate_series(1, 5000) as n`);
      const before = await read();
      expect(await findNextJob(connection, 2)).toBeDefined();
      expect((await read()) - before).toBeLessThan(1000);
    });
  },
);

test('a verification knows the objects of files that are kept, and no others', async () => {
  const id = await completed();
  expect(await orphans()).toEqual([]);
  expect(await orphans('exports/tenant=T/')).toEqual([]);
  const keys = await exports.keys();
  await exports.db.query(sql`update exports set files_removed_at = now() where id = ${id}`);
  expect((await orphans()).sort()).toEqual(keys);
  await exports.db.query(sql`update exports set files_removed_at = null where id = ${id}`);
});

test('an erasure removes the files that hold what it erases, and no others', async () => {
  const id = await completed();
  expect(await gone({ tenant: 'OTHER' })).toBe(0);
  expect(await gone({ days: [] })).toBe(0);
  expect((await exports.job(id)).has_file).toBe(true);
  expect(await gone()).toBe(1);
  const job = await exports.job(id);
  expect(job).toMatchObject({ state: 'erased', has_file: false, error_code: 'slice_erased' });
  expect(job.error).toContain('erased on request, so its file was removed');
  expect(toExportJob(job)).toMatchObject({ percent: 100, rows_done: 60, expires_at: null });
  expect(manifestOf(job)).toMatchObject({ rows: 60 });
  expect(await gone()).toBe(0);
  await clean();
  expect(await exports.keys()).toEqual([]);
});

test('an erasure names the files that it removes, and those that were fetched, also before they went', async () => {
  const id = await completed();
  const { file_name: name } = await exports.job(id);
  await exports.db.query(sql`
    insert into audit_log (token_name, action, target, tenant) values ('ops', 'export.download', ${id}, 'T'),
      ('bot', 'export.download', ${id}, 'T'), ('ops', 'export.delete', ${id}, 'T')`);
  const erase = (day: string) =>
    exports.db.transaction((connection) =>
      onGone(connection, { tenant: 'T', kind: 'erase', days: [{ store: 'A', day }], window: null }),
    );
  const downloads = [{ id, name, at: expect.any(String), by: ['bot', 'ops'] }];
  const first = await erase('2001-03-01');
  expect(first).toMatchObject({ exportsRemoved: 1, exports: [{ id, name }], downloads });
  expect(await erase('2001-03-01')).toMatchObject({ exportsRemoved: 0, exports: [], downloads });
  await exports.db.query(sql`
    update exports set slice = jsonb_set(slice::jsonb, '{from}', '"2001-03-02"') where id = ${id}`);
  expect(await erase('2001-03-01')).toMatchObject({ downloads: [] });
});

test('a job that begins while records are erased ends after it began', async () => {
  const { id } = await exports.create('csv', { tenant: 'T' });
  await exports.db.transaction(async (connection) => {
    await connection.query(sql`select now()`);
    const taken = await exports.tryTake();
    await noteGone(connection);
    await taken?.session.close();
  });
  const { state, started_at, finished_at } = await exports.job(id);
  expect(state).toBe('failed');
  expect(started_at).not.toBeNull();
  expect((finished_at ?? '') >= (started_at ?? '')).toBe(true);
});

test('a job that completes while an erasure waits for it loses its file, too', async () => {
  const id = await completed();
  await exports.db.query(sql`update exports set state = 'running' where id = ${id}`);
  let erased: Promise<number> | undefined;
  await exports.db.transaction(async (completing) => {
    await completing.query(sql`update exports set state = 'completed' where id = ${id}`);
    erased = gone();
    await untilLockWaits(exports.db);
  });
  expect(await erased).toBe(1);
  expect((await exports.job(id)).state).toBe('erased');
});

test('a slice has lost records if one of its days did', () => {
  const days = ['2001-01-01', '2001-01-02', '2001-01-03', '2001-01-04'];
  const day = fc.constantFrom(...days);
  const store = fc.constantFrom('A', 'B');
  const window = fc.record({ store: fc.option(store), from: day, until: day });
  const slice = fc.record({
    store: fc.option(store, { nil: undefined }),
    from: fc.option(day, { nil: undefined }),
    until: fc.option(day, { nil: undefined }),
    dataset: fc.constantFrom('training' as const, undefined),
    windows: fc.array(window, { maxLength: 3 }),
  });
  fc.assert(
    fc.property(slice, fc.array(fc.record({ store, day }), { maxLength: 3 }), (request, lost) => {
      const { windows, ...own } = request;
      const holds = (at: { store: string; day: string }) =>
        (own.store ?? at.store) === at.store &&
        (own.from ?? '0') <= at.day &&
        at.day < (own.until ?? '9') &&
        (own.dataset === undefined ||
          windows.some(
            (each) =>
              (each.store ?? at.store) === at.store && each.from <= at.day && at.day < each.until,
          ));
      const tags = { training: windows, fine_tuning: [] };
      expect(hasLost({ ...own, tags, tenant: 'T', tenants: null }, { days: lost })).toBe(
        lost.some(holds),
      );
    }),
  );
});
