import { invalidInput } from '../../kernel/errors.ts';
import type { EraseRequest } from '../contract.ts';

/** Which records of a tenant are to be erased: those that fit all that is not null. */
export type EraseScope = {
  readonly tenant: string;
  readonly store: string | null;
  readonly eventIds: readonly string[] | null;
  /** Whole days, both inclusive, `YYYY-MM-DD`. */
  readonly from: string | null;
  readonly to: string | null;
};

/**
 * Throws 400 `request_invalid` for days that make no sense, and for a tenant with nothing more: that all of
 * a tenant shall go must be spelled out, so that a forgotten field never means everything.
 */
export function toScope(request: EraseRequest): EraseScope {
  const { tenant, store = null, event_ids: eventIds = null, from = null, to = null } = request;
  if ((from === null) !== (to === null)) {
    const missing = from === null ? 'from' : 'to';
    throw invalidInput(`/${missing}`, 'from and to need each other', 'field_required');
  }
  if (from !== null && to !== null && from > to) {
    throw invalidInput('/from', `${from} lies after to, ${to}`);
  }
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

/** The scope as the journal keeps it (moves.request). */
export function toJournal({ store, eventIds, from, to }: EraseScope): JournalledScope {
  return { store, event_ids: eventIds, from, to };
}

/** What `toJournal` wrote. */
export function fromJournal(move: { id: string; tenant: string; request: unknown }): EraseScope {
  const { id, tenant, request } = move;
  if (typeof request !== 'object' || request === null || !('event_ids' in request)) {
    throw new Error(`the journal does not tell what the erasure ${id} is about`);
  }
  const { store, event_ids: eventIds, from, to } = request as JournalledScope;
  return { tenant, store, eventIds, from, to };
}

/** All records of whole days. */
export function scopeOfDays(tenant: string, from: string | null, to: string): EraseScope {
  return { tenant, store: null, eventIds: null, from, to };
}
