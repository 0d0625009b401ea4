import { dayAfter } from '../../kernel/day.ts';
import { checkDayRange, invalidInput } from '../../kernel/errors.ts';
import {
  beyondLastDay,
  type DayTriple,
  firstDay,
  type Gone,
  parsePath,
  type Slice,
  type Where,
} from '../../records/segments.ts';
import type { EraseRequest } from '../contract.ts';

/** The records of a tenant that are to be erased: those that fit every field that is not null. */
export type EraseScope = {
  readonly tenant: string;
  readonly store: string | null;
  readonly eventIds: readonly string[] | null;
  readonly subject: Subject | null;
  /** Whole days, `YYYY-MM-DD`; both ends belong to the range. */
  readonly from: string | null;
  readonly to: string | null;
};

/** Whom an erasure is about: records whose enrichment has this value at this path, or in the array there. */
export type Subject = { readonly field: string; readonly value: string };

/** Whether a scope takes days whole, so that counters and catalogue know what it takes. */
export const takesWholeDays = ({ eventIds, subject }: EraseScope): boolean =>
  eventIds === null && subject === null;

/** Whether a scope may take all that there is of a tenant. */
export const mayTakeAll = (scope: EraseScope): boolean =>
  takesWholeDays(scope) && scope.store === null;

/**
 * What holds of the records of a subject. A value that is spelled as a number stands for that number too, as some write an
 * id as a text and others as a number. Throws 400 `request_invalid` for a field that is none of the enrichment.
 */
export function whereOf({ field, value }: Subject): Where {
  const path = parsePath(field, '/subject/field');
  const checks: Extract<Where, { op: 'compare' }>['checks'] = [
    { type: 'text', sign: '=', values: [value] },
    ...(isNumber.test(value) ? [{ type: 'number', sign: '=', values: [value] } as const] : []),
  ];
  const compare = (isAny: boolean) =>
    ({ op: 'compare', of: { path }, isAny, isNegated: false, checks }) as const;
  return { op: 'or', terms: [compare(false), compare(true)] };
}

const isNumber = /^-?(0|[1-9]\d*)(\.\d+)?$/;

/**
 * Checks a request and returns its scope. Throws 400 `request_invalid` for a range of days that makes no sense, and for
 * a tenant without anything else: that all of a tenant shall be erased must be spelled out, so that a forgotten field
 * never means everything.
 */
export function toScope(request: EraseRequest): EraseScope {
  const { tenant, store = null, event_ids: eventIds = null, subject = null } = request;
  const { from = null, to = null } = request;
  checkDayRange('/', { from, to });
  if (subject !== null) whereOf(subject);
  if (store === null && eventIds === null && subject === null && from === null) {
    throw invalidInput(
      '/',
      'name event_ids, a subject, a store, or from and to; all of a tenant goes by from and to around all its days',
      'field_required',
    );
  }
  return { tenant, store, eventIds, subject, from, to };
}

type JournalledScope = {
  store: string | null;
  /** Missing beside a subject: a release that knows no subjects then refuses the move instead of taking all records. */
  event_ids?: readonly string[] | null;
  subject?: (Subject & { event_ids: readonly string[] | null }) | undefined;
  from: string | null;
  to: string | null;
};

/** The scope in the form that the journal stores (moves.request). */
export function toJournal({ store, eventIds, subject, from, to }: EraseScope): JournalledScope {
  if (subject === null) return { store, event_ids: eventIds, from, to };
  return { store, subject: { ...subject, event_ids: eventIds }, from, to };
}

/** Reads the scope of an erasure from the journal, as `toJournal` wrote it. */
export function fromJournal(move: { id: string; tenant: string; request: unknown }): EraseScope {
  const { id, tenant, request } = move;
  const isTold = (scope: object) => 'event_ids' in scope || 'subject' in scope;
  if (typeof request !== 'object' || request === null || !isTold(request)) {
    throw new Error(`the journal does not tell what the erasure ${id} is about`);
  }
  const { store, event_ids = null, subject, from, to } = request as JournalledScope;
  if (subject === undefined) return { tenant, store, eventIds: event_ids, subject: null, from, to };
  const { event_ids: eventIds, ...who } = subject;
  return { tenant, store, eventIds, subject: who, from, to };
}

/** The scope of all records on whole days; `from` null means since the first day. */
export function scopeOfDays(tenant: string, from: string | null, to: string): EraseScope {
  return { tenant, store: null, eventIds: null, subject: null, from, to };
}

/** The slice of the stores and days of a scope. */
export function sliceOf({ tenant, store, from, to }: EraseScope): Slice {
  const until = to === null ? undefined : dayAfter(to);
  return { tenant, store: store ?? undefined, from: from ?? undefined, until, tenants: null };
}

/** What leaves for good when these days of a scope are deleted. A range of whole days without bounds has all days. */
export function goneOf(kind: Gone['kind'], scope: EraseScope, days: readonly DayTriple[]): Gone {
  const { tenant, store, from, to } = scope;
  const until = to === null || to >= beyondLastDay ? beyondLastDay : dayAfter(to);
  const window = takesWholeDays(scope) ? { store, from: from ?? firstDay, until } : null;
  return { tenant, kind, days, window };
}
