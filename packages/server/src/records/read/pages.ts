import type { Static } from 'typebox';
import { type Actor, mayTouchTenant } from '../../kernel/actor.ts';
import {
  type CursorScope,
  decodeCursor,
  encodeCursor,
  type Position,
} from '../../kernel/cursor.ts';
import { AppError, invalidInput } from '../../kernel/errors.ts';
import { formatMicros, instantFault, parseInstant } from '../../kernel/instant.ts';
import type { Database, Queryable } from '../../platform/postgres/database.ts';
import type { recordsContract } from '../contract.ts';
import { keyOf, type RecordKey, type RecordRow } from '../queries.ts';
import type { ColdReader } from '../segments/segment.ts';
import { isOutOfReach, type Slice, toSlice } from '../slice/slice.ts';
import { withTags } from '../tags/windows.ts';
import type { orders } from '../values.ts';
import { createColdTier } from './cold-parquet.ts';
import { createHotTier } from './hot-postgres.ts';
import { cutAt, mergeTiers, type ScanOptions, type Tier, usualLimits } from './tier.ts';

export type PageRequest = Static<typeof recordsContract.listRecords.query>;

/** What pages are read from: the records, and the database that says which tags a dataset means. */
type PageSource = { readonly db: Queryable; readonly records: Tier };

/** Returns a page of records as JSON text. Throws 400 `request_invalid`, `cursor_invalid`, 500 `segment_damaged`. */
export async function listRecords(
  { db, records }: PageSource,
  cursorKey: Buffer,
  actor: Actor,
  request: PageRequest,
): Promise<string> {
  const { order = 'asc', limit = 100, cursor, start, ...filters } = request;
  const slice = toSlice(filters, actor, '?');
  const isByTime = isOfTime(order) && request.store === undefined;
  if (isByTime) checkByTime(order, request);
  const scope: CursorScope = { list: 'records', filters: { ...filters, order } };
  if (cursor !== undefined && start !== undefined) {
    throw invalidInput('?start', 'goes without a cursor');
  }
  const isLast = start === 'last';
  const position =
    cursor !== undefined
      ? decodeCursor(cursorKey, scope, cursor)
      : start === undefined || isLast
        ? null
        : positionAt(start, request);
  if (isOutOfReach(slice, actor)) return pageJson([], { next: null, prev: null, searched: null });

  // A previous page, or the last one, is read towards the beginning of the list and then reversed.
  const isBack = isLast || position?.direction === 'prev';
  const { shown, readOn, searched } = await readPage(records, await withTags(db, slice), {
    after: position === null ? null : (position.key as unknown as RecordKey),
    isInclusive: position?.isInclusive,
    descending: isDescending(order) !== isBack,
    isByTime,
    limit,
  });
  const [onward, turned] = isBack ? (['prev', 'next'] as const) : (['next', 'prev'] as const);
  const ahead = readOn === undefined ? null : encode({ direction: onward, key: readOn });
  const behind = position === null ? null : encode(turnRound(position, shown[0], turned));
  return isBack
    ? pageJson(shown.reverse(), { next: behind, prev: ahead, searched: null })
    : pageJson(shown, {
        next: ahead,
        prev: behind,
        searched: searched && searchedTo(searched, isByTime),
      });

  function encode(at: Position): string {
    return encodeCursor(cursorKey, scope, at);
  }
}

type Order = (typeof orders)[number];

function isOfTime(order: Order): boolean {
  return order === 'newest' || order === 'oldest';
}

function isDescending(order: Order): boolean {
  return order === 'desc' || order === 'newest';
}

/** Refuses what has no order by time over several stores. Throws 400 `request_invalid`. */
function checkByTime(order: Order, { tenant, event_id }: PageRequest): void {
  if (tenant === undefined) {
    throw invalidInput('?order', `${order} goes with a tenant, over whose stores it goes by time`);
  }
  if (event_id !== undefined) {
    throw invalidInput(
      '?event_id',
      `goes with order=asc or desc, or with a store, not with ${order}`,
    );
  }
}

/** The position of a time in the list of a store, or in that of a tenant by time. Throws 400 `request_invalid`. */
function positionAt(start: string, { tenant, store, order = 'asc' }: PageRequest): Position {
  const micros = parseInstant(start);
  if (micros === null) {
    throw invalidInput('?start', `must be "last" or a time: ${instantFault(start)}`);
  }
  if (tenant === undefined || (store === undefined && !isOfTime(order))) {
    const detail =
      'a time goes with a tenant and a store, or with a tenant and order=newest or oldest';
    throw invalidInput('?start', detail);
  }
  // No name is before the one, none after the other.
  const name = isDescending(order) ? '\u{10FFFF}' : '';
  return {
    direction: 'next',
    key: [tenant, store ?? name, formatMicros(micros), name],
    isInclusive: true,
  };
}

/** Returns the rows of a page as they are read, and the key from which to read on if there may be more. */
async function readPage(
  records: Tier,
  slice: Slice,
  page: ScanOptions,
): Promise<{
  shown: RecordRow[];
  readOn: RecordKey | undefined;
  /** Where the page ended without being full. */
  searched: RecordKey | null;
}> {
  const limit = page.limit + 1;
  const { rows, end } = await records.scan(slice, { ...page, limit });
  const shown = rows.slice(0, page.limit);
  const last = shown.at(-1);
  if (last !== undefined && cutAt(rows, limit) !== null) {
    return { shown, readOn: keyOf(last), searched: null };
  }
  return { shown, readOn: end ?? undefined, searched: end };
}

/** Returns where the way back begins: at the first row or, of an empty page, at the row beside which it began. */
function turnRound(
  position: Position,
  first: RecordRow | undefined,
  direction: Position['direction'],
): Position {
  if (first !== undefined) return { direction, key: keyOf(first) };
  return { direction, key: position.key, isInclusive: !position.isInclusive };
}

/** Returns a record as JSON text. Throws 400 `request_invalid`, 404 `record_not_found`, also out of reach. */
export async function getRecord(
  records: Tier,
  actor: Actor,
  request: { tenant: string; store: string; occurred_at: string; event_id: string },
): Promise<string> {
  const micros = parseInstant(request.occurred_at);
  if (micros === null) {
    const fault = instantFault(request.occurred_at);
    throw invalidInput('?occurred_at', `must be the occurred_at of a record: ${fault}`);
  }
  const { tenant, store, event_id } = request;
  const key = [tenant, store, formatMicros(micros), event_id] as const;
  const row = mayTouchTenant(actor, tenant) ? await records.find(key) : undefined;
  if (row === undefined) {
    throw new AppError('record_not_found', {
      detail:
        'There is no record with this tenant, store, occurred_at and event_id. All four are to be as it was sent; the records of the store list it, if it is there.',
    });
  }
  return recordJson(row);
}

/** The answer is joined from text: JSON.parse would change the spelling of numbers, and integers above 2^53. */
function pageJson(
  rows: RecordRow[],
  page: {
    next: string | null;
    prev: string | null;
    searched: ReturnType<typeof searchedTo> | null;
  },
): string {
  const data = rows.map(recordJson).join(',');
  const rest = { next_cursor: page.next, prev_cursor: page.prev, searched_to: page.searched };
  return `{"data":[${data}],${JSON.stringify(rest).slice(1)}`;
}

/** Tells a place that need not be that of a record: see `boundary`, `dayEdge` and `beyondTenant`. */
function searchedTo([tenant, store, occurred_at]: RecordKey, isByTime: boolean) {
  if (isByTime) return { tenant, store: null, occurred_at };
  if (store === '')
    return { tenant: tenant.replace(/\u0001$/, ''), store: null, occurred_at: null };
  return { tenant, store, occurred_at };
}

export function recordJson(row: RecordRow): string {
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

/** Reads all records of both tiers. */
export function createTiers(db: Database, cold: ColdReader, limits = usualLimits): Tier {
  return mergeTiers(createHotTier(db, limits), createColdTier(db, cold, limits));
}

/** Returns some records from both ends of a slice; with filters there may be fewer. Throws 500 `segment_damaged`. */
export async function sampleRecords(
  source: { db: Database; cold: ColdReader },
  slice: Slice,
  limit: number,
): Promise<RecordRow[]> {
  const tiers = createTiers(source.db, source.cold);
  const half = Math.ceil(limit / 2);
  const first = await tiers.scan(slice, { after: null, descending: false, limit: half });
  const last = await tiers.scan(slice, { after: null, descending: true, limit: half });
  // Both ends of a small slice have the same.
  const rows = [...first.rows, ...last.rows];
  return [...new Map(rows.map((row) => [JSON.stringify(keyOf(row)), row])).values()];
}
