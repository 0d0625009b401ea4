import { formatCount, numberOf } from '../../kernel/values.ts';
import type { ReplayPreview, ReplayRequest } from '../contract.ts';

/** No more deliveries of a replay wait at a time: so its cancel, and that of its endpoint, leave little behind. */
export const mostWaiting = 2000;

/** What to know before a replay, above all what receivers make of what they had before. */
export function notesOf(
  found: Omit<ReplayPreview, 'notes'>,
  { only = 'missed', ids = 'new', filters = 'apply', rate }: ReplayRequest,
  endpoint: {
    readonly enabled: boolean;
    readonly breaker: { readonly state: string };
    /** Whether this release cannot read its filter. */
    readonly isUnreadable: boolean;
    /** How many are sent because its filter costs too much. */
    readonly costly: number;
  },
): string[] {
  const { count, failed, delivered, discarded, waiting, unwanted, erased } = found;
  const sendsAgain = only === 'delivered' || only === 'all' ? delivered : 0;
  const rearms = only === 'failed' || only === 'all' ? failed : 0;
  const revives = only === 'missed' || only === 'all' ? discarded : 0;
  return [
    ...(found.forgotten_before === null ? [] : [`${forgottenText(found.forgotten_before)}.`]),
    ...when(
      sendsAgain > 0,
      ids === 'same'
        ? `Sent again under the webhook-id that it had: ${deliveries(sendsAgain)}. A receiver that drops repeats drops them.`
        : `Sent again, each under a new webhook-id and with the first one in webhook-replay: ${deliveries(sendsAgain)}. A receiver that drops repeats by webhook-id takes them for new.`,
    ),
    ...when(
      rearms > 0,
      `Re-armed under the same webhook-id: ${numberOf(rearms, 'dead letter')}. A receiver that took one although its answer failed can drop it.`,
    ),
    ...when(
      revives > 0,
      `Discarded before: ${deliveries(revives)}. Attempts from before that may have reached the receiver.`,
    ),
    ...when(waiting > 0, `Left alone, because queued already: ${deliveries(waiting)}.`),
    ...when(
      unwanted > 0 && filters === 'apply',
      `Left alone, because the endpoint does not want it now, by its types, stores and filter: ${numberOf(unwanted, 'incident')}. With filters ignored they are sent, too.`,
    ),
    ...when(
      found.filtered_until !== null,
      `The filter was asked about what was reported up to ${found.filtered_until}: more would take too long. What came later is counted as if it passed, so fewer may be sent.`,
    ),
    ...when(
      found.counted_until !== null,
      `Only what was reported up to ${found.counted_until} was counted: the rest would take too long. It is looked at all the same, so more may be sent.`,
    ),
    ...when(
      count > 0 && endpoint.isUnreadable,
      'This release cannot read the filter of the endpoint, so it lets everything pass.',
    ),
    ...when(
      endpoint.costly > 0,
      `Sent unfiltered, because the filter costs too much: ${deliveries(endpoint.costly)}.`,
    ),
    ...when(
      erased > 0,
      `Left alone, because the payload was erased: ${numberOf(erased, 'incident')}.`,
    ),
    ...when(
      count > 0 && !endpoint.enabled,
      `The endpoint is disabled: up to ${formatCount(mostWaiting)} deliveries are queued and wait, and the rest follows when it is enabled.`,
    ),
    ...when(
      count > 0 && endpoint.enabled && endpoint.breaker.state === 'open',
      'The endpoint is paused after failures: what is queued waits until the pause is over.',
    ),
    ...when(
      count > 0 && rate !== undefined,
      `At ${formatCount(rate ?? 1)}/s it takes at least ${durationOf(count / (rate ?? 1))}.`,
    ),
  ];
}

/** What a replay cannot send, without a full stop. */
export function forgottenText(before: string): string {
  return `What was reported before ${before} is left alone: nobody knows any more what of it was delivered`;
}

function when(holds: boolean, text: string): string[] {
  return holds ? [text] : [];
}

function deliveries(count: number): string {
  return numberOf(count, 'delivery', 'deliveries');
}

function durationOf(seconds: number): string {
  if (seconds < 120) return numberOf(Math.ceil(seconds), 'second');
  if (seconds < 7200) return numberOf(Math.ceil(seconds / 60), 'minute');
  return numberOf(Math.ceil(seconds / 3600), 'hour');
}
