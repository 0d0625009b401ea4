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
