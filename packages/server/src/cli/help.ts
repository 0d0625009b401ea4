import { InvalidArgumentError } from 'commander';
import { AppError } from '../kernel/errors.ts';

/** Makes a parser for an option that is a whole number of at least `min`. */
export function wholeNumber(min: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= min) return value;
    throw new InvalidArgumentError(`It is not a whole number from ${min} on.`);
  };
}

const unitMillis: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

/** The length of a span such as 2h, which the pattern takes apart into number and unit; null for any other text. */
export function spanMillis(text: string, pattern: RegExp): number | null {
  const [, amount, unit = ''] = pattern.exec(text) ?? [];
  return amount === undefined ? null : Number(amount) * (unitMillis[unit] ?? 0);
}

/** The error for a command line that cannot be meant so. */
export function usage(detail: string): AppError {
  return new AppError('usage_invalid', { detail });
}

/** What an option gives whose value is `default`. */
export const asDefault = Symbol('default');

/** An option by which a default is asked for by a word, which is null for the API: commander turns a null into ''. */
export function orDefault<T>(parse: (text: string) => T): (text: string) => T | typeof asDefault {
  return (text) => (text === 'default' ? asDefault : parse(text));
}
