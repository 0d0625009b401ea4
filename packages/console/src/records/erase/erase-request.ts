import type { UseQueryResult } from '@tanstack/react-query';
import { api } from '../../api/client.ts';
import type { EraseReceipt, EraseRequest, RetentionPolicy } from '../../api/types.ts';
import { useAct } from '../../ui/act.ts';
import { rangeText } from '../../ui/day-range.ts';
import { earliestDay, latestDay, monthEnds } from '../../ui/days.ts';
import { panelHref } from '../../ui/panel-place.ts';
import { exportsKey, useRead } from '../../ui/poll.tsx';
import { notify } from '../../ui/toasts.tsx';
import { countOf, sliceText } from '../../ui/words.ts';
import { decodeRecord, type SliceParams } from '../search.ts';

/** What is to be erased: all records of a slice, or only those with an event's id, or of a person. */
export type EraseScope = SliceParams & {
  readonly eventId?: string | undefined;
  /** Whose records: those with this value at this key of the enrichment. */
  readonly subject?: { readonly field: string; readonly value: string } | undefined;
};

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

/** The scope as the API wants it. No forgotten field may mean everything, so all of a tenant goes by all days. */
export function requestOf(scope: EraseScope): EraseRequest {
  const { tenant, store, month, from, to, eventId, subject } = scope;
  const [first, last] = month === undefined ? [from, to] : monthEnds(month);
  const limits = [store, eventId, subject, first];
  const isWholeTenant = limits.every((limit) => limit === undefined);
  return {
    tenant,
    ...(store !== undefined && { store }),
    ...(eventId !== undefined && { event_ids: [eventId] }),
    ...(subject !== undefined && { subject }),
    ...(first !== undefined && last !== undefined && { from: first, to: last }),
    ...(isWholeTenant && { from: earliestDay, to: latestDay }),
  };
}

/** The scope in words: `TX › DFW › 2001-03`, with the event or the person if there is one. */
export function scopeText({ eventId, subject, ...slice }: EraseScope): string {
  const { from, to } = slice;
  const isAllDays = from === earliestDay && to === latestDay;
  const place = sliceText(isAllDays ? { ...slice, from: undefined, to: undefined } : slice);
  const who = subject === undefined ? '' : ` · ${subject.field} = ${subject.value}`;
  return eventId === undefined ? `${place}${who}` : `${place} · event ${eventId}`;
}

/** What is typed to confirm: the event, the value of a person, or the place as its path, `TX/DFW/2001-03`. */
export function confirmWord(scope: EraseScope): string {
  const { tenant, store, month, eventId, subject, ...days } = scope;
  const parts = [tenant, store, month ?? rangeText(days)].filter(Boolean);
  return eventId ?? subject?.value ?? parts.join('/');
}

/** What an erasure would take, as the service finds it now. */
export function useErasePreview(request: EraseRequest): UseQueryResult<EraseReceipt> {
  const read = (signal: AbortSignal) =>
    api.post<EraseReceipt>('/enrichment/erase/plan', request, { signal });
  return useRead(['records', 'erase-preview', JSON.stringify(request)], read, { isFresh: true });
}

/** The policy of a tenant: a legal hold keeps all of it from being erased. */
export function usePolicyOf(tenant: string): UseQueryResult<RetentionPolicy> {
  const path = `/retention/policies/${encodeURIComponent(tenant)}`;
  const once = { isOne: true, everyMillis: null, staleMillis: 0 };
  return useRead(['records', 'policy', tenant], path, once);
}

/** Erases. All that shows records is read again afterwards, and a message says what went, also on another page. */
export function useErase() {
  return useAct({
    call: (request: EraseRequest) => api.post<EraseReceipt>('/enrichment/erase', request),
    onDone: ({ id, state, tenant, erased }) => {
      const text = `Erased ${countOf(erased.count, 'record')} of ${tenant}`;
      const isJournalled = id !== null && state !== null;
      notify(isJournalled ? { text, href: moveHref(id), linkText: 'its journal' } : { text });
    },
    changes: (client) => {
      void client.invalidateQueries({ queryKey: exportsKey });
      void client.invalidateQueries({
        queryKey: ['records'],
        // What would go next is asked for when a person wants to know.
        predicate: ({ queryKey }) => queryKey[1] !== 'erase-preview',
      });
    },
  });
}

/** A link to an erasure in the journal of moves. */
export function moveHref(id: string): string {
  return panelHref('/retention', { kind: 'move', id }, { view: 'journal' });
}
