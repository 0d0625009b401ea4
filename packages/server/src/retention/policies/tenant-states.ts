import type { Actor } from '../../kernel/actor.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import type { TenantStateRow } from '../contract.ts';
import { readPage } from '../journal/page.ts';
import * as queries from './queries.ts';

/** One page of how much of each tenant lies hot and cold, by tenant. Throws 400 `cursor_invalid`. */
export function listTenantStates(
  db: Queryable,
  cursorKey: Buffer,
  actor: Actor,
  request: { q?: string; limit?: number; cursor?: string },
): Promise<{ data: TenantStateRow[]; next_cursor: string | null }> {
  const { q, limit, cursor } = request;
  return readPage(
    { cursorKey, scope: { list: 'retention.tenants', filters: { q } }, limit, cursor },
    async (keyset) => {
      const page = { after: keyset.after?.[0] ?? null, limit: keyset.limit };
      const rows = await queries.listTenantStates(db, { q, reach: actor.tenants }, page);
      return rows.map(toStateRow);
    },
    (row) => [row.tenant],
  );
}

function toStateRow(row: queries.TenantState): TenantStateRow {
  const { hot_days, delete_days, hold, from_default } = row;
  return {
    tenant: row.tenant,
    policy: { hot_days, delete_days, hold, from_default },
    count: row.count,
    bytes: row.bytes,
    hot_count: row.count - row.cold_count,
    hot_bytes: row.bytes - row.cold_bytes,
    cold_count: row.cold_count,
    cold_bytes: row.cold_bytes,
    cold_stored_bytes: row.cold_stored_bytes,
    segments: row.segments,
    last_move:
      row.move_id === null
        ? null
        : {
            id: row.move_id,
            kind: row.move_kind,
            state: row.move_state,
            at: row.move_at,
            error_code: row.move_error_code,
          },
  };
}
