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
    data: shown.map(toEntry),
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

function toEntry({ token_id, token_name, ...row }: queries.AuditRow): AuditAnswer['data'][number] {
  return {
    id: row.id,
    at: row.at,
    actor: { token_id, name: token_name },
    action: row.action,
    target: row.target,
    tenant: row.tenant,
    request_id: row.request_id,
    address: row.address,
    user_agent: row.user_agent,
    before: row.before,
    after: row.after,
  };
}
