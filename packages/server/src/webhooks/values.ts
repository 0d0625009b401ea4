// The closed lists of the webhooks feature. Contract, command line and console all take them from here. The file has no
// schema code, so it costs the command line no start-up time and the console no bytes.

/** The statuses of a delivery (SPEC §6). */
export const deliveryStatuses = [
  'queued',
  'pending',
  'abandoned',
  'delivered',
  'discarded',
] as const;
export type DeliveryStatus = (typeof deliveryStatuses)[number];

export const deadLetterStatuses = ['pending', 'abandoned'] as const;
export type DeadLetterStatus = (typeof deadLetterStatuses)[number];

/** Why a delivery failed, by the step that it failed in. Stored rows contain these words, so none may change. */
export const failureClasses = [
  'dns',
  'connect',
  'tls',
  'timeout_dns',
  'timeout_connect',
  'timeout_tls',
  'timeout_headers',
  // An earlier release called it a failure that a body did not end, or broke off, after a 2xx.
  'timeout_body',
  // The egress proxy failed, which says nothing of the receiver.
  'proxy',
  'reset',
  'protocol',
  'status',
  'redirect',
  'gone',
  'body',
  'blocked',
  'unsendable',
  // Its endpoint has named this status as one after which nothing is tried again.
  'final_status',
  // There was no attempt: the delivery waited too long for its endpoint to be enabled.
  'endpoint_disabled',
  // It was not sent in the time after which its endpoint has no use for it.
  'expired',
  // Its payload was erased, so it cannot be sent any more.
  'erased',
] as const;
export type FailureClass = (typeof failureClasses)[number];

/** Why a delivery that is not delivered yet has to wait. */
export const waitReasons = [
  'in_flight',
  'disabled',
  'poll',
  'order',
  'breaker',
  'retry_after',
  'schedule',
  'rate',
  'no_drainer',
  'silent_drainer',
  'due',
  'parked',
] as const;

/**
 * Why an endpoint does not get an incident of its tenant: by its types, its stores or its filter. too_costly: it gets it
 * unfiltered, because its filter could not be applied within bounds.
 */
export const filterReasons = ['type', 'store', 'where', 'too_costly'] as const;
export type FilterReason = (typeof filterReasons)[number];

/** What the deliveries to an endpoint go in order by: nothing, the store or the group of what was reported. */
export const orderings = ['none', 'store', 'group'] as const;

/** What becomes of the others of a key when its first is abandoned: they wait for an operator, or the next goes. */
export const stuckRules = ['block', 'pass'] as const;

/** Whether deliveries are sent to an endpoint's URL, or its receiver fetches them. */
export const endpointTypes = ['push', 'pull'] as const;

/** Why an endpoint is disabled: by an operator; its receiver answered 410; it failed for as long as its setting allows. */
export const disabledReasons = ['operator', 'gone', 'failing'] as const;

/** The states of a breaker. open: paused after failures in a row. probing: the next delivery decides. */
export const breakerStates = ['closed', 'open', 'probing'] as const;

/** Why a restore pauses what was running. */
export const restoredText = 'The database was restored from a backup';

/** What operators do to dead letters in bulk. */
export const bulkActions = ['retry', 'purge'] as const;
export type BulkAction = (typeof bulkActions)[number];

/**
 * What has become of a delivery since a bulk job re-armed or discarded it:
 *
 * - failed_again: it is tried again by its schedule; abandoned: it is not.
 * - waits_for_breaker: its endpoint is paused after failures; waits_for_endpoint: that is disabled.
 * - under_way: it is queued, and nothing holds it up.
 */
export const shownOutcomes = [
  'delivered',
  'failed_again',
  'abandoned',
  'waits_for_breaker',
  'waits_for_endpoint',
  'under_way',
  'discarded',
] as const;
export type ShownOutcome = (typeof shownOutcomes)[number];

/** Also those that somebody has retried since, alone or by another job: they do not name the job any more. */
export const rowOutcomes = [...shownOutcomes, 'retried_since'] as const;
export type RowOutcome = (typeof rowOutcomes)[number];

/** What is still to change by itself. */
export const unsettledOutcomes = [
  'failed_again',
  'waits_for_breaker',
  'waits_for_endpoint',
  'under_way',
] as const satisfies readonly RowOutcome[];

/** The states of a job that retries or discards in bulk. */
export const retryStates = ['running', 'paused', 'completed', 'cancelled'] as const;
export type RetryState = (typeof retryStates)[number];

/**
 * What a replay sends of the incidents of its range:
 *
 * - missed: those that the endpoint never got, because it was made or wanted them later, or they were discarded.
 * - failed: those of which the last delivery is a dead letter, which is re-armed.
 * - delivered: those that it got, once more.
 */
export const replaySelections = ['missed', 'failed', 'delivered', 'all'] as const;
export type ReplaySelection = (typeof replaySelections)[number];

/** What was delivered before comes under a new webhook-id, or under that which it had. */
export const replayIds = ['new', 'same'] as const;

/** Whether a replay sends only what the endpoint wants now, or whatever was reported. */
export const replayFilters = ['apply', 'ignore'] as const;

/** An operator may change a job from one of these states to the other. */
export const openJobStates = ['running', 'paused'] as const satisfies readonly RetryState[];

/**
 * How an endpoint fares:
 *
 * - degraded: more than one in twenty attempts of this hour and the one before failed, or without any the last one did.
 * - failing: it is paused after failures in a row.
 * - unpolled: it is polled, and nobody has done so for an hour while a delivery was waiting.
 * - gone: it is disabled because it answered 410.
 * - disabled: it is disabled for another reason.
 */
export const endpointHealths = [
  'ok',
  'degraded',
  'failing',
  'unpolled',
  'gone',
  'disabled',
] as const;
export type EndpointHealth = (typeof endpointHealths)[number];

/** The same in the order in which they need somebody. */
export const worstFirst = [
  'failing',
  'gone',
  'degraded',
  'unpolled',
  'disabled',
  'ok',
] as const satisfies readonly EndpointHealth[];

/** What can be wrong with an endpoint, of which somebody is told. */
export type EndpointTrouble =
  | Extract<EndpointHealth, 'failing' | 'unpolled' | 'gone' | 'disabled'>
  | 'disabling'
  | 'held'
  | 'full'
  | 'certificate'
  | 'blocked';

/** What stands in place of the URL of an endpoint that is polled. */
export const pollUrl = 'pull:';

/** Where a delivery goes, in words where it has no URL. */
export const targetText = (target: string) =>
  target === pollUrl ? 'polled by its receiver' : target;

/** What a delivery whose time has come waits for: a drainer, its endpoint, or its receiver's poll. */
export const dueStates = ['ready', 'rate_limited', 'paused', 'disabled', 'polled'] as const;
export type DueState = (typeof dueStates)[number];

/**
 * The bounds of the histograms of answer times, in milliseconds; the last is the longest time limit that there is. They
 * are round, because a percentile is told as "no more than" one of them. Rows hold these histograms, so the list can only
 * get longer at its end.
 */
export const answerBounds = [
  5, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000, 1500, 2000, 3000, 5000, 7000,
  10_000, 15_000, 20_000, 30_000, 60_000, 120_000,
] as const;

/** What becomes of a report that the catalogue of event types does not know, or whose data does not fit. */
const unknownTypes = ['accept', 'warn', 'refuse'] as const;
export type UnknownTypes = (typeof unknownTypes)[number];

/** What the types of incidents begin with that the service itself reports. */
export const ownTypes = 'svcctl.';
