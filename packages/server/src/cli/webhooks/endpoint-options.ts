import { InvalidArgumentError } from 'commander';
import { wholeNumber } from '../help.ts';
import type { OptionRow } from '../verb.ts';

/** The settings of an endpoint as options. commander turns null into '', so a default is asked for by a word here. */
export type EndpointOptions = {
  url?: string;
  event?: string[];
  description?: string;
  maxAttempts?: number | 'default';
  retrySchedule?: number[] | 'default';
  rateLimit?: number | 'default';
  disableAfter?: number | 'default';
};

export const endpointOptions = (urlHelp: string): readonly OptionRow[] => [
  ['--url <url>', urlHelp],
  ['--event <type...>', 'types of events that it gets (default: all)'],
  ['--description <text>', 'what it is, for people'],
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
];

/** The same settings, by the names of the API. */
export function endpointBody(options: EndpointOptions) {
  return {
    url: options.url,
    event_types: options.event,
    max_attempts: orNull(options.maxAttempts),
    retry_schedule: orNull(options.retrySchedule),
    rate_limit: orNull(options.rateLimit),
    disable_after_days: orNull(options.disableAfter),
  };
}

function orDefault<T>(parse: (text: string) => T): (text: string) => T | 'default' {
  return (text) => (text === 'default' ? text : parse(text));
}

function orNull<T>(value: T | 'default'): T | null {
  return value === 'default' ? null : value;
}

function parseSchedule(text: string): number[] {
  return text.split(',').map((part) => {
    const seconds = /^\d{1,6}$/.test(part.trim()) ? Number(part) : 0;
    if (seconds >= 1) return seconds;
    throw new InvalidArgumentError('It is not a list of seconds such as 5,300,1800.');
  });
}
