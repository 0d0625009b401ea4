import type { Actor } from '../../../kernel/actor.ts';
import { type CursorScope, decodeCursor, encodeCursor } from '../../../kernel/cursor.ts';
import type { Database, Queryable } from '../../../platform/postgres/database.ts';
import type { DeadLetterStatus, FailureClass } from '../../contract.ts';
import * as queries from './queries.ts';
import { findReach } from './reach.ts';
import { readPage } from './read-page.ts';

export type DeadLetterRequest = {
  status: DeadLetterStatus;
  tenant?: string;
  endpoint_id?: string;
  failure_class?: FailureClass;
  q?: string;
  limit?: number;
  cursor?: string;
};

/**
 * One page of the dead-letter queue, newest failure first, and how many rows there are on all pages.
 * Throws 400 `cursor_invalid`.
 */
export async function listDeadLetters(
  db: Database,
  cursorKey: Buffer,
  actor: Actor,
  request: DeadLetterRequest,
) {
  const { limit = 200, cursor, ...filters } = request;
  const scope: CursorScope = { list: 'dead-letters', filters };
  const after =
    cursor === undefined
      ? null
      : (decodeCursor(cursorKey, scope, cursor).key as unknown as queries.RowKey);
  const reach = await findReach(db, actor, filters);
  const { status, failure_class: failureClass, q } = filters;
  if (reach === null) return { data: [], next_cursor: null, total: q === undefined ? 0 : null };

  const { shown, readOn } = await readPage(
    db,
    { orderedBy: 'last_attempt_at', status, ...reach },
    { failureClass, q },
    { after, limit },
  );
  return {
    data: shown,
    next_cursor:
      readOn === undefined
        ? null
        : encodeCursor(cursorKey, scope, { direction: 'next', key: readOn }),
    total:
      q === undefined
        ? await queries.sumCounts(db, { statuses: [status], ...reach, failureClass })
        : null,
  };
}

/** The dead-letter queue by endpoint and failure class, the largest group first. */
export async function listDeadLetterGroups(
  db: Queryable,
  actor: Actor,
  request: { status: DeadLetterStatus; tenant?: string; endpoint_id?: string; limit?: number },
) {
  const reach = await findReach(db, actor, request);
  if (reach === null) return { data: [], next_cursor: null };
  const filter = { statuses: [request.status], ...reach };
  const data = await queries.listGroups(db, request.status, filter, request.limit ?? 100);
  return { data, next_cursor: null };
}
