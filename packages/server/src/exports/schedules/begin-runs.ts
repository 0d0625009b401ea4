import { newId } from '../../kernel/ids.ts';
import { parseCron } from '../../platform/cron.ts';
import type { Log } from '../../platform/log.ts';
import type { Connection, Database } from '../../platform/postgres/database.ts';
import { type Repeated, repeat } from '../../platform/work/repeat.ts';
import { withSessionLock } from '../../platform/work/session-lock.ts';
import { pinSlice, toSlice, withPin } from '../../records/index.ts';
import type { WorkContext } from '../jobs/context.ts';
import { fileNameOf, toFileOptions } from '../jobs/create.ts';
import { mark } from '../jobs/deliver.ts';
import { listUnmarked, listUntold, setMarked } from '../jobs/delivery-queries.ts';
import { insertJob, lockQueue } from '../jobs/queries.ts';
import * as queries from './queries.ts';
import { type ReportRun, reportRuns } from './report-runs.ts';
import { folderOfRun, parseTarget, type TargetTools } from './target.ts';

export type ScheduleOptions = Pick<WorkContext, 'db' | 'source' | 'openTarget'> &
  Pick<TargetTools, 'roots'> & {
    readonly log: Log;
    readonly report: ReportRun;
    /** Is called when a run was begun. */
    readonly onBegun: () => void;
  };

/** A marker that could not be written, or a run that could not begin, is tried again after this time. */
const pauseMillis = 60_000;
const markMillis = 30_000;
const atOnce = 100;

/** Begins, marks and reports the runs of schedules, one process at a time. A minute of cron is noticed within `lookMillis`. */
export function startSchedules(options: ScheduleOptions, lookMillis: number): Repeated {
  const { db, log } = options;
  const pausedUntil = new Map<string, number>();
  const lost = 'The lock on the schedules of exports was lost with its connection.';
  return repeat(
    async (signal) => {
      const now = performance.now();
      for (const [id, until] of pausedUntil) if (until <= now) pausedUntil.delete(id);
      const found = await findWork(db, [...pausedUntil.keys()]);
      if (!found) return;
      const work = async (ending: AbortSignal) => {
        const looked = { except: [...pausedUntil.keys()], signal: ending };
        const failed = [
          ...(await markRuns(options, looked)),
          ...(await reportRuns(options, looked)),
        ];
        for (const id of failed) pausedUntil.set(id, performance.now() + pauseMillis);
        await beginRuns(options, ending, pausedUntil);
      };
      await withSessionLock(db, { name: 'schedules' }, { signal, lost, work });
    },
    {
      everyMillis: lookMillis,
      onError: (err) => log.warn({ err }, 'schedules of exports could not be looked at'),
    },
  );
}

async function findWork(db: Database, except: readonly string[]): Promise<boolean> {
  for (const list of [listUnmarked, listUntold, queries.listDue]) {
    if ((await list(db, { except, limit: 1 })).length > 0) return true;
  }
  return false;
}

/** Writes the markers of runs that lack only these. Returns the ids of those where it failed. */
export async function markRuns(
  options: Pick<ScheduleOptions, 'db' | 'source' | 'openTarget' | 'log'>,
  { except = [], signal }: { except?: readonly string[]; signal: AbortSignal },
): Promise<string[]> {
  const { db, log } = options;
  const runs = await listUnmarked(db, { except, limit: atOnce });
  const failed: string[] = [];
  // Side by side, because one place that does not answer should not hold up all others.
  await Promise.all(
    runs.map(async (run) => {
      const late = AbortSignal.any([signal, AbortSignal.timeout(markMillis)]);
      try {
        await mark(options, run, { marker: run.delivery.marker, signal: late });
        await setMarked(db, run, null);
      } catch (err) {
        signal.throwIfAborted();
        failed.push(run.id);
        log.warn({ err, exportId: run.id }, 'a delivery lacks its marker still');
        const why = err instanceof Error ? err.message : String(err);
        await setMarked(db, run, `All files are delivered, but _SUCCESS is not: ${why}`);
      }
    }),
  );
  if (runs.length > 0) await queries.dropSecrets(db);
  return failed;
}

/** Begins a run of each schedule that is due and not paused after a failure. Returns how many were begun. */
export async function beginRuns(
  options: Pick<ScheduleOptions, 'db' | 'roots' | 'log' | 'onBegun'>,
  signal: AbortSignal,
  pausedUntil = new Map<string, number>(),
): Promise<number> {
  const { db, log } = options;
  let begun = 0;
  for (const schedule of await queries.listDue(db, {
    except: [...pausedUntil.keys()],
    limit: atOnce,
  })) {
    signal.throwIfAborted();
    try {
      if (await beginRun(db, schedule, options.roots)) begun += 1;
    } catch (err) {
      signal.throwIfAborted();
      pausedUntil.set(schedule.id, performance.now() + pauseMillis);
      log.warn({ err, scheduleId: schedule.id }, 'a run of a schedule could not begin');
    }
  }
  if (begun > 0) options.onBegun();
  return begun;
}

/**
 * Queues a run of what was stored since the last delivered one; missed minutes are one run. Who stores takes the time
 * under a lock that a pin waits for, so what is committed later goes out in the next run.
 */
async function beginRun(
  db: Database,
  schedule: queries.StoredSchedule,
  roots: ScheduleOptions['roots'],
): Promise<boolean> {
  const { tenant, id, request, delivered_before: from } = schedule;
  const wanted = { ...toSlice(request, { tenants: null }, '/'), tenant };
  return withPin(db, tenant, {
    read: (snapshot, recordedBefore) =>
      pinSlice(snapshot, { ...wanted, recordedFrom: from ?? undefined }, recordedBefore),
    async write(connection: Connection, { slice, triple }) {
      const { recordedBefore } = slice;
      if (from !== null && recordedBefore <= from) {
        throw new Error(
          `the clock of the database was set back, from ${from} to ${recordedBefore}`,
        );
      }
      await lockQueue(connection, tenant);
      const due = await queries.lockDue(connection, schedule);
      if (due === undefined || due.delivered_before !== from) return false;
      const exportId = newId('exp');
      const options = toFileOptions(schedule.format, request, slice);
      const run = { tenant, schedule: schedule.name, exportId, recordedBefore };
      const folder = folderOfRun(parseTarget(due.target, roots), run);
      await insertJob(connection, {
        tenant,
        id: exportId,
        request,
        options,
        slice: { ...slice, tenants: null },
        triple,
        file_name: fileNameOf(request, { version: null }, options),
        version: null,
        typed_schema: due.typed_schema ?? null,
        requested_by: schedule.created_by,
        tokenId: schedule.token_id,
        schedule: { id, name: schedule.name, deliversTo: folder, isUntold: due.webhook },
      });
      const next = due.enabled ? parseCron(due.cron).next(due.now) : null;
      await queries.setDue(connection, due, next === null ? null : new Date(next).toISOString());
      return true;
    },
  });
}
