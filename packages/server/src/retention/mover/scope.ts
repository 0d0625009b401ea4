import { checkDayRange, dayAfter } from '../../kernel/day.ts';
import { invalidInput } from '../../kernel/errors.ts';
import { beyondLastDay, type DayTriple, firstDay, type Gone } from '../../records/segments.ts';
import type { EraseRequest } from '../contract.ts';

/** The records of a tenant that are to be erased: those that fit every field that is not null. */
export type EraseScope = {
  readonly tenant: string;
  readonly store: string | null;
  readonly eventIds: readonly string[] | null;
  /** Whole days, `YYYY-MM-DD`; both ends belong to the range. */
  readonly from: string | null;
  readonly to: string | null;
};

/**
 * Checks a request and returns its scope. Throws 400 `request_invalid` for a range of days that makes no sense, and for
 * a tenant without anything else: that all of a tenant shall be erased must be spelled out, so that a forgotten field
 * never means everything.
 */
export function toScope(request: EraseRequest): EraseScope {
  const { tenant, store = null, event_ids: eventIds = null, from = null, to = null } = request;
  checkDayRange('/', { from, to });
  if (store === null && eventIds === null && from === null) {
    throw invalidInput(
      '/',
      'name event_ids, a store, or from and to; all of a tenant goes by from and to around all its days',
      'field_required',
    );
  }
  return { tenant, store, eventIds, from, to };
}

type JournalledScope = {
  store: string | null;
  event_ids: readonly string[] | null;
  from: string | null;
  to: string | null;
};

/** The scope in the form that the journal stores (moves.request). */
export function toJournal({ store, eventIds, from, to }: EraseScope): JournalledScope {
  return { store, event_ids: eventIds, from, to };
}

/** Reads the scope of an erasure from the journal, as `toJournal` wrote it. */
export function fromJournal(move: { id: string; tenant: string; request: unknown }): EraseScope {
  const { id, tenant, request } = move;
  if (typeof request !== 'object' || request === null || !('event_ids' in request)) {
    throw new Error(`the journal does not tell what the erasure ${id} is about`);
  }
  const { store, event_ids: eventIds, from, to } = request as JournalledScope;
  return { tenant, store, eventIds, from, to };
}

/** The scope of all records on whole days; `from` null means since the first day. */
export function scopeOfDays(tenant: string, from: string | null, to: string): EraseScope {
  return { tenant, store: null, eventIds: null, from, to };
}

/**
 * What leaves for good when these days of a scope are deleted. Without event ids it takes a range of days whole, which
 * without bounds has all days.
 */
export function goneOf(
  kind: Gone['kind'],
  { tenant, store, eventIds, from, to }: EraseScope,
  days: readonly DayTriple[],
): Gone {
  const until = to === null || to >= beyondLastDay ? beyondLastDay : dayAfter(to);
  const window = eventIds === null ? { store, from: from ?? firstDay, until } : null;
  return { tenant, kind, days, window };
}
