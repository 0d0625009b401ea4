import type { Static } from 'typebox';
import type { Actor } from '../../kernel/actor.ts';
import { AppError, invalidInput } from '../../kernel/errors.ts';
import { newId } from '../../kernel/ids.ts';
import { formatMicros, parseInstant } from '../../kernel/instant.ts';
import { toKeyset, toPage } from '../../kernel/page.ts';
import type { Database, Queryable } from '../../platform/postgres/database.ts';
import type { JobRow, retryJobChangeSchema, retryRequestSchema } from '../contract.ts';
import { findReach } from '../reach.ts';
import { deadLetterStatuses } from '../values.ts';
import * as queries from './job-queries.ts';
import type { Act } from './retry.ts';

/** A bulk retry that a caller asks for. A filter that is missing means any. */
export type RetryRequest = Static<typeof retryRequestSchema>;

const maxGroups = 100;

/** Says what a bulk retry would do; `count` and `skipped` are exact. Throws 400 `request_invalid`. */
export async function previewRetry(db: Queryable, actor: Actor, request: RetryRequest) {
  const range = toRange(request);
  const reach = await findReach(db, actor, request);
  if (reach === null) return { count: 0, skipped: 0, groups: [] };
  const { status, failure_class: failureClass } = request;
  const statuses = status === undefined ? deadLetterStatuses : [status];
  const filter = { statuses, ...reach, failureClass };
  const rows = await queries.previewGroups(db, filter, range, maxGroups);
  return {
    count: rows[0]?.total ?? 0,
    skipped: rows[0]?.total_skipped ?? 0,
    groups: rows.flatMap(({ is_open, endpoint_id, target, failure_class, count }) =>
      is_open ? [{ endpoint_id, target, failure_class, count }] : [],
    ),
  };
}

/**
 * Makes a bulk retry, which a job runner carries out. `maxAttempts` is for endpoints without a number of their own.
 * Throws 400 `request_invalid`.
 */
export async function createRetryJob(
  db: Database,
  act: Act,
  request: RetryRequest,
  maxAttempts: number,
): Promise<JobRow | undefined> {
  const range = toRange(request);
  const { count, skipped } = await previewRetry(db, act.actor, request);
  const { status = null, tenant = null, endpoint_id = null } = request;
  const { failure_class = null, rate = null } = request;
  return db.transaction(async (connection) => {
    const job = await queries.insertRetryJob(connection, {
      ...{ id: newId('rty'), status, tenant, endpoint_id, failure_class, rate, maxAttempts },
      ...{ failed_from: range.from, failed_to: range.until, rowsTotal: count + skipped },
      ...{ reach: act.actor.tenants, createdBy: act.actor.name },
    });
    const target = job?.id ?? null;
    await act.note(connection, { action: 'retry_job.create', target, tenant, after: job });
    return job;
  });
}

/** One page of the bulk retries, the newest first. Throws 400 `cursor_invalid`. */
export async function listRetryJobs(
  db: Queryable,
  cursorKey: Buffer,
  actor: Actor,
  { limit, cursor }: { limit?: number; cursor?: string },
) {
  const page = { cursorKey, scope: { list: 'retry-jobs', filters: {} }, limit, cursor };
  const found = await queries.listRetryJobs(db, actor.tenants, toKeyset(page));
  return toPage(page, found, (job) => [job.created_at, job.id]);
}

/** A bulk retry. Throws 404 `retry_job_not_found`. */
export async function getRetryJob(db: Queryable, actor: Actor, id: string): Promise<JobRow> {
  const job = /^\w{1,100}$/.test(id)
    ? await queries.findRetryJob(db, actor.tenants, id)
    : undefined;
  if (job !== undefined) return job;
  throw new AppError('retry_job_not_found', {
    detail: 'There is no bulk re-arm with this id. See /webhook/dlq/retries.',
  });
}

/** Pauses or resumes a bulk retry, or changes its rate. Throws 404 `retry_job_not_found`, 409 `retry_job_finished`. */
export async function changeRetryJob(
  db: Database,
  act: Act,
  id: string,
  change: Static<typeof retryJobChangeSchema>,
): Promise<JobRow> {
  const after = await changeAndNote(db, act, id, { action: 'retry_job.change', change });
  if (after !== undefined) return after;
  const { state } = await getRetryJob(db, act.actor, id);
  throw new AppError('retry_job_finished', {
    detail: `The bulk re-arm is ${state}: it cannot be changed. Ask for a new one.`,
  });
}

/**
 * Cancels a bulk retry. What it has queued again stays queued. A job that has ended stays as it is. Throws 404
 * `retry_job_not_found`.
 */
export async function cancelRetryJob(db: Database, act: Act, id: string): Promise<void> {
  const change = { state: 'cancelled' } as const;
  await changeAndNote(db, act, id, { action: 'retry_job.cancel', change });
}

/**
 * Changes a job and writes the audit entry in one transaction. Returns undefined when the job has ended. Throws 404
 * `retry_job_not_found`.
 */
async function changeAndNote(
  db: Database,
  act: Act,
  id: string,
  { action, change }: { action: string; change: Parameters<typeof queries.changeJob>[2] },
): Promise<JobRow | undefined> {
  const before = await getRetryJob(db, act.actor, id);
  const told = ({ state, rate }: JobRow) => ({ state, rate });
  return db.transaction(async (connection) => {
    const after = await queries.changeJob(connection, id, change);
    if (after === undefined) return undefined;
    const states = { before: told(before), after: told(after) };
    await act.note(connection, { action, target: id, tenant: before.tenant, ...states });
    return after;
  });
}

/** The range of time in its canonical text. Both ends belong to it; null means open. Throws 400 `request_invalid`. */
function toRange({ failed_from, failed_to }: RetryRequest): {
  from: string | null;
  until: string | null;
} {
  const from = toInstant('/failed_from', failed_from);
  const until = toInstant('/failed_to', failed_to);
  if (from !== null && until !== null && from > until) {
    throw invalidInput('/failed_to', 'lies before failed_from');
  }
  return { from, until };
}

function toInstant(path: string, text: string | undefined): string | null {
  if (text === undefined) return null;
  const micros = parseInstant(text);
  if (micros === null) throw invalidInput(path, 'must be an RFC 3339 time');
  return formatMicros(micros);
}
