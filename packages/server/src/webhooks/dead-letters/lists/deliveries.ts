import type { Actor } from '../../../kernel/actor.ts';
import { type CursorScope, decodeCursor, encodeCursor } from '../../../kernel/cursor.ts';
import type { Database } from '../../../platform/postgres/database.ts';
import type { DeliveryStatus } from '../../contract.ts';
import type { RowKey } from './queries.ts';
import { findReach } from './reach.ts';
import { readPage } from './read-page.ts';

export type DeliveriesRequest = {
  status?: DeliveryStatus;
  tenant?: string;
  endpoint_id?: string;
  incident_id?: string;
  limit?: number;
  cursor?: string;
};

/** One page of the deliveries in every state, newest first. Throws 400 `cursor_invalid`. */
export async function listDeliveries(
  db: Database,
  cursorKey: Buffer,
  actor: Actor,
  request: DeliveriesRequest,
) {
  const { limit = 100, cursor, ...filters } = request;
  const scope: CursorScope = { list: 'deliveries', filters };
  const after =
    cursor === undefined ? null : (decodeCursor(cursorKey, scope, cursor).key as unknown as RowKey);
  const reach = await findReach(db, actor, filters);
  if (reach === null) return { data: [], next_cursor: null };
  const { shown, readOn } = await readPage(
    db,
    { orderedBy: 'created_at', incidentId: filters.incident_id, ...reach },
    { status: filters.status },
    { after, limit },
  );
  const next =
    readOn === undefined
      ? null
      : encodeCursor(cursorKey, scope, { direction: 'next', key: readOn });
  return { data: shown, next_cursor: next };
}
