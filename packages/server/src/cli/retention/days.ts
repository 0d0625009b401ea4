import { AppError } from '../../kernel/errors.ts';
import { checkDays } from '../slice.ts';

/** Days in words: `2001-01-05`, or `2001-01-05 … 2001-01-31`. */
export function formatDays(first: string | null, last: string | null): string {
  if (first === null || last === null) return '–';
  return first === last ? first : `${first} … ${last}`;
}

/** Throws `usage_invalid` unless the value of the option is a date or missing. */
export function checkDate(flag: string, date: string | undefined): void {
  if (date === undefined) return;
  try {
    checkDays({ from: date, to: date });
  } catch (error) {
    throw new AppError('usage_invalid', {
      detail: `${flag}: "${date}" is not a date such as 2026-03-05.`,
      cause: error,
    });
  }
}
