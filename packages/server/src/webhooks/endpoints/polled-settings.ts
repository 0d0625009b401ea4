import { invalidInput } from '../../kernel/errors.ts';

/** What means nothing to an endpoint that is polled: it tells how to send, and nothing is sent. */
const ofPush = [
  'headers',
  'rate_limit',
  'max_attempts',
  'retry_schedule',
  'disable_after_days',
] as const;
const ofSending = ['timeout_seconds', 'max_in_flight', 'no_retry_on', 'tls'] as const;

type Settings = { [name in (typeof ofPush)[number]]?: unknown } & {
  ordered?: string | undefined;
  delivery?: { [name in (typeof ofSending)[number]]?: unknown } | null | undefined;
};

/** Throws 400 `request_invalid` for settings that would have no effect on an endpoint that is polled. */
export function refuseUnpolled(given: Settings): void {
  const name = ofPush.find((each) => given[each] != null);
  if (name !== undefined) throw invalidInput(`/${name}`, noEffect);
  const sending = ofSending.find((each) => given.delivery?.[each] != null);
  if (sending !== undefined) throw invalidInput(`/delivery/${sending}`, noEffect);
  if ((given.ordered ?? 'none') !== 'none') {
    throw invalidInput('/ordered', `${noEffect}; what is polled comes in the order of its reports`);
  }
}

const noEffect = 'has no effect on an endpoint that is polled';
