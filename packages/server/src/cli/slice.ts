import { addDays, isDay, quarterEnds } from '../kernel/day.ts';
import { datasetNames } from '../records/values.ts';
import { usage } from './help.ts';

/** The options that say of which tenant, store and days. */
export const placeOptions = [
  ['--tenant <tenant>', 'the tenant (required)'],
  ['--store <store>', 'only this store'],
  ['--month <month>', 'only this month, as 2026-03'],
  ['--quarter <quarter>', 'only this quarter, as 2026-Q1'],
  ['--from <date>', 'from this day on, as 2026-03-05'],
  ['--to <date>', 'up to this day, inclusive'],
] as const;
export const kindOption = ['--kind <kind>', 'only of this kind'] as const;
export const datasetOption = ['--dataset <name>', 'only tagged so', datasetNames] as const;
export const whereOption = [
  '--where <where>',
  'only records that fit, as score >= 0.9; docs/where.md has the grammar',
] as const;

/** The options by which records are picked. */
export const sliceOptions = [
  ...placeOptions,
  kindOption,
  ['--source <source>', 'only from this source'],
  whereOption,
] as const;

/** Options that say which days: one month, or a range of whole days, inclusive at both ends. */
export type Days = {
  month?: string | undefined;
  from?: string | undefined;
  to?: string | undefined;
};

/**
 * Options with the days of --quarter also as --from and --to, which are what the API takes. Throws `usage_invalid` when it
 * is no quarter, or stands beside other days.
 */
export function spellQuarter<G extends Readonly<Record<string, unknown>>>(given: G) {
  const { quarter, month, from, to } = given;
  if (typeof quarter !== 'string') return given;
  if ((month ?? from ?? to) !== undefined) {
    throw usage('Give either --quarter, --month, or --from and --to.');
  }
  const ends = quarterEnds(quarter);
  if (ends === null) throw usage(`--quarter: "${quarter}" is not a quarter such as 2026-Q1.`);
  return { ...given, from: ends[0], to: ends[1] };
}

/** Throws `usage_invalid` when the options contradict each other or are no dates. */
export function checkDays({ month, from, to }: Days): void {
  if (month !== undefined && (from !== undefined || to !== undefined)) {
    throw usage('Give either --month or --from and --to.');
  }
  if ((from === undefined) !== (to === undefined))
    throw usage(
      '--from and --to need each other, and both days count: --from 2026-03-01 --to 2026-03-31.',
    );
  if (month !== undefined && !/^\d{4}-(0[1-9]|1[0-2])$/.test(month)) {
    throw usage(`--month: "${month}" is not a month such as 2026-03.`);
  }
  checkDate('--from', from);
  checkDate('--to', to);
  if (from !== undefined && to !== undefined && from > to) throw usage('--from lies after --to.');
}

/** Throws `usage_invalid` unless the value of the option is a date or missing. */
export function checkDate(flag: string, date: string | undefined): void {
  if (date === undefined || isDay(date)) return;
  throw usage(`${flag}: "${date}" is not a date such as 2026-03-05.`);
}

/** The months that a slice covers completely; null when it begins or ends within a month. */
export function wholeMonths({ month, from, to }: Days): string[] | null {
  if (month !== undefined) return [month];
  if (from === undefined || to === undefined) return null;
  if (!from.endsWith('-01') || addDays(to, 1).slice(8) !== '01') return null;
  const months: string[] = [];
  for (let first = from; first <= to; first = `${addDays(first, 31).slice(0, 7)}-01`) {
    months.push(first.slice(0, 7));
  }
  return months;
}

/** Days in words: `2001-01-01 … 2001-03-31`, "all days", or "from 2001-01-01 on". */
export function windowText({ from, to }: { from: string | null; to: string | null }): string {
  if (from === null) return to === null ? 'all days' : `up to ${to}`;
  if (to === null) return `from ${from} on`;
  return from === to ? from : `${from} … ${to}`;
}

/** The days of a move or an object in words: `2001-01-05`, or `2001-01-05 … 2001-01-31`. */
export function daysText(of: { first_day: string | null; last_day: string | null }): string {
  return windowText({ from: of.first_day, to: of.last_day });
}
