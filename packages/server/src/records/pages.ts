import { type Actor, mayTouchTenant } from '../kernel/actor.ts';
import { type CursorScope, decodeCursor, encodeCursor, type Position } from '../kernel/cursor.ts';
import { AppError, invalidInput } from '../kernel/errors.ts';
import { formatMicros, parseInstant } from '../kernel/instant.ts';
import type { Queryable } from '../platform/postgres/database.ts';
import type { orders } from './contract.ts';
import * as queries from './queries.ts';
import { isCounted, isOutOfReach, type SliceRequest, toSlice } from './slice.ts';

export type PageRequest = SliceRequest & {
  order?: (typeof orders)[number];
  limit?: number;
  cursor?: string;
};

/** Rows that one page looks at behind a filter, at most: 10,000 take about 15 ms. */
const scanLimit = 10_000;

/** One page of records as JSON text. Throws 400 `request_invalid`, `cursor_invalid`. */
export async function listRecords(
  db: Queryable,
  cursorKey: Buffer,
  actor: Actor,
  request: PageRequest,
): Promise<string> {
  const { order = 'asc', limit = 100, cursor, ...filters } = request;
  const slice = toSlice(filters, actor, '?');
  const scope: CursorScope = { list: 'records', filters: { ...filters, order } };
  const position = cursor === undefined ? null : decodeCursor(cursorKey, scope, cursor);
  if (isOutOfReach(slice, actor)) return pageJson([], null, null);

  // A page back is read towards the beginning and then turned round.
  const isBack = position?.direction === 'prev';
  const scan = {
    after: position === null ? null : (position.key as unknown as queries.RecordKey),
    descending: (order === 'desc') !== isBack,
    limit: limit + 1,
    scanLimit: isCounted(slice) ? null : scanLimit,
  };
  const found = await queries.listRecords(db, slice, scan);
  const shown = found.slice(0, limit);
  const lastShown = shown.at(-1);
  let readOn = found.length > limit && lastShown ? queries.keyOf(lastShown) : undefined;
  if (found.length <= limit && scan.scanLimit !== null) {
    readOn = await queries.findScanEnd(db, slice, { ...scan, scanLimit });
  }
  const turnBack = shown[0] === undefined ? scan.after : queries.keyOf(shown[0]);
  const cursors = {
    readOn: readOn && encode(isBack ? 'prev' : 'next', readOn),
    turnBack:
      position === null || turnBack === null ? null : encode(isBack ? 'next' : 'prev', turnBack),
  };
  if (isBack) return pageJson(shown.reverse(), cursors.turnBack, cursors.readOn ?? null);
  return pageJson(shown, cursors.readOn ?? null, cursors.turnBack);

  function encode(direction: Position['direction'], key: queries.RecordKey): string {
    return encodeCursor(cursorKey, scope, { direction, key });
  }
}

/** One record as JSON text. Throws 404 `record_not_found`. */
export async function getRecord(
  db: Queryable,
  actor: Actor,
  request: { tenant: string; store: string; occurred_at: string; event_id: string },
): Promise<string> {
  const micros = parseInstant(request.occurred_at);
  if (micros === null) throw invalidInput('?occurred_at', 'must be an RFC 3339 time');
  const { tenant, store, event_id } = request;
  const key = [tenant, store, formatMicros(micros), event_id] as const;
  const row = mayTouchTenant(actor, tenant) ? await queries.findRecord(db, key) : undefined;
  if (row === undefined) {
    throw new AppError('record_not_found', {
      detail: 'There is no record with this tenant, store, occurred_at and event_id.',
    });
  }
  return recordJson(row);
}

/**
 * The answer is put together as text: JSON.parse and stringify would bend the enrichment's number
 * spellings and its integers above 2^53.
 */
function pageJson(rows: queries.RecordRow[], next: string | null, prev: string | null): string {
  const data = rows.map(recordJson).join(',');
  return `{"data":[${data}],"next_cursor":${JSON.stringify(next)},"prev_cursor":${JSON.stringify(prev)}}`;
}

function recordJson(row: queries.RecordRow): string {
  const { confidence, enrichment, ...plain } = row;
  const head = JSON.stringify({
    tenant: plain.tenant,
    store: plain.store,
    event_id: plain.event_id,
    occurred_at: plain.occurred_at,
    recorded_at: plain.recorded_at,
    kind: plain.kind,
    source: plain.source,
    model: plain.model,
  });
  return `${head.slice(0, -1)},"confidence":${confidence},"bytes":${plain.bytes},"enrichment":${enrichment}}`;
}
