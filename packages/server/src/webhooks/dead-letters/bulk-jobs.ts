import type { Static } from 'typebox';
import type { Actor } from '../../kernel/actor.ts';
import { AppError, invalidInput } from '../../kernel/errors.ts';
import { newId } from '../../kernel/ids.ts';
import { formatMicros, parseInstant } from '../../kernel/instant.ts';
import { toKeyset, toPage } from '../../kernel/page.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import type { bulkRequestSchema, JobRow } from '../contract.ts';
import type { WebhookOptions } from '../options.ts';
import { readMicros } from '../order/queries.ts';
import type { PacedKind } from '../paced-jobs.ts';
import { findReach } from '../reach.ts';
import { type BulkAction, deadLetterStatuses } from '../values.ts';
import * as queries from './job-queries.ts';
import { findHeld } from './purge-rows.ts';

/** A bulk job that a caller asks for. A filter that is missing means any. */
export type BulkRequest = Static<typeof bulkRequestSchema>;

const maxGroups = 100;

export type BulkOptions = Pick<WebhookOptions, 'isOnHold' | 'maxAttempts'>;

/** Says what a bulk job would do; `count` and `skipped` are exact. Throws 400 `request_invalid`. */
export async function previewBulk(
  db: Queryable,
  actor: Pick<Actor, 'tenants'>,
  action: BulkAction,
  { request, options }: { request: BulkRequest; options: BulkOptions },
) {
  return previewRange(db, actor, action, { request, options, range: await toRange(db, request) });
}

/** The type that is meant, or as jobs have it, with a dot at its end, how types begin; null: any. */
function typeOf({ event_type: type = '*' }: BulkRequest): string | null {
  return type === '*' ? null : type.replace(/\.\*$/, '.');
}

type Range = { readonly from: string | null; readonly until: string | null };

async function previewRange(
  db: Queryable,
  actor: Pick<Actor, 'tenants'>,
  action: BulkAction,
  { request, options, range }: { request: BulkRequest; options: BulkOptions; range: Range },
) {
  const reach = await findReach(db, actor, request);
  if (reach === null) return { count: 0, skipped: 0, groups: [] };
  const { status, failure_class: failureClass } = request;
  const statuses = status === undefined ? deadLetterStatuses : [status];
  const filter = { statuses, ...reach, failureClass, event_type: typeOf(request), ...range };
  // A retry erases nothing.
  const held =
    action === 'retry'
      ? []
      : await findHeld(db, await queries.listTenantsOf(db, filter), options.isOnHold);
  const rows = await queries.previewGroups(db, action, filter, { held, limit: maxGroups });
  return {
    count: rows[0]?.total ?? 0,
    skipped: rows[0]?.total_skipped ?? 0,
    groups: rows.flatMap(({ is_open, endpoint_id, target, failure_class, count }) =>
      is_open ? [{ endpoint_id, target, failure_class, count }] : [],
    ),
  };
}

const idPrefixes = { retry: 'rty', purge: 'prg' } as const;

/** Makes a bulk job, in the transaction that puts it on record. Throws 400 `request_invalid`. */
export async function createBulkJob(
  db: Queryable,
  actor: Actor,
  action: BulkAction,
  { request, options }: { request: BulkRequest; options: BulkOptions },
): Promise<JobRow> {
  const range = await toRange(db, request);
  const asked = { request, options, range };
  const { count, skipped } = await previewRange(db, actor, action, asked);
  const { status = null, tenant = null, endpoint_id = null } = request;
  const { failure_class = null, rate = null } = request;
  return queries.insertBulkJob(db, {
    id: newId(idPrefixes[action]),
    action,
    status,
    tenant,
    endpoint_id,
    failure_class,
    event_type: typeOf(request),
    rate,
    maxAttempts: options.maxAttempts,
    failed_from: range.from,
    failed_to: range.until,
    rowsTotal: count + skipped,
    reach: actor.tenants,
    createdBy: actor.name,
  });
}

/** The bulk jobs that a route is about. `retry`: those that were there before there were others. */
export type Of = BulkAction | 'any';

/** One page of the bulk jobs, the newest first. Throws 400 `cursor_invalid`. */
export async function listBulkJobs(
  db: Queryable,
  cursorKey: Buffer,
  { actor, of }: { actor: Actor; of: Of },
  { limit, cursor }: { limit?: number; cursor?: string },
) {
  const list = of === 'retry' ? 'retry-jobs' : 'bulk-jobs';
  const filters = of === 'purge' ? { action: of } : {};
  const page = { cursorKey, scope: { list, filters }, limit, cursor };
  const wanted = { reach: actor.tenants, action: of === 'any' ? undefined : of };
  const found = await queries.listBulkJobs(db, wanted, toKeyset(page));
  return toPage(page, found, (job) => [job.created_at, job.id]);
}

/** A bulk job. Throws 404 `retry_job_not_found` of retries, else `job_not_found`. */
export async function getBulkJob(db: Queryable, actor: Actor, of: Of, id: string): Promise<JobRow> {
  const job = await queries.findBulkJob(db, actor.tenants, id);
  if (job !== undefined && (of === 'any' || job.action === of)) return job;
  if (of === 'retry') {
    throw new AppError('retry_job_not_found', {
      detail: 'There is no bulk re-arm with this id. See /webhook/dlq/retries.',
    });
  }
  throw new AppError('job_not_found', {
    detail: 'There is no bulk job with this id. See /webhook/dlq/jobs.',
  });
}

export const bulkKind = (of: Of): PacedKind<JobRow> => ({
  table: queries.bulkTable,
  find: (db, actor, id) => getBulkJob(db, actor, of, id),
  noun: ({ action }) => `${action}_job`,
  finished: { code: of === 'retry' ? 'retry_job_finished' : 'job_finished', name: 'job' },
});

/** The range of time, both ends included, by the database's clock; null: open. Throws 400 `request_invalid`. */
async function toRange(
  db: Queryable,
  { failed_from, failed_to, older_than }: BulkRequest,
): Promise<Range> {
  if (failed_to !== undefined && older_than !== undefined) {
    throw invalidInput('/older_than', 'stands beside failed_to: give one of them');
  }
  const from = toInstant('/failed_from', failed_from);
  const until = toInstant('/failed_to', failed_to) ?? (await before(db, older_than));
  if (from !== null && until !== null && from > until) {
    const name = older_than === undefined ? '/failed_to' : '/older_than';
    throw invalidInput(name, 'ends before failed_from');
  }
  return { from, until };
}

const unitMillis: Record<string, number> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

async function before(db: Queryable, span: string | undefined): Promise<string | null> {
  if (span === undefined) return null;
  const millis = Number.parseInt(span, 10) * (unitMillis[span.slice(-1)] ?? 0);
  return formatMicros((await readMicros(db)) - millis * 1000);
}

function toInstant(path: string, text: string | undefined): string | null {
  if (text === undefined) return null;
  const micros = parseInstant(text);
  if (micros === null) throw invalidInput(path, 'must be an RFC 3339 time');
  return formatMicros(micros);
}
