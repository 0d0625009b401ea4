import { assertReach } from '../../kernel/actor.ts';
import { newId } from '../../kernel/ids.ts';
import { type Act, noteAct } from '../../platform/audit.ts';
import { doJobs, startJobs } from '../../platform/jobs/runner.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { type Repeated, repeat } from '../../platform/work/repeat.ts';
import { stopTogether } from '../../platform/work/stop.ts';
import type { RunRow } from '../contract.ts';
import { createRunKind, type RunContext } from './do-run.ts';
import * as queries from './queries.ts';
import { createScheduler, type Schedule, type ScheduleOptions } from './schedule.ts';

type RunRequest = { tenant?: string; before?: string; delete_versioned?: boolean };

/** Queues a run over the tenants that the caller reaches. Throws 400 `request_invalid` for a tenant out of reach. */
export async function requestRun(db: Database, act: Act, wanted: RunRequest): Promise<RunRow> {
  const { actor } = act;
  const { tenant = null, before = null, delete_versioned: deleteVersioned = false } = wanted;
  if (tenant !== null) assertReach(actor, tenant);
  return db.transaction(async (connection) => {
    const run = await queries.insertRun(connection, {
      id: newId('run'),
      tenant,
      tenants: actor.tenants,
      before,
      deleteVersioned,
      requestedBy: actor.name,
    });
    await noteAct(connection, act, {
      action: 'retention.run',
      target: run.id,
      tenant,
      after: { tenant, before, delete_versioned: deleteVersioned },
    });
    return run;
  });
}

export type RunnerOptions = RunContext &
  ScheduleOptions & {
    /** Removes the objects that nothing has referred to for long enough; called at each look. */
    removeObjects(signal: AbortSignal): Promise<void>;
    /** null means that runs are done only when somebody asks for them. */
    readonly schedule: Schedule | null;
  };

/** How often it looks whether a run is due, and objects are to be removed. */
const lookMillis = 2000;

/**
 * Does the runs of the database. Every process of the role retention does this: they divide the tenants of a run, and
 * do one run at a time. The tenant that a process is at work on when it stops is taken up by another process, or by
 * this one at its next start.
 */
export function startRunner(db: Database, options: RunnerOptions): Repeated {
  const { log, schedule, clock } = options;
  const every = (work: (signal: AbortSignal) => Promise<void>, fault: string) =>
    repeat(work, { everyMillis: lookMillis, onError: (err) => log.warn({ err }, fault) });
  const runs = startJobs(db, createRunKind(db, options), log);
  const removals = every(
    (signal) => options.removeObjects(signal),
    'objects of no use could not be removed yet',
  );
  const { onScheduled } = options;
  const queue =
    schedule === null ? undefined : createScheduler(db, schedule, { clock, onScheduled });
  const ticks =
    queue &&
    every(async () => {
      if (await queue()) runs.poke();
    }, 'the scheduled retention run could not be queued');
  return {
    poke: () => runs.poke(),
    async stop() {
      await stopTogether([runs, removals, ...(ticks === undefined ? [] : [ticks])], log);
    },
  };
}

/** Does all runs that are queued or under way, as far as other processes leave something of them. */
export function doRuns(
  db: Database,
  { signal, ...context }: RunContext & { signal: AbortSignal },
): Promise<void> {
  return doJobs(db, createRunKind(db, context), { log: context.log, signal });
}
