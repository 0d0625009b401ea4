import { isDay } from './day.ts';
import { checkDayRange, invalidInput } from './errors.ts';
import { formatMicros, parseInstant } from './instant.ts';

/**
 * Reads the ends of a range of times in a query: days by UTC, or instants, both of which belong to the range. Answers
 * instants. Throws 400 `request_invalid` as `checkDayRange` does, and for what is no time.
 */
export function readTimeRange({
  from,
  to,
}: {
  from?: string | undefined;
  to?: string | undefined;
}): { from: string | undefined; to: string | undefined } {
  // Which of them comes first is judged below.
  checkDayRange('?', { from: from && '', to: to && '' });
  if (from === undefined || to === undefined) return { from, to };
  const range = {
    from: readEnd('from', from, 'T00:00:00.000000Z'),
    to: readEnd('to', to, 'T23:59:59.999999Z'),
  };
  if (range.from <= range.to) return range;
  throw invalidInput('?from', `${from} lies after to, ${to}`);
}

function readEnd(name: string, text: string, ofDay: string): string {
  // Days reach further than instants: 2999-12-31 means without an end.
  if (isDay(text)) return text + ofDay;
  const micros = parseInstant(text);
  if (micros !== null) return formatMicros(micros);
  throw invalidInput(
    `?${name}`,
    `${text} is neither a day nor a time such as 2026-03-05T14:07:09Z`,
  );
}
