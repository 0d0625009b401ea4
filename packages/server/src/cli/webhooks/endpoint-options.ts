import { InvalidArgumentError } from 'commander';
import { orderings, stuckRules } from '../../webhooks/values.ts';
import type { Context } from '../context.ts';
import { asDefault, orDefault, usage, wholeNumber } from '../help.ts';
import { fieldNames, fieldsSent } from '../sent-fields.ts';
import type { Given } from '../verb.ts';
import { deliveryBody, deliveryOptions, textOf } from './delivery-settings.ts';

/** What an endpoint gets of what is reported for its tenant. */
export const subscriptionOptions = [
  [
    '--event <type...>',
    'types of events that it gets, as incident.created or incident.* (default: all)',
    undefined,
    'event_types',
  ],
  [
    '--store <store...>',
    'only incidents of these stores; * is any, and none (default)',
    parseStores,
    'stores',
  ],
  [
    '--where <filter>',
    `only incidents of which this holds, as 'score >= 0.9 and data.kind = "a"'; '' takes the filter away`,
    orNothing,
  ],
] as const;

/** The settings of an endpoint, all but its URL. */
export const endpointOptions = [
  ...subscriptionOptions,
  ['--description <text>', 'what it is, for people', orNothing],
  ['--uid <uid>', 'what files call it, one of its tenant’s: docs/as-code.md'],
  ['--name <name>', 'what people call it'],
  ['--label <label...>', 'labels of your own, as team=soc; the others go', parseLabel, 'labels'],
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
    'disable_after_days',
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
    'more for each request, as "Authorization: Bearer …" or "Authorization: Basic user:password", or @FILE with one a line; "Name:" takes it away',
  ],
] as const;
type EndpointOptions = Given<typeof endpointOptions>;

/** The same settings, by the names of the API. */
export async function endpointBody(context: Context, options: EndpointOptions & { url?: string }) {
  const inside = [...Object.keys(fieldNames(deliveryOptions)), 'header'];
  const own = Object.entries(options).filter(([name]) => !inside.includes(name));
  return {
    ...fieldsSent(endpointOptions, Object.fromEntries(own)),
    delivery: await deliveryBody(context, options),
    headers: await headersOf(context, options),
  };
}

/** Headers as `Name: value`, those of a file as well, so that no secret need stand in the shell's history. */
async function headersOf(
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

function orNothing(text: string): string | typeof asDefault {
  return text === '' ? asDefault : text;
}

type Stores = string[] | typeof asDefault;

function parseStores(text: string, before?: Stores): Stores {
  if (text === '*' || before === asDefault) return asDefault;
  return [...(before ?? []), text];
}

function parseLabel(text: string, before?: Record<string, string>): Record<string, string> {
  const equals = text.indexOf('=');
  if (equals < 1) throw usage('A label is written as name=value.');
  return { ...before, [text.slice(0, equals)]: text.slice(equals + 1) };
}

function parseSchedule(text: string): number[] {
  return text.split(',').map((part) => {
    const seconds = /^\d{1,6}$/.test(part.trim()) ? Number(part) : 0;
    if (seconds >= 1) return seconds;
    throw new InvalidArgumentError('It is not a list of seconds such as 5,300,1800.');
  });
}
