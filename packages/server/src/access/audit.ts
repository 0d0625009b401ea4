import type { FastifyRequest } from 'fastify';
import type { Static } from 'typebox';
import { type Actor, mayTouchTenant } from '../kernel/actor.ts';
import { checkDayRange } from '../kernel/day.ts';
import { invalidInput } from '../kernel/errors.ts';
import { isAccessToken } from '../kernel/ids.ts';
import { type Page, toKeyset, toPage } from '../kernel/page.ts';
import type { Audit, AuditEntry } from '../platform/audit.ts';
import { clientAddress } from '../platform/http/client-address.ts';
import type { Database, Queryable } from '../platform/postgres/database.ts';
import * as queries from './audit-queries.ts';
import type { auditEntrySchema, auditQuerySchema } from './contract.ts';

const maxUserAgentLength = 200;

/** Makes the function that writes entries to the audit log. It removes any secret that `before` or `after` may hold. */
export function createAudit(): Audit {
  return async (db, { actor, request, action, target, before, after, ...whom }) =>
    queries.insertAuditEntry(db, {
      tokenId: actor.tokenId,
      tokenName: actor.name,
      action,
      target,
      ...concerned(actor, whom),
      requestId: request.id,
      address: clientAddress(request),
      userAgent: userAgentOf(request),
      before: toJson(before),
      after: toJson(after),
    });
}

/** Writes that a sign-in was refused: one refusal with its request, or several as a number in `after`. */
export async function auditRefusal(
  db: Queryable,
  { address, request, after }: { address: string | null; request?: FastifyRequest; after: unknown },
): Promise<void> {
  await queries.insertAuditEntry(db, {
    ...{ tokenId: null, tokenName: 'nobody', action: 'session.refuse', target: null },
    ...{ tenant: null, tenants: null, before: null, after: toJson(after) },
    requestId: request?.id ?? null,
    address: request === undefined ? address : clientAddress(request),
    userAgent: request === undefined ? null : userAgentOf(request),
  });
}

function userAgentOf({ headers }: FastifyRequest): string | null {
  return headers['user-agent']?.slice(0, maxUserAgentLength) ?? null;
}

/** Writes what was done without the API: on the machine that has the settings of the database, or by the service itself. */
export async function auditLocally(
  db: Queryable,
  name: string,
  act: { action: string; target: string | null; tenant?: string; after: unknown },
): Promise<void> {
  await queries.insertAuditEntry(db, {
    tokenId: null,
    tokenName: name,
    action: act.action,
    target: act.target,
    tenant: act.tenant ?? null,
    tenants: null,
    requestId: null,
    address: null,
    userAgent: null,
    before: null,
    after: toJson(act.after),
  });
}

const prunedAtOnce = 10_000;

/**
 * Removes entries that are older than `days`, the oldest first, at most `limit` in one transaction. Each of these
 * transactions also writes an entry that says how many entries went and up to which time, so the log itself tells what
 * is missing from it.
 */
export async function pruneAudit(
  db: Database,
  { days, signal, limit = prunedAtOnce }: { days: number; signal: AbortSignal; limit?: number },
): Promise<void> {
  for (let count = limit; count === limit; ) {
    signal.throwIfAborted();
    count = await db.transaction(async (connection) => {
      const gone = await queries.deleteOldAuditEntries(connection, { days, limit });
      if (gone.count > 0) {
        const after = { days, count: gone.count, until: gone.until };
        await auditLocally(connection, 'retention', { action: 'audit.prune', target: null, after });
      }
      return gone.count;
    });
  }
}

/**
 * Decides which tenants an entry concerns; their admins see it. An actor who aims at tenants beyond its reach does
 * nothing to them: such an entry concerns the actor's own tenants and must not show the actor's name and address to the
 * others.
 */
function concerned(
  actor: Actor,
  { tenant = null, tenants = null }: Pick<AuditEntry, 'tenant' | 'tenants'>,
): { tenant: string | null; tenants: readonly string[] | null } {
  const named = tenants ?? (tenant === null ? [] : [tenant]);
  const reached = named.filter((each) => mayTouchTenant(actor, each));
  const all = reached.length > 0 ? reached : actor.tenants;
  const [only] = all ?? [];
  return all?.length === 1 && only !== undefined
    ? { tenant: only, tenants: null }
    : { tenant: null, tenants: all };
}

function toJson(value: unknown): string | null {
  return value === undefined ? null : JSON.stringify(value, withoutSecrets);
}

const secretNames = new Set(['token', 'secret', 'previous_secrets', 'hash']);

/** Leaves secrets out, so that none reaches the log even when the code that writes an entry forgets to do so. */
function withoutSecrets(name: string, value: unknown): unknown {
  if (secretNames.has(name)) return undefined;
  const isSecret =
    typeof value === 'string' && (isAccessToken(value) || value.startsWith('whsec_'));
  return isSecret ? '(secret)' : value;
}

/**
 * Returns one page of the audit log, the newest entries first, or with `after` in the order of the chain. Throws 400 `request_invalid` or `cursor_invalid`.
 */
export async function listAuditLog(
  db: Queryable,
  cursorKey: Buffer,
  reader: Actor,
  request: Static<typeof auditQuerySchema>,
): Promise<Page<Static<typeof auditEntrySchema>>> {
  const { actor, action, tenant, from, to, after, limit, cursor } = request;
  checkDayRange('?', { from, to });
  const filter = { tokenId: actor, action, tenant, from, to, reach: reader.tenants };
  if (after !== undefined) {
    if (cursor !== undefined) throw invalidInput('?cursor', 'goes without after');
    const rows = await queries.listAuditEntriesAfter(db, filter, { after, limit: limit ?? 100 });
    return { data: rows.map((row) => toEntry(row, reader.tenants)), next_cursor: null };
  }
  const scope = { list: 'audit', filters: { actor, action, tenant, from, to } };
  const page = { cursorKey, scope, limit, cursor };
  const rows = await queries.listAuditEntries(db, filter, toKeyset(page));
  const { data, next_cursor } = toPage(page, rows, ({ at, id }) => [at, id]);
  return { data: data.map((row) => toEntry(row, reader.tenants)), next_cursor };
}

/** Returns an entry as this reader may see it: tenants outside the reader's reach are left out. */
function toEntry(
  { token_id, token_name, ...row }: queries.AuditRow,
  reach: readonly string[] | null,
): Static<typeof auditEntrySchema> {
  const { id, at, action, target, tenant, request_id, address, user_agent, place, hash } = row;
  const within = (tenants: unknown) =>
    reach === null || !Array.isArray(tenants)
      ? tenants
      : tenants.filter((each) => reach.includes(each));
  const cut = (state: unknown) =>
    typeof state === 'object' && state !== null && 'tenants' in state
      ? { ...state, tenants: within(state.tenants) }
      : state;
  const tenants = row.tenants ?? (tenant === null ? null : [tenant]);
  return {
    ...{ id, at, actor: { token_id, name: token_name }, action, target, tenant },
    tenants: within(tenants) as string[] | null,
    ...{ request_id, address, user_agent, before: cut(row.before), after: cut(row.after) },
    ...{ place, hash },
  };
}
