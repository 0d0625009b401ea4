import type { Static } from 'typebox';
import type { Actor } from '../kernel/actor.ts';
import { type CursorScope, decodeCursor, encodeCursor } from '../kernel/cursor.ts';
import { invalidInput } from '../kernel/errors.ts';
import type { Queryable } from '../platform/postgres/database.ts';
import type { auditEntrySchema, auditQuerySchema } from './contract.ts';
import * as queries from './queries.ts';

type AuditAnswer = { data: Static<typeof auditEntrySchema>[]; next_cursor: string | null };

/** One page of the audit log, newest first. Throws 400 `request_invalid`, `cursor_invalid`. */
export async function listAuditLog(
  db: Queryable,
  cursorKey: Buffer,
  reader: Actor,
  request: Static<typeof auditQuerySchema>,
): Promise<AuditAnswer> {
  const { actor, action, tenant, from, to, limit = 100, cursor } = request;
  checkDays(from, to);
  const scope: CursorScope = { list: 'audit', filters: { actor, action, tenant, from, to } };
  const after = cursor === undefined ? null : decodeCursor(cursorKey, scope, cursor).key;
  const rows = await queries.listAuditEntries(
    db,
    { tokenId: actor, action, tenant, from, to, reach: reader.tenants },
    { after, limit: limit + 1 },
  );
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return {
    data: shown.map((row) => toEntry(row, reader.tenants)),
    next_cursor:
      rows.length > limit && last !== undefined
        ? encodeCursor(cursorKey, scope, { direction: 'next', key: [last.at, last.id] })
        : null,
  };
}

function checkDays(from: string | undefined, to: string | undefined): void {
  if ((from === undefined) !== (to === undefined)) {
    const missing = from === undefined ? '?from' : '?to';
    throw invalidInput(missing, 'from and to need each other', 'field_required');
  }
  if (from !== undefined && to !== undefined && from > to) {
    throw invalidInput('?from', `${from} lies after to, ${to}`);
  }
}

/** Of other tenants that an entry concerns, a reader with this reach must not learn. */
function toEntry(
  { token_id, token_name, ...row }: queries.AuditRow,
  reach: readonly string[] | null,
): AuditAnswer['data'][number] {
  const { id, at, action, target, tenant, request_id, address, user_agent } = row;
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
  };
}
