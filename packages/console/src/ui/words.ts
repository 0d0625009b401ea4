import type { DeliveryStatus, Endpoint, FailureClass } from '../api/types.ts';
import { formatAge } from './format.ts';

/** An id in few characters, by both its ends: dlv…7Kq2. What is short already stays whole. */
export function shortId(id: string): string {
  if (id.length <= 12) return id;
  const mark = id.indexOf('_');
  const start = mark > 0 && mark <= 4 ? id.slice(0, mark) : id.slice(0, 3);
  return `${start}…${id.slice(-4)}`;
}

/** A URL in two parts: the second is its last path segment, which tells endpoints apart. */
export function splitTarget(target: string): [string, string] {
  const slash = target.lastIndexOf('/');
  const end = target.slice(slash);
  return slash <= 'https://'.length || end.length > 24
    ? [target, '']
    : [target.slice(0, slash), end];
}

/** How far a moment lies from now: in 4 min, 2 h ago, now. */
export function formatDistance(instant: string, now: number): string {
  const millis = Date.parse(instant) - now;
  if (Number.isNaN(millis)) return instant;
  if (Math.abs(millis) < 1000) return 'now';
  return millis > 0 ? `in ${formatAge(millis)}` : `${formatAge(-millis)} ago`;
}

/** 340 ms, 1.2 s, 15.0 s. */
export function formatDuration(millis: number): string {
  return millis < 1000 ? `${millis} ms` : `${(millis / 1000).toFixed(1)} s`;
}

/** 1 row, 2 rows, no rows. */
export function countOf(count: number, one: string, many = `${one}s`): string {
  if (count === 0) return `no ${many}`;
  return `${count.toLocaleString('en-US')} ${count === 1 ? one : many}`;
}

/** What is queued or pending of an endpoint: 1,204, 10,000+. */
export function backlogText({ count, is_exact: isExact }: Endpoint['backlog']): string {
  return `${count.toLocaleString('en-US')}${isExact ? '' : '+'}`;
}

/** What each status means, in a sentence. */
export const statusWords: Readonly<Record<DeliveryStatus, string>> = {
  queued: 'due at once',
  pending: 'failed, tried again by itself',
  abandoned: 'parked: no attempts are left',
  delivered: 'the receiver took it',
  discarded: 'never delivered',
};

/** Where on its way an attempt failed. */
export const failureWords: Readonly<Record<FailureClass, string>> = {
  dns: 'name not found',
  connect: 'no connection',
  tls: 'TLS failed',
  timeout_dns: 'time-out: name',
  timeout_connect: 'time-out: connect',
  timeout_tls: 'time-out: TLS',
  timeout_headers: 'time-out: no answer',
  timeout_body: 'time-out: answer',
  reset: 'connection reset',
  protocol: 'not HTTP',
  status: 'refused by status',
  redirect: 'redirect',
  gone: 'gone (410)',
  body: 'answer unreadable',
  blocked: 'address blocked',
  unsendable: 'cannot be sent',
  endpoint_disabled: 'endpoint disabled too long',
};

/** Records by tenant, store and days, as an export names them. */
export type Slice = {
  tenant: string;
  store?: string | undefined;
  month?: string | undefined;
  from?: string | undefined;
  to?: string | undefined;
};

/** TX › DFW › 2001-03, or the days. */
export function sliceText(slice: Slice): string {
  const { tenant, store, month, from, to } = slice;
  const days = from === undefined ? month : from === to ? from : `${from} – ${to}`;
  return [tenant, store, days].filter((part) => part !== undefined).join(' › ');
}
