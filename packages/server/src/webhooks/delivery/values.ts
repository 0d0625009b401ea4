import type { FailureClass } from '../values.ts';

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
  proxy: 'egress proxy failed',
  reset: 'connection reset',
  protocol: 'not HTTP',
  status: 'refused by status',
  redirect: 'redirect',
  gone: 'gone (410)',
  body: 'answer unreadable',
  blocked: 'address blocked',
  unsendable: 'cannot be sent',
  final_status: 'refused for good',
  endpoint_disabled: 'endpoint disabled too long',
  expired: 'expired',
  erased: 'payload erased',
};
