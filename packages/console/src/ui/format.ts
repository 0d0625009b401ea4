// How numbers, times and names are written everywhere in the console.

import { formatBytes } from '../api/values.ts';

export { formatBytes, formatShare } from '../api/values.ts';

export type Zone = 'utc' | 'local';

const counts = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });

/** A number with separators: `1,234,567`. */
export function formatCount(count: number): string {
  return counts.format(count);
}

/** A size in bytes, exact, and above a thousand also in a readable unit: `66,280 (66.3 kB)`. */
export function formatExactBytes(bytes: number): string {
  return bytes < 1000 ? formatBytes(bytes) : `${formatCount(bytes)} (${formatBytes(bytes)})`;
}

/** Whole percents of a part and the rest, which add up to 100. A little is never shown as nothing. */
export function sharesOf(part: number, rest: number): [number, number] {
  const all = part + rest;
  if (all === 0) return [0, 0];
  const share = Math.round((part / all) * 100);
  const held = part > 0 && rest > 0 ? Math.min(99, Math.max(1, share)) : share;
  return [held, 100 - held];
}

/**
 * Formats an RFC 3339 instant in UTC, with up to six fraction digits, as `2001-03-01 00:05:00`; the fraction is added
 * only where it is not zero. The caller has to print the zone.
 */
export function formatInstant(text: string, zone: Zone): string {
  const match = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.(\d+))?Z$/.exec(text);
  if (match === null) return text;
  const [, date, time, fraction = ''] = match;
  const rest = /[1-9]/.test(fraction) ? `.${fraction.padEnd(6, '0').slice(0, 6)}` : '';
  if (zone === 'utc') return `${date} ${time}${rest}`;
  // The offset of a zone is whole seconds, so the fraction can be kept as it is.
  return `${localTime(new Date(`${date}T${time}Z`))}${rest}`;
}

/** A time of this browser's clock, in milliseconds, as `12:03:55`. */
export function formatClock(millis: number, zone: Zone): string {
  const date = new Date(millis);
  return zone === 'utc' ? date.toISOString().slice(11, 19) : localTime(date).slice(11);
}

/** A duration in milliseconds in one unit: `3 s`, `4 min`, `2 h`, `5 d`. */
export function formatAge(millis: number): string {
  const seconds = Math.max(0, Math.floor(millis / 1000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86_400)} d`;
}

function localTime(date: Date): string {
  const two = (value: number) => String(value).padStart(2, '0');
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/**
 * What shows nothing, steers a terminal or turns the direction of writing. A picture may be followed by its colours, and
 * be joined to another one.
 */
const hidden =
  /[\u007f-\u009f\u2028\u2029]|(?!(?<=\p{Extended_Pictographic})\ufe0f|(?<=\p{Extended_Pictographic}(?:\p{Emoji_Modifier}|\ufe0f)?)\u200d(?=\p{Extended_Pictographic}))\p{Default_Ignorable_Code_Point}/gu;

/**
 * Foreign text with what cannot be seen spelled out, as `\u202e`: with it a name could be shown as another (`fdp.exe` for
 * `exe.pdf`), or look the same. Spaces at its ends are shown as ␣. Only for display: what is sent or copied is the text.
 */
export function visibleText(text: string): string {
  return visibleJson(text).replace(/^\p{Zs}+|\p{Zs}+$/gu, (spaces) => '␣'.repeat(spaces.length));
}

/** JSON text with the same characters spelled out, which JSON itself would read as they are. */
export function visibleJson(text: string): string {
  return text.replace(hidden, (character) =>
    Array.from({ length: character.length }, (_, unit) => {
      return `\\u${character.charCodeAt(unit).toString(16).padStart(4, '0')}`;
    }).join(''),
  );
}
