import type { FastifyRequest } from 'fastify';
import { type Actor, mayTouchTenant, requireCurrentSecret } from '../kernel/actor.ts';
import { AppError, type ErrorCode } from '../kernel/errors.ts';
import { newId } from '../kernel/ids.ts';
import type { FourEyesAct } from '../kernel/values.ts';
import type { Audit } from '../platform/audit.ts';
import { clientAddress } from '../platform/http/client-address.ts';
import type { GuardedRoute, HttpOptions, HttpServer } from '../platform/http/server.ts';
import type { Database } from '../platform/postgres/database.ts';
import * as queries from './approval-queries.ts';
import { type Approval, approvalsContract } from './approvals.contract.ts';
import { auditLocally, userAgentOf } from './audit.ts';
import { actorOfToken } from './sessions.ts';

/** So many requests of one token may wait. */
const mostWaiting = 100;

/**
 * Returns what is done before a call that somebody else may have to confirm. Where `acts` has what it does, the call is
 * kept as a request, and refused with 403 `approval_required`. Whoever asks twice for the same has one request.
 */
export function createApprove(
  db: Database,
  { acts, audit }: { acts: readonly FourEyesAct[]; audit: Audit },
): NonNullable<HttpOptions['approve']> {
  return async ({ contract, foresee }, call) => {
    if (acts.length === 0) return;
    const { actor, request, params, body } = call;
    const { says, about, tenant, ...foreseen } = await foresee(call);
    // What is out of the caller's reach is left to the route, which refuses it in its own words.
    if (!foreseen.acts.some((act) => acts.includes(act)) || !reaches(actor, tenant)) return;
    const row = {
      id: newId('apr'),
      acts: foreseen.acts,
      route: contract.id,
      says,
      tenant,
      params: JSON.stringify(params ?? {}),
      about: JSON.stringify(about),
      asker: actor,
      body: contract.body === undefined ? null : JSON.stringify(body),

      requestId: request.id,
      address: clientAddress(request),
      userAgent: userAgentOf(request),
    };
    const id = await db.transaction(async (connection) => {
      const same = await queries.findSame(connection, row);
      if (same.id !== null) return same.id;
      if (same.waiting >= mostWaiting) {
        throw new AppError('approvals_full', {
          detail: `${same.waiting} requests of "${actor.name}" wait. Have some confirmed, or withdraw them: POST /approvals/:id/reject.`,
        });
      }
      await queries.insertApproval(connection, row);
      const after = { acts: row.acts, says };
      await audit(connection, {
        actor,
        request,
        action: 'approval.ask',
        target: row.id,
        tenant,
        after,
      });
      return row.id;
    });
    throw new AppError('approval_required', {
      detail: `Nothing was done yet. ${says} That waits as ${id} until somebody else confirms it within 24 hours: svcctl approvals confirm ${id}, or ACCESS › APPROVALS in the console.`,
      members: { approval_id: id },
    });
  };
}

/** Adds the routes by which what one has asked for is confirmed by another. */
export function addApprovalRoutes(
  http: HttpServer,
  db: Database,
  { audit }: { audit: Audit },
): void {
  const find = async (actor: Actor, id: string) => {
    const row = /^apr_\w{1,100}$/.test(id) ? await queries.findApproval(db, actor, id) : undefined;
    if (row !== undefined) return row;
    throw new AppError('approval_not_found', {
      detail: 'There is no such request. GET /approvals lists them.',
    });
  };
  const show = ({ body, ...row }: queries.StoredApproval) => ({ ...answerOf(http, row), body });

  http.route(approvalsContract.listApprovals, async ({ actor, query }) => ({
    data: (await queries.listApprovals(db, actor, query.state)).map((row) => answerOf(http, row)),
    next_cursor: null,
  }));
  http.route(approvalsContract.getApproval, async ({ actor, params }) =>
    show(await find(actor, params.id)),
  );
  http.route(approvalsContract.rejectApproval, async ({ actor, params, request }) => {
    await endApprovals(db);
    const { id, says, tenant } = requireWaiting(await find(actor, params.id));
    await db.transaction(async (connection) => {
      if (!(await queries.endApproval(connection, id, { by: actor, state: 'rejected' })))
        throw ended();
      const entry = { actor, request, action: 'approval.reject', target: id, tenant };
      await audit(connection, { ...entry, after: { says } });
    });
    return show(await find(actor, id));
  });
  http.route(approvalsContract.confirmApproval, async ({ actor, params, request, ...call }) => {
    requireCurrentSecret(actor);
    await endApprovals(db);
    const row = requireWaiting(await find(actor, params.id));
    const by = { actor, request };
    if (row.is_own) {
      throw new AppError('approval_own', {
        detail: `"${row.asked_by.name}" asked for it, and is you: the same person, or a token of the same chain of makers. Somebody else must confirm it.`,
      });
    }
    const route = http.guarded.get(row.route);
    if (route === undefined)
      throw await giveUp({ db, audit }, row, by, 'This release has no such call.');
    const asker = await askerOf({ db, audit }, row, { scope: route.contract.scope, by });
    const asked = requestOf(row, request, async (connection) => {
      const isFirst = await queries.settleApproval(connection, row.id, {
        by: actor,
        run: request.id,
      });
      if (isFirst === undefined) throw ended();
      const { id: target, tenant, acts, says, asked_by } = row;
      const after = { acts, says, asked_by: asked_by.name };
      if (isFirst) {
        await audit(connection, { ...by, action: 'approval.confirm', target, tenant, after });
      }
    });
    const input = { params: row.params, body: row.body ?? {}, actor: asker, request: asked };
    // Its types are those of the contract that the row names, by which they were checked when it was asked for.
    const made = input as unknown as Parameters<GuardedRoute['foresee']>[0];
    const { about } = await route.foresee(made);
    if (JSON.stringify(about) !== JSON.stringify(row.about)) {
      throw await giveUp(
        { db, audit },
        row,
        by,
        'It would no longer do what was foreseen when it was asked for.',
      );
    }
    // What was done is done, whether that can be noted or not.
    const note = (outcome: 'done' | ErrorCode) =>
      queries.noteOutcome(db, request.id, outcome).catch(() => {});
    try {
      const answer = await route.handler({ ...call, ...made, query: undefined });
      await note('done');
      return { id: row.id, answer: answer ?? null };
    } catch (error) {
      await note(error instanceof AppError ? error.code : 'internal_error');
      throw error;
    }
  });
}

type Caller = { readonly actor: Actor; readonly request: FastifyRequest };

/** Who asked for it, if they may still do it. */
async function askerOf(
  parts: { db: Database; audit: Audit },
  row: queries.StoredApproval,
  { scope, by }: { scope: GuardedRoute['contract']['scope']; by: Caller },
) {
  const { asked_by: asker, tenant } = row;
  const actor = await actorOfToken(
    parts.db,
    asker.id,
    scope === 'any' || scope === null ? 'admin' : scope,
  ).catch((error: unknown) => {
    if (error instanceof AppError && error.status < 500) return null;
    throw error;
  });
  if (actor !== null && reaches(actor, tenant)) return actor;
  throw await giveUp(parts, row, by, `"${asker.name}", who asked for it, may no longer do it.`);
}

/** Ends what can no longer be done as it was asked for. */
async function giveUp(
  { db, audit }: { db: Database; audit: Audit },
  row: queries.StoredApproval,
  by: Caller,
  why: string,
): Promise<AppError> {
  const { id, tenant, says } = row;
  await db.transaction(async (connection) => {
    if (!(await queries.endApproval(connection, id, { by: by.actor, state: 'void' }))) return;
    const after = { says, why };
    await audit(connection, { ...by, action: 'approval.void', target: id, tenant, after });
  });
  return new AppError('approval_void', {
    detail: `${why} Nothing was done: ask for it anew, if it is still wanted.`,
  });
}

/** Ends the requests whose time is over or whose asker lost the right, and says so in the audit log. */
export async function endApprovals(db: Database): Promise<void> {
  await db.transaction(async (connection) => {
    for (const { id, state, says, tenant } of await queries.endOverdue(connection)) {
      await auditLocally(connection, 'svcctl', {
        action: state === 'expired' ? 'approval.expire' : 'approval.void',
        target: id,
        ...(tenant !== null && { tenant }),
        after: { says },
      });
    }
  });
}

/** Whether the actor reaches what a call concerns: a tenant, or with null all. */
function reaches(actor: Actor, tenant: string | null): boolean {
  return tenant === null ? actor.tenants === null : mayTouchTenant(actor, tenant);
}

function requireWaiting(row: queries.StoredApproval): queries.StoredApproval {
  if (row.state === 'waiting') return row;
  throw ended(row.state);
}

function ended(state?: Approval['state']): AppError {
  const how = state === undefined ? 'It has just ended' : `It is ${state}`;
  return new AppError('approval_ended', { detail: `${how}: GET /approvals/:id tells more.` });
}

/** The request as its asker sent it, as far as the audit log tells of it. */
function requestOf(
  row: queries.StoredApproval,
  request: FastifyRequest,
  settle: NonNullable<FastifyRequest['settle']>,
): FastifyRequest {
  const headers = row.user_agent === null ? {} : { 'user-agent': row.user_agent };
  return Object.create(request, {
    id: { value: row.request_id },
    ip: { value: row.address ?? '' },
    headers: { value: headers },
    settle: { value: settle },
  });
}

/** What callers see of a request. */
function answerOf({ guarded }: HttpServer, row: Omit<queries.StoredApproval, 'body'>): Approval {
  const { route, params, about: _about, request_id: _request, ...told } = row;
  const { method = '', path = '' } = guarded.get(route)?.contract ?? {};
  return {
    ...told,
    method,
    path: path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? '')),
  };
}
