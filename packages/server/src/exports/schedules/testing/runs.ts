import { join } from 'node:path';
import sql from 'sql-template-tag';
import { beforeEach } from 'vitest';
import { madeFolder } from '../../../../test/folder.ts';
import { createLog } from '../../../platform/log.ts';
import type { ObjectStore } from '../../../platform/objects/objects.ts';
import type { WorkContext } from '../../jobs/context.ts';
import { useTestExports } from '../../jobs/testing/test-exports.ts';
import { beginRuns, markRuns } from '../begin-runs.ts';
import * as queries from '../queries.ts';
import { openTarget, parseTarget } from '../target.ts';
import { idsIn } from './delivered.ts';

/** A schedule for each test of a file, of a tenant of its own, and what a process does with it. */
export function useScheduleRuns() {
  const exports = useTestExports();
  const root = madeFolder();
  const tools = { roots: [root], log: createLog('silent'), onBegun() {} };
  const signal = new AbortController().signal;

  let tenants = 0;
  let tenant = '';
  const schedule = () => ({ tenant, id: `sch_${tenant}` });
  beforeEach(async () => {
    tenant = `T${++tenants}`;
    await exports.db.query(sql`delete from exports`);
    await exports.db.query(sql`delete from export_schedules`);
    const row: queries.NewRow = {
      ...schedule(),
      name: 'n',
      cron: '0 2 * * *',
      format: 'ndjson',
      request: { tenant },
      target: `${root}/{tenant}`,
      access_key_id: null,
      secret: null,
      delivered_before: null,
      due_at: null,
      webhook: false,
      created_by: 'test',
      token_id: 'tok',
    };
    await queries.insertSchedule(exports.db, row);
  });

  /** The place of deliveries, but something is done before an object is put. */
  function placeWith(
    beforePut: (key: string) => void = () => {},
    to = `${root}/{tenant}`,
  ): Pick<WorkContext, 'openTarget'> {
    return {
      async openTarget() {
        const target = parseTarget(to, [root]);
        const own = await openTarget(target, undefined);
        const put: ObjectStore['put'] = async (key, path, ending) => {
          beforePut(key);
          await own.put(key, path, ending);
        };
        return { place: root, store: { ...own, put } };
      },
    };
  }

  /** The place of a run as it is stored. */
  const placeOfRun = (
    beforePut: (key: string) => void = () => {},
  ): Pick<WorkContext, 'openTarget'> => ({
    async openTarget(run) {
      const found = await queries.findTarget(exports.db, run);
      return placeWith(beforePut, found?.target).openTarget(run);
    },
  });
  /** Leads the schedule to another place, a folder. */
  async function lead(target: string): Promise<void> {
    await exports.db.transaction(async (connection) => {
      const { id } = schedule();
      const own = await queries.findSchedule(connection, { id, reach: null }, { forUpdate: true });
      if (own === undefined) throw new Error('there is no schedule');
      await queries.keepPlaceOfRun(connection, own);
      const place = { target, access_key_id: null, secret: null };
      await queries.updateSchedule(connection, { ...own, ...place });
    });
  }

  const begin = async () => {
    await queries.setDue(exports.db, schedule(), 'now');
    return beginRuns({ ...tools, db: exports.db }, signal);
  };
  const mark = (place = placeWith()) =>
    markRuns({ ...tools, ...exports.context(place) }, { signal });
  /** One look at what is to be done, as the loop of a process has it. */
  async function runWhole(): Promise<void> {
    await begin();
    await exports.work(placeWith());
    await mark();
  }
  const delivered = () => idsIn(join(root, tenant));

  async function lastId(): Promise<string> {
    const [job] = await exports.db.query<{ id: string }>(
      sql`select id from exports where tenant = ${tenant} order by created_at desc, id desc limit 1`,
    );
    return job?.id ?? '';
  }
  return {
    ...{ exports, root, tools, signal, schedule, placeWith, placeOfRun, lead },
    ...{ begin, mark, runWhole, delivered, lastId, tenantOf: () => tenant },
  };
}
