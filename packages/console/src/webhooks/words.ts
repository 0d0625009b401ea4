import type { DeliveryStatus, FailureClass } from '../api/values.ts';

/** The last path segment of a URL, by which endpoints can be told apart; undefined when there is none, or a long one. */
export function pathEnd(target: string): string | undefined {
  const slash = target.lastIndexOf('/');
  const end = target.slice(slash);
  return slash <= 'https://'.length || end.length > 24 ? undefined : end;
}

/** What each status means, as a sentence. */
export const statusWords: Readonly<Record<DeliveryStatus, string>> = {
  queued: 'due at once',
  pending: 'failed, tried again by itself',
  abandoned: 'parked: no attempts are left',
  delivered: 'the receiver took it',
  discarded: 'never delivered',
};

/** The statuses in the order of their urgency: what needs a person comes first. */
export const urgentFirst = [
  'abandoned',
  'pending',
  'queued',
  'delivered',
  'discarded',
] as const satisfies readonly DeliveryStatus[];

/** For each failure class, where on its way an attempt failed. */
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
  erased: 'payload erased',
};
