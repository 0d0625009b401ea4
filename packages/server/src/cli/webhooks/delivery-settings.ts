import { InvalidArgumentError } from 'commander';
import type { DeliveryChange, DeliverySettings } from '../../webhooks/contract.ts';
import { type Facts, whereAny } from '../details.ts';
import { orDefault, orNull, wholeNumber } from '../help.ts';
import type { OptionRow } from '../verb.ts';

/** How an endpoint is sent to, as options. */
export type DeliveryOptions = {
  timeout?: number | 'default';
  maxInFlight?: number | 'default';
  finalStatus?: number[] | 'default';
  expiresAfter?: number | 'default';
};

export const deliveryOptions: readonly OptionRow[] = [
  [
    '--timeout <seconds>',
    'what one attempt may take, at most, or default (as the service is set to)',
    orDefault(wholeNumber(1)),
  ],
  [
    '--max-in-flight <number>',
    'attempts under way at once, 1 to 64, or default (no bound of its own)',
    orDefault(wholeNumber(1)),
  ],
  [
    '--final-status <list>',
    'answers that are not tried again, as 400,422, or default (410 alone)',
    orDefault(parseStatuses),
  ],
  [
    '--expires-after <seconds>',
    'how old a delivery may be that is sent, or default (of any age)',
    orDefault(wholeNumber(1)),
  ],
];

/** The same settings, by the names of the API; undefined when none is given. */
export function deliveryBody(options: DeliveryOptions): DeliveryChange | undefined {
  const delivery = {
    timeout_seconds: orNull(options.timeout),
    max_in_flight: orNull(options.maxInFlight),
    no_retry_on: orNull(options.finalStatus),
    expires_after_seconds: orNull(options.expiresAfter),
  };
  const given = Object.entries(delivery).filter(([, value]) => value !== undefined);
  return given.length === 0 ? undefined : Object.fromEntries(given);
}

/** What differs from the defaults in how an endpoint is sent to. */
export function deliveryFacts(delivery: DeliverySettings | null): Facts {
  const { timeout_seconds, max_in_flight, no_retry_on, expires_after_seconds } = delivery ?? {};
  const told = (name: string, value: number | undefined, unit: string) =>
    whereAny(name, value === undefined ? null : `${value} ${unit}`);
  return [
    ...told('time limit', timeout_seconds, 's an attempt'),
    ...told('in flight', max_in_flight, 'at once, at most'),
    ...whereAny('final answers', no_retry_on?.join(', ')),
    ...told('expires after', expires_after_seconds, 's'),
  ];
}

function parseStatuses(text: string): number[] {
  const parts = text.split(',').map((part) => part.trim());
  if (parts.every((part) => /^4\d\d$/.test(part))) return parts.map(Number);
  throw new InvalidArgumentError('It is not a list of 4xx statuses such as 400,422.');
}
