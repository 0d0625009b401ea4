// The closed lists of WEBHOOKS. Contract, command line and console all take them from here, so this file
// carries no schema code: it costs the command line no start-up time and the console no bytes.

/** A delivery's life: SPEC §6. */
export const deliveryStatuses = [
  'queued',
  'pending',
  'abandoned',
  'delivered',
  'discarded',
] as const;
export type DeliveryStatus = (typeof deliveryStatuses)[number];

/** The two statuses that make up the dead-letter queue. */
export const deadLetterStatuses = ['pending', 'abandoned'] as const;
export type DeadLetterStatus = (typeof deadLetterStatuses)[number];

/** Why a delivery failed, by where on its way. */
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
  // No attempt: it waited too long for its endpoint to be enabled.
  'endpoint_disabled',
] as const;
export type FailureClass = (typeof failureClasses)[number];

/** What keeps a delivery that is not delivered yet. */
export const waitReasons = [
  'in_flight',
  'disabled',
  'breaker',
  'retry_after',
  'schedule',
  'rate',
  'no_drainer',
  'silent_drainer',
  'due',
  'parked',
] as const;
export type WaitReason = (typeof waitReasons)[number];

/** Who disabled an endpoint: an operator, or its receiver, which answered 410. */
export const disabledReasons = ['operator', 'gone'] as const;
export type DisabledReason = (typeof disabledReasons)[number];

/** open: paused after failures in a row; probing: the pause is over, the next row decides. */
export const breakerStates = ['closed', 'open', 'probing'] as const;
export type BreakerState = (typeof breakerStates)[number];

/** Of jobs that retry or discard in bulk. */
export const jobStates = ['running', 'paused', 'completed', 'cancelled'] as const;
export type JobState = (typeof jobStates)[number];

/** Between these two an operator may change a job. */
export const openJobStates = ['running', 'paused'] as const satisfies readonly JobState[];
