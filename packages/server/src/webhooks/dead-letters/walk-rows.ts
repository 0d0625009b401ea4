import type { Queryable } from '../../platform/postgres/database.ts';
import { shareOf } from '../paced-jobs.ts';
import { findReach } from '../reach.ts';
import { deadLetterStatuses } from '../values.ts';
import type { Batch, OpenJob } from './job-queries.ts';
import { type KeyRow, listKeys } from './read-queries.ts';

export type RowWork = {
  /**
   * Does it to some rows, as far as they are still what was read, and tells how many of which endpoint it was done to.
   */
  doRows(
    db: Queryable,
    rows: readonly KeyRow[],
    job: OpenJob,
  ): Promise<readonly { endpoint_id: string; count: number }[]>;
  /** How many of the rows it could not be done to can have it later, when their endpoints are enabled. */
  countLeft?(db: Queryable, rows: readonly KeyRow[], job: OpenJob): Promise<number>;
  readonly wakes: boolean;
};

/** The most rows that one batch looks at for a failure class or a type of events. */
const scanRows = 4000;

/** Does a batch of a job, by status and last failure, from the last row that it looked at on. */
export async function walkRows(db: Queryable, job: OpenJob, work: RowWork): Promise<Batch> {
  const statuses = job.status === null ? deadLetterStatuses : [job.status];
  const { status = statuses[0], after = null, ...kept } = job.position ?? {};
  const reach = await findReach(db, { tenants: job.reach }, job);
  if (status === undefined || reach === null) {
    return { progress: kept, done: 0, skipped: 0, isLast: true, endpointIds: [] };
  }
  const limit = shareOf(job.rate);
  const { failure_class: failure, event_type: type } = job;
  const range = { failedFrom: job.failed_from, failedUntil: job.failed_until };
  const look = async (lookLimit: number) => {
    const looked = await listKeys(
      db,
      { orderedBy: 'last_attempt_at', status, ...reach, ...range },
      { after, descending: false, limit: lookLimit, scanLimit: null },
    );
    const sought = looked.filter(
      (row) => [null, row.failure_class].includes(failure) && isOfType(row.event_type, type),
    );
    return { looked, sought, isEnd: looked.length < lookLimit };
  };
  const near = await look(limit);
  // Where most of what it looks at is sought, no more of it is read again by the next batch.
  const isEnough = near.isEnd || near.sought.length * 2 >= limit;
  const { looked, sought, isEnd } = isEnough ? near : await look(scanRows);
  const picked = sought.slice(0, limit);
  const changed = await work.doRows(db, picked, job);
  const done = changed.reduce((sum, row) => sum + row.count, 0);
  const left = done < picked.length ? ((await work.countLeft?.(db, picked, job)) ?? 0) : 0;
  // It stays where it is until the endpoint is enabled: else all that is left would be skipped within seconds. A job of
  // several endpoints goes on with the others, and tells at its end how much is left.
  if (done === 0 && left > 0 && job.endpoint_id !== null) {
    const progress = job.position ?? {};
    return { progress, done, skipped: 0, isLast: false, endpointIds: [], waitSeconds: 2 };
  }
  const isCut = picked.length < sought.length;
  const isStatusDone = !isCut && isEnd;
  const last = (isCut ? picked : looked).at(-1);
  const nextStatus = statuses[statuses.indexOf(status) + 1];
  return {
    progress: isStatusDone
      ? { ...kept, ...(nextStatus === undefined ? {} : { status: nextStatus }) }
      : { ...kept, status, after: last === undefined ? after : [last.at, last.id] },
    done,
    skipped: picked.length - done,
    left,
    isLast: isStatusDone && nextStatus === undefined,
    endpointIds: work.wakes ? changed.map((row) => row.endpoint_id) : [],
  };
}

/** Whether a type is the one that is meant, or, where that ends with a dot, begins so; null means any. */
function isOfType(type: string, meant: string | null): boolean {
  if (meant === null) return true;
  return meant.endsWith('.') ? type.startsWith(meant) : type === meant;
}
