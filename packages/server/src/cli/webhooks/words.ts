import type { DeadLetterStatus, DeliveryStatus, FailureClass } from '../../webhooks/contract.ts';

// The contract's lists once more: loading the contract would cost the command line its quick start.

export const deliveryStatuses = [
  'queued',
  'pending',
  'abandoned',
  'delivered',
  'discarded',
] as const satisfies readonly DeliveryStatus[];

export const deadLetterStatuses = [
  'pending',
  'abandoned',
] as const satisfies readonly DeadLetterStatus[];

export const failureClasses = [
  'dns',
  'connect',
  'tls',
  'timeout_dns',
  'timeout_connect',
  'timeout_tls',
  'timeout_headers',
  'timeout_body',
  'reset',
  'protocol',
  'status',
  'redirect',
  'gone',
  'body',
  'blocked',
  'unsendable',
  'endpoint_disabled',
] as const satisfies readonly FailureClass[];
