import { InvalidArgumentError } from 'commander';
import { orderings, stuckRules } from '../../webhooks/values.ts';
import type { Context } from '../context.ts';
import { orDefault, orNull, usage, wholeNumber } from '../help.ts';
import type { OptionRow } from '../verb.ts';
import { type DeliveryOptions, deliveryOptions, textOf } from './delivery-settings.ts';

/** The settings of an endpoint as options. */
export type EndpointOptions = DeliveryOptions & {
  url?: string;
  event?: string[];
  store?: string[];
  where?: string;
  description?: string;
  uid?: string;
  name?: string;
  label?: string[];
  maxAttempts?: number | 'default';
  retrySchedule?: number[] | 'default';
  rateLimit?: number | 'default';
  disableAfter?: number | 'default';
  ordered?: (typeof orderings)[number];
  whenStuck?: (typeof stuckRules)[number];
  header?: string[];
};

/** What an endpoint gets of what is reported for its tenant. */
export const subscriptionOptions: readonly OptionRow[] = [
  [
    '--event <type...>',
    'types of events that it gets, as incident.created or incident.* (default: all)',
  ],
  ['--store <store...>', 'only incidents of these stores; * is any, and none (default)'],
  [
    '--where <filter>',
    `only incidents of which this holds, as 'score >= 0.9 and data.kind = "a"'; '' takes the filter away`,
  ],
];

/** The same, by the names of the API: a null means no bound. */
export function subscriptionBody({ event, store, where }: EndpointOptions) {
  return {
    event_types: event,
    stores: store?.includes('*') ? null : store,
    where: where === '' ? null : where,
  };
}

export const endpointOptions = (urlHelp: string): readonly OptionRow[] => [
  ['--url <url>', urlHelp],
  ...subscriptionOptions,
  ['--description <text>', 'what it is, for people'],
  ['--uid <uid>', 'what files call it, one of its tenant’s: docs/as-code.md'],
  ['--name <name>', 'what people call it'],
  ['--label <label...>', 'labels of your own, as team=soc; the others go'],
  [
    '--max-attempts <number>',
    'attempts before a delivery is abandoned, or default',
    orDefault(wholeNumber(1)),
  ],
  [
    '--retry-schedule <seconds>',
    'seconds before attempt 2, 3, …, as 5,300,1800 (the last repeats), or default',
    orDefault(parseSchedule),
  ],
  [
    '--rate-limit <number>',
    'deliveries a second, at most, or default (no limit)',
    orDefault(wholeNumber(1)),
  ],
  [
    '--disable-after <days>',
    'days of failures after which it is disabled, 1 to 30, or default (never)',
    orDefault(wholeNumber(1)),
  ],
  ...deliveryOptions,
  [
    '--ordered <by>',
    'none, or store or group: what was reported with the same one goes one after the other',
    orderings,
  ],
  [
    '--when-stuck <rule>',
    'when one in order is abandoned: block (the others wait for you) or pass (the next goes)',
    stuckRules,
  ],
  [
    '--header <header...>',
    'more for each request, as "Authorization: Bearer …", or @FILE with one a line; "Name:" takes it away',
  ],
];

/** The same settings, by the names of the API. */
export function endpointBody(options: EndpointOptions) {
  return {
    url: options.url,
    uid: options.uid,
    name: options.name,
    labels: labelsOf(options),
    ...subscriptionBody(options),
    max_attempts: orNull(options.maxAttempts),
    retry_schedule: orNull(options.retrySchedule),
    rate_limit: orNull(options.rateLimit),
    disable_after_days: orNull(options.disableAfter),
    ordered: options.ordered,
    when_stuck: options.whenStuck,
  };
}

/** Headers as `Name: value`, those of a file as well, so that no secret need stand in the shell's history. */
export async function headersOf(
  context: Context,
  { header }: EndpointOptions,
): Promise<Record<string, string | null> | undefined> {
  if (header === undefined) return undefined;
  const headers: Record<string, string | null> = {};
  for (const text of header) {
    for (const line of (await textOf(context, text)).split('\n')) {
      if (line.trim() === '') continue;
      const colon = line.indexOf(':');
      if (colon < 1) throw usage('A header is written as "Name: value".');
      headers[line.slice(0, colon).trim()] = line.slice(colon + 1).trim() || null;
    }
  }
  return headers;
}

function labelsOf({ label }: EndpointOptions): Record<string, string> | undefined {
  return (
    label &&
    Object.fromEntries(
      label.map((text) => {
        const equals = text.indexOf('=');
        if (equals < 1) throw usage('A label is written as name=value.');
        return [text.slice(0, equals), text.slice(equals + 1)];
      }),
    )
  );
}
function parseSchedule(text: string): number[] {
  return text.split(',').map((part) => {
    const seconds = /^\d{1,6}$/.test(part.trim()) ? Number(part) : 0;
    if (seconds >= 1) return seconds;
    throw new InvalidArgumentError('It is not a list of seconds such as 5,300,1800.');
  });
}
