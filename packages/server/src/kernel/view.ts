// What the command line and the console have in common: how lists are filtered, which the one makes options of and the
// other fields and what its hash has, and how some things are written.

import { formatCount } from './values.ts';

/** A filter of a list. Its name is that of the option and of the field in the hash. */
export type Filter = {
  /** Its parameter in the API, where that has another name. */
  readonly param?: string;
  /** The words that its value may be; without them it may be any text, or a day. */
  readonly choices?: readonly string[];
  readonly isDay?: true;
  /** The filter without which this one means nothing: it goes when that one changes. */
  readonly within?: string;
  /** What the help of its option says; without it there is none. */
  readonly help?: string;
  /** What that help calls the value, unless that is the name of the filter. */
  readonly value?: string;
  /** What the field of the console says to those who do not see it, unless that is `Store, exactly`. */
  readonly label?: string;
};

export type Filters = Readonly<Record<string, Filter>>;

/** The filters that somebody has set. */
export type Chosen<F extends Filters> = {
  -readonly [Name in keyof F]?: F[Name] extends { choices: readonly (infer Word)[] }
    ? Word
    : string;
};

export const tenantFilter = { help: 'only of this tenant' } as const;

/** The first and the last day of what is listed. */
export function dayFilters(help: string) {
  return {
    from: { isDay: true, value: 'date', help },
    to: { isDay: true, value: 'date', help: 'up to this day, inclusive' },
  } as const;
}

export type DayFilters = ReturnType<typeof dayFilters>;

/** What the API is asked for when these filters are set. */
export function paramsOf<F extends Filters>(
  filters: F,
  chosen: Chosen<F>,
): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(filters).map(([name, { param = name }]) => [
      param,
      chosen[name] as string | undefined,
    ]),
  );
}

const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'] as const;

/** A size: `812 B`, `2.1 MB`, `246 MB`. Units are powers of 1000, with one decimal below 100. */
export function formatBytes(value: number): string {
  let scaled = value;
  let unit = 0;
  // 999.5 would be written as 1000, so it belongs to the next unit already.
  while (scaled >= 999.5 && unit < units.length - 1) {
    scaled /= 1000;
    unit += 1;
  }
  const isWhole = unit === 0 || scaled >= 99.95;
  return `${isWhole ? formatCount(Math.round(scaled)) : scaled.toFixed(1)} ${units[unit]}`;
}

/** A share as a percentage: `38 %`. 100 % and 0 % mean exactly that; null is `–`. */
export function formatShare(share: number | null): string {
  if (share === null) return '–';
  if (share > 0 && share < 0.01) return '<1 %';
  // In floating point 0.29 × 100 is 28.999…, which has to count as 29.
  return `${share < 1 ? Math.min(99, Math.floor(share * 100 + 1e-9)) : 100} %`;
}

/** A word, quoted if necessary so that it can be pasted into a POSIX shell. */
export function shellQuote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
