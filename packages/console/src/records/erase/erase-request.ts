import type { EraseRequest } from '../../api/types.ts';
import { earliestDay, latestDay } from '../../ui/days.ts';
import { sliceText } from '../../ui/words.ts';
import { decodeRecord, monthEnds, type SliceParams } from '../search.ts';

/** What is to be erased: all records of a slice, or only those with an event's id. */
export type EraseScope = SliceParams & { readonly eventId?: string | undefined };

/** How far the records with an event's id are looked for. */
export const eraseReaches = ['day', 'store', 'tenant'] as const;
export type EraseReach = (typeof eraseReaches)[number];

/** The records with the id of a record's event, as far as this reach; null for a text that names no record. */
export function scopeOfRecord(recordKey: string, reach: EraseReach): EraseScope | null {
  const identity = decodeRecord(recordKey);
  if (identity === null) return null;
  const { tenant, store, event_id: eventId, occurred_at: at } = identity;
  const day = at.slice(0, 10);
  switch (reach) {
    case 'day':
      return { tenant, store, from: day, to: day, eventId };
    case 'store':
      return { tenant, store, eventId };
    case 'tenant':
      return { tenant, eventId };
  }
}

/**
 * The scope as the API wants it. The API takes no tenant alone, so that a forgotten field never means
 * everything: all of a tenant goes by all days.
 */
export function requestOf(scope: EraseScope): EraseRequest {
  const { tenant, store, month, from, to, eventId } = scope;
  const [first, last] = month === undefined ? [from, to] : monthEnds(month);
  const isWholeTenant = store === undefined && eventId === undefined && first === undefined;
  return {
    tenant,
    ...(store !== undefined && { store }),
    ...(eventId !== undefined && { event_ids: [eventId] }),
    ...(first !== undefined && last !== undefined && { from: first, to: last }),
    ...(isWholeTenant && { from: earliestDay, to: latestDay }),
  };
}

/** The scope in words: `TX › DFW › 2001-03`, with the event if there is one. */
export function scopeText({ eventId, ...slice }: EraseScope): string {
  const { from, to } = slice;
  const isAllDays = from === earliestDay && to === latestDay;
  const place = sliceText(isAllDays ? { ...slice, from: undefined, to: undefined } : slice);
  return eventId === undefined ? place : `${place} · event ${eventId}`;
}
