import { pino } from 'pino';
import sql from 'sql-template-tag';
import { createTestDatabase, type TestDatabase } from '../../../../test/database.ts';
import { use } from '../../../../test/use.ts';
import type { Database } from '../../../platform/postgres/database.ts';
import { openDatabase } from '../../../platform/postgres/open-database.ts';
import type { Repeated } from '../../../platform/work/repeat.ts';
import { stopTogether } from '../../../platform/work/stop.ts';
import type { Movers, RunContext } from '../do-run.ts';
import { insertRun, type StoredRun } from '../queries.ts';
import { doRuns, type RunnerOptions, startRunner } from '../runs.ts';

export const log = pino({ level: 'silent' });
export const prune = async () => {};

/** Three tenants that have something due. */
export const three = [
  { tenant: 'T1', age: 9, count: 10 },
  { tenant: 'T2', age: 9, count: 20 },
  { tenant: 'T3', age: 9, count: 30 },
];

/** A database with runs, and what does them. */
async function startRunWorld() {
  const db: TestDatabase = await createTestDatabase();
  const otherDb = openDatabase({ url: db.url, maxConnections: 4, onError: () => {} });
  const runners: Repeated[] = [];
  return {
    db,
    /** As another process would have it. */
    otherDb,
    queue: (id = 'run_1', scope: Partial<StoredRun> & { deleteVersioned?: boolean } = {}) =>
      insertRun(db, {
        id,
        tenant: null,
        tenants: null,
        before: null,
        deleteVersioned: false,
        requestedBy: 'test',
        ...scope,
      }),
    readRun: async (id = 'run_1') => {
      const rows = await db.query<StoredRun>(sql`
        select state, total_count, moved_count, moved_bytes, deleted_count, failed_moves, busy_tenants,
          freed_bytes, error, finished_at is not null as has_finished
        from retention_runs where id = ${id}`);
      return rows[0];
    },
    work: (movers: Movers & Pick<RunContext, 'sleep'>, signal = new AbortController().signal) =>
      doRuns(db, { ...movers, prune, log, signal }),
    start(movers: Movers, on: Database = db, more: Partial<RunnerOptions> = {}): Repeated {
      const runner = startRunner(on, {
        ...movers,
        removeObjects: async () => {},
        prune,
        schedule: null,
        clock: Date.now,
        log,
        ...more,
      });
      runners.push(runner);
      return runner;
    },
    /** Ends the runners of a test. */
    async stopRunners() {
      await stopTogether(runners.splice(0), log);
    },
    async stop() {
      await otherDb.close();
      await db.drop();
    },
  };
}

/** Such a world for all tests of a file. */
export const useRunWorld = () => use(startRunWorld, (world) => world.stop());

export const untilAborted = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener('abort', () => reject(signal.reason));
  });
