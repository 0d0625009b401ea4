import type { Actor } from '../kernel/actor.ts';
import { AppError, type ErrorCode } from '../kernel/errors.ts';
import { type Act, noteAct } from '../platform/audit.ts';
import type { Log } from '../platform/log.ts';
import type { Connection, Database, Queryable } from '../platform/postgres/database.ts';
import type { Pace } from '../platform/work/pace.ts';
import { type Repeated, repeatShares, type ShareDone } from '../platform/work/repeat.ts';
import type { JobRow } from './contract.ts';
import { changePaced, findPacedWait, type PacedChange, type PacedTable } from './paced-queries.ts';
import type { WakeUp } from './wake-up.ts';

/** The most rows that one share changes. 500 rows kept their counters locked for 50 ms on two busy cores. */
export const shareRows = 250;
/**
 * A job with a rate does this many shares a second, or shares of one row if the rate is lower. What a share queues is
 * due at once, and a live delivery waits behind it: with four a second, its p99 was longer in three turns of three.
 */
const sharesPerSecond = 10;

/** How many rows one share of a job changes at most; null: it has no rate. */
export function shareOf(rate: number | null): number {
  if (rate === null) return shareRows;
  return Math.min(shareRows, Math.max(1, Math.floor(rate / sharesPerSecond)));
}

/** How often jobs are looked for without a poke, since a process that was killed leaves its own behind. */
const lookMillis = 2000;

/**
 * Does shares of jobs until it is stopped, which waits for the share under way. One process at a time works on a job,
 * and none holds a connection between shares. Poke it when this process has made or changed a job.
 */
export function startPaced(
  share: () => Promise<ShareDone>,
  { title, log, pace }: { title: string; log: Pick<Log, 'warn'>; pace: Pace },
): Repeated {
  return repeatShares(share, {
    pace,
    everyMillis: lookMillis,
    onError: (err) => log.warn({ err }, `a ${title} failed and is tried again`),
  });
}

/**
 * Does one share of one job by `work`, which answers the endpoints that have something to send then, or null where no job
 * may go on. The rows and how far the job is commit together, so a process that dies at any point loses nothing and does
 * nothing twice. `waitMillis` is null where no job is known to become ready.
 */
export async function doPacedShare(
  db: Database,
  { table, wakeUp }: { table: PacedTable; wakeUp: WakeUp },
  work: (connection: Connection) => Promise<readonly string[] | null>,
): Promise<ShareDone> {
  const endpointIds = await db.transaction(work);
  if (endpointIds === null) return { hasWorked: false, waitMillis: await findPacedWait(db, table) };
  if (endpointIds.length > 0) wakeUp.wake(endpointIds);
  return { hasWorked: true, waitMillis: null };
}

type PacedJob = Pick<JobRow, 'id' | 'state' | 'tenant' | 'rate'>;

/** A kind of such jobs, as whoever changes one has to know it. */
export type PacedKind<Job extends PacedJob> = {
  readonly table: PacedTable;
  /** A job within reach. Throws the 404 of its kind. */
  find(db: Queryable, actor: Actor, id: string): Promise<Job>;
  /** What the audit log calls such a job: `replay`. */
  noun(job: Job): string;
  readonly finished: { readonly code: ErrorCode; readonly name: string };
};

export const cancelled = { state: 'cancelled' } as const;

/**
 * Pauses, resumes or cancels a job, or changes its rate, and puts that on record. What it has done stays so. Throws the
 * 404 of its kind, and its 409 when it has ended, unless it was to be cancelled: then it stays as it is.
 */
export async function changeJob<Job extends PacedJob>(
  db: Database,
  act: Act,
  kind: PacedKind<Job>,
  { id, change }: { id: string; change: PacedChange },
): Promise<Job> {
  const verb = change.state === 'cancelled' ? 'cancel' : 'change';
  const told = ({ state, rate }: PacedJob) => ({ state, rate });
  const before = await kind.find(db, act.actor, id);
  const after = await db.transaction(async (connection) => {
    const changed = await changePaced<Job>(connection, kind.table, id, change);
    if (changed === undefined) return undefined;
    await noteAct(connection, act, {
      action: `${kind.noun(before)}.${verb}`,
      target: id,
      tenant: before.tenant,
      before: told(before),
      after: told(changed),
    });
    return changed;
  });
  if (after !== undefined) return after;
  const now = await kind.find(db, act.actor, id);
  if (verb === 'cancel') return now;
  const { code, name } = kind.finished;
  throw new AppError(code, {
    detail: `The ${name} is ${now.state}: it cannot be changed. Ask for a new one.`,
  });
}
