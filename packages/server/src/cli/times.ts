import { isDay } from '../kernel/day.ts';
import { formatMicros, parseInstant } from '../kernel/instant.ts';
import { spanMillis, usage } from './help.ts';

/**
 * The options --from and --to of a list, one of which may be left out, as the API takes them. Throws `usage_invalid`.
 */
export function readTimes(
  given: { from?: string | undefined; to?: string | undefined },
  nowMillis: number,
): { from?: string; to?: string } {
  if (given.from === undefined && given.to === undefined) return {};
  // Days reach further than instants, and stay what they are.
  const read = (flag: string, text: string) =>
    isDay(text) ? text : readTime(flag, text, { nowMillis, edge: 'first' });
  const from = read('--from', given.from ?? '1970-01-01');
  const to = read('--to', given.to ?? '2999-12-31');
  // A time of the last day does not lie after it.
  if (from.slice(0, to.length) > to) throw usage('--from lies after --to.');
  return { from, to };
}

/**
 * Reads the time of an option: an RFC 3339 time, a day (`edge` says which end of it), or a span ago such as 2h. Throws
 * `usage_invalid`.
 */
export function readTime<Text extends string | undefined>(
  flag: string,
  text: Text,
  { nowMillis, edge }: { nowMillis: number; edge: 'first' | 'last' },
): Text | string {
  if (text === undefined) return text;
  const ago = spanMillis(text, /^(\d{1,5})([mhd])$/);
  if (ago !== null) return formatMicros((nowMillis - ago) * 1000);
  const time = edge === 'first' ? '00:00:00.000000' : '23:59:59.999999';
  const micros = parseInstant(isDay(text) ? `${text}T${time}Z` : text);
  if (micros !== null) return formatMicros(micros);
  throw usage(
    `${flag}: "${text}" is neither a time such as 2026-03-05T14:00:00Z, nor a day, nor a span ago such as 2h.`,
  );
}
