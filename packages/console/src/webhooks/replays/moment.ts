import { dayMillis } from '../../ui/days.ts';

const spans: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: dayMillis };

/** Reads a span ago such as 24h, a day or a time, in UTC; null for others. `edge`: which end of a day is meant. */
export function readMoment(
  text: string,
  { nowMillis, edge }: { nowMillis: number; edge: 'first' | 'last' },
): string | null {
  const [, amount, unit = ''] = /^(\d{1,5}) ?([mhd])$/.exec(text.trim()) ?? [];
  if (amount !== undefined) {
    return new Date(nowMillis - Number(amount) * (spans[unit] ?? 0)).toISOString();
  }
  const [, day, time] =
    /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?)Z?)?$/.exec(text.trim()) ?? [];
  if (day === undefined) return null;
  const millis = Date.parse(`${day}T${time ?? '00:00'}Z`);
  // A date such as the 31st of February would be read as one of March.
  if (Number.isNaN(millis) || new Date(millis).toISOString().slice(0, 10) !== day) return null;
  const isWholeDay = time === undefined && edge === 'last';
  return new Date(isWholeDay ? millis + (spans.d ?? 0) : millis).toISOString();
}
