import sql, { type Sql } from 'sql-template-tag';
import { isDatabaseAway } from '../../kernel/errors.ts';
import { createGate } from '../../kernel/gate.ts';
import { randomText } from '../../kernel/ids.ts';
import type { Connection, Database, Queryable, Session } from './database.ts';
import { isHeldLock, tryLock, unlock } from './locks.ts';

/**
 * A job that several processes divide: a retention run, a verification. It is cut into shares, one row each. A share
 * belongs to the process whose session has its lock, so that a process which is killed, or frozen for longer than its
 * session lives, leaves its share to the others. Whoever takes a share leaves a mark in it, and only the one whose mark
 * it has can end it. So a process that does not know yet that it lost a share changes nothing, and what came of a share
 * is stored once.
 */
export type Divided = {
  readonly job: string;
  /** Its locks are those of this process. When it is lost, `signal` aborts. */
  readonly session: Session;
  readonly signal: AbortSignal;
};

/** Cuts a job into shares, in the order in which they are to be taken. Each says what its work is, as JSON. */
export async function addShares(
  db: Queryable,
  job: string,
  works: readonly unknown[],
): Promise<void> {
  await db.query(sql`
    insert into work_shares (job, number, work)
    select ${job}, number, work::json
    from unnest(${works.map((work) => JSON.stringify(work))}::text[]) with ordinality as share (work, number)`);
}

type ShareWork<Work> = {
  /** Does a share, and returns what stores its outcome; that is called in the transaction that ends the share. */
  readonly doShare: (work: Work) => Promise<(connection: Connection) => Promise<void>>;
  /** Stores that the job failed, in the transaction that ends the share at fault and drops all others. */
  readonly fail: (connection: Connection, error: unknown) => Promise<void>;
  /** How many shares this process does at the same time; one by default. */
  readonly atOnce?: number | undefined;
};

/** Does shares of a job that are free. After a fault the job fails once the begun ones end; a lost database throws. */
export async function doShares<Work>(
  db: Database,
  { job, session, signal }: Divided,
  { doShare, fail, atOnce = 1 }: ShareWork<Work>,
): Promise<void> {
  // Whoever has a lock gets it once more, so two that took shares at the same time could take the same one.
  const taking = createGate(1);
  const faults: { share: Share<Work>; error: unknown }[] = [];
  const passing: unknown[] = [];
  const end = (share: Share<Work>, store: (connection: Connection) => Promise<void>) =>
    db.transaction(async (connection) => {
      const ended = await connection.query(sql`
        delete from work_shares where job = ${job} and number = ${share.number} and mark = ${share.mark}
        returning number`);
      if (ended.length > 0) await store(connection);
    });
  async function doOneByOne(): Promise<void> {
    while (faults.length + passing.length === 0) {
      signal.throwIfAborted();
      const share = await taking.run(() => takeShare<Work>(session, job));
      if (share === undefined) return;
      try {
        const store = await doShare(share.work);
        signal.throwIfAborted();
        await end(share, store);
      } catch (error) {
        if (signal.aborted || isDatabaseAway(error)) throw error;
        // It keeps the lock, so that nobody begins the share again before the fault is stored.
        faults.push({ share, error });
        return;
      }
      await unlock(session, 'shares', lockOf(job, share.number));
    }
  }
  const note = (error: unknown) => void passing.push(error);
  await Promise.all(Array.from({ length: atOnce }, () => doOneByOne().catch(note)));
  signal.throwIfAborted();
  if (passing.length > 0) throw passing[0];
  const [fault] = faults;
  if (fault === undefined) return;
  await end(fault.share, async (connection) => {
    await dropShares(connection, job);
    await fail(connection, fault.error);
  });
}

/** Does a job's last work in one process. False, and nothing done, while shares are left or another does it. */
export async function endShares(
  db: Queryable,
  { job, session }: Pick<Divided, 'job' | 'session'>,
  end: () => Promise<void>,
): Promise<boolean> {
  if ((await db.query(sql`select from work_shares where job = ${job} limit 1`)).length > 0) {
    return false;
  }
  if (!(await tryLock(session, 'shares', lockOf(job, 'end')))) return false;
  await end();
  await unlock(session, 'shares', lockOf(job, 'end'));
  return true;
}

/** Drops the shares of a job that nobody is to do any more. */
export async function dropShares(db: Queryable, job: string): Promise<void> {
  await db.query(sql`delete from work_shares where job = ${job}`);
}

/** A share that this process has, with the mark that it left there. */
type Share<Work> = { number: number; mark: string; work: Work };

/** Takes the first share that no other process has; undefined when there is none. */
async function takeShare<Work>(session: Session, job: string): Promise<Share<Work> | undefined> {
  for (;;) {
    const [next] = await session.query<{ number: number }>(sql`
      with ${heldLocks}
      select s.number from work_shares s where s.job = ${job} and not ${isHeld(sql`s.job || '/' || s.number`)}
      order by s.number limit 1`);
    if (next === undefined) return undefined;
    const lock = lockOf(job, next.number);
    if (!(await tryLock(session, 'shares', lock))) continue;
    // Whoever had the share a moment ago may have ended it.
    const [taken] = await session.query<Share<Work>>(sql`
      update work_shares set mark = ${randomText(16)} where job = ${job} and number = ${next.number}
      returning number, mark, work`);
    if (taken !== undefined) return taken;
    await unlock(session, 'shares', lock);
  }
}

/** The locks of shares that sessions have, as a relation that `hasFreeShare` looks into. */
export const heldLocks = sql`held as materialized (
  select objid from pg_locks where ${isHeldLock('shares')})`;

/** Whether there is something to do of a job: a share that nobody has, or its last work. Needs `heldLocks`. */
export function hasFreeShare(job: Sql): Sql {
  return sql`(case when exists (select from work_shares s where s.job = ${job})
    then exists (
      select from work_shares s where s.job = ${job} and not ${isHeld(sql`s.job || '/' || s.number`)})
    else not ${isHeld(sql`${job} || '/end'`)} end)`;
}

function isHeld(lock: Sql): Sql {
  return sql`(hashtext(${lock})::bigint & 4294967295)::oid in (select objid from held)`;
}

function lockOf(job: string, part: number | 'end'): string {
  return `${job}/${part}`;
}
