import { type Actor, assertReach, hasScope } from '../../kernel/actor.ts';
import { AppError } from '../../kernel/errors.ts';
import { newId } from '../../kernel/ids.ts';
import { numberOf } from '../../kernel/values.ts';
import { type Act, type Audit, noteAct } from '../../platform/audit.ts';
import type { ListedKind } from '../../platform/jobs/listed.ts';
import type { Connection, Database, Queryable } from '../../platform/postgres/database.ts';
import type { CountJob, CountJobRequest } from '../count.contract.ts';
import { sumLeafDays } from '../queries.ts';
import { hasLost, toSlice } from '../slice/slice.ts';
import type { Gone, Named } from '../versions/note-gone-records.ts';
import { pinSlice, withPin } from '../versions/pin-slice.ts';
import * as queries from './queries.ts';

/** A token may have so many counts that have not ended. */
const mostOpen = 25;

/**
 * Queues a count of the records that a slice has now, with the tags of now. Throws 400 `request_invalid`, also for a
 * tenant that the caller does not reach, and 429 `counts_full`.
 */
export async function startCount(
  db: Database,
  actor: Actor,
  request: CountJobRequest,
): Promise<CountJob> {
  const { tenant } = request;
  const slice = { ...toSlice(request, actor, '/'), tenant };
  assertReach(actor, tenant);
  return withPin(db, tenant, {
    async read(snapshot, recordedBefore) {
      const pinned = await pinSlice(snapshot, { ...slice, tenants: null }, recordedBefore);
      return { slice: pinned.slice, total: (await sumLeafDays(snapshot, slice)).count };
    },
    async write(connection, pinned) {
      const by = { requested_by: actor.name, token_id: actor.tokenId };
      const job = { ...pinned, ...by, id: newId('cnt'), request };
      const queued = await queries.insertCount(connection, job, mostOpen);
      if (queued !== undefined) return toCountJob(queued);
      throw new AppError('counts_full', {
        detail: `This token has ${mostOpen} counts that have not ended: svcctl jobs ls --kind count lists them.`,
        retryAfterSeconds: 5,
      });
    },
  });
}

/** A count. Throws 404 `job_not_found`. */
export async function getCount(db: Queryable, actor: Actor, id: string): Promise<CountJob> {
  return toCountJob(await findCount(db, actor, id));
}

async function findCount(db: Queryable, actor: Actor, id: string): Promise<queries.StoredCount> {
  const isId = /^\w{1,100}$/.test(id);
  const job = isId ? await queries.findCount(db, id, actor.tenants) : undefined;
  if (job !== undefined) return job;
  throw new AppError('job_not_found', {
    detail: 'There is no count with this id, or no longer. GET /jobs?kind=count lists them.',
  });
}

const changes = {
  paused: { to: 'paused', verb: 'pause' },
  running: { to: 'queued', verb: 'resume' },
  cancelled: { to: 'cancelled', verb: 'cancel' },
} as const;

/**
 * Holds, resumes or cancels a count. One that has ended stays as it is when it is to be cancelled. Throws 404
 * `job_not_found`, 409 `job_finished`, and 403 `scope_missing` unless the actor asked for it or is an admin.
 */
export async function changeCount(
  db: Database,
  act: Act,
  { id, state }: { id: string; state: keyof typeof changes },
): Promise<CountJob> {
  const { actor } = act;
  const before = await findCount(db, actor, id);
  if (!hasScope(actor, 'admin') && before.token_id !== actor.tokenId) {
    throw new AppError('scope_missing', {
      detail: `This count was asked for by ${before.requested_by}. Only the token that asked for it, or one with the scope admin, may change it.`,
    });
  }
  const { to, verb } = changes[state];
  return db.transaction(async (connection) => {
    const after = await queries.changeCount(connection, id, to);
    if (after !== undefined) {
      await noteAct(connection, act, {
        action: `count.${verb}`,
        target: id,
        tenant: after.tenant,
        before: { state: before.state },
        after: { state: after.state },
      });
      return toCountJob(after);
    }
    const now = await findCount(connection, actor, id);
    if (state === 'cancelled') return toCountJob(now);
    throw new AppError('job_finished', { detail: `The count is ${now.state} already.` });
  });
}

/** Ends the counts that may have read records which go, in the transaction that lets them go. Returns which these are. */
export async function endCountsOf(connection: Connection, gone: Gone): Promise<Named[]> {
  const open = await queries.listOpen(connection, gone.tenant);
  const ids = open.filter(({ slice }) => hasLost(slice, gone)).map(({ id }) => id);
  if (ids.length === 0) return [];
  const cause = gone.kind === 'erase' ? 'erased on request' : 'deleted by retention';
  const error = `Records of its slice were ${cause}. Start the count again without them.`;
  return queries.failCounts(connection, ids, error);
}

function toCountJob(row: queries.StoredCount): CountJob {
  const { slice, after: _after, token_id: _tokenId, ...job } = row;
  return { ...job, recorded_before: slice.recordedBefore };
}

/** Counts in the list of all jobs. */
export function listCountsAsJobs(db: Database, audit: Audit): ListedKind<{ count: number }> {
  return {
    kind: 'count',
    scope: 'enrichment:read',
    unit: 'records',
    path: '/enrichment/records/counts',
    table: queries.listedCounts,
    summary: ({ tenant, told: { count } }) =>
      `Counts records of ${tenant}: ${numberOf(count, 'record')} found.`,
    cancel: ({ id, ...caller }) =>
      changeCount(db, { ...caller, audit }, { id, state: 'cancelled' }),
  };
}
