import { type DatasetName, numberOf, shellQuote } from '../api/values.ts';
import { formatAge } from './format.ts';

/** The datasets as people call them. */
export const datasetWords: Readonly<Record<DatasetName, string>> = {
  training: 'training',
  fine_tuning: 'fine-tuning',
};

/** An id shortened to its two ends: `dlv…7Kq2`. A short id stays as it is. */
export function shortId(id: string): string {
  if (id.length <= 12) return id;
  const mark = id.indexOf('_');
  const start = mark > 0 && mark <= 4 ? id.slice(0, mark) : id.slice(0, 3);
  return `${start}…${id.slice(-4)}`;
}

/** How far a moment is from now: `in 4 min`, `2 h ago`, `now`. */
export function formatDistance(instant: string, now: number): string {
  const millis = Date.parse(instant) - now;
  if (Number.isNaN(millis)) return instant;
  if (Math.abs(millis) < 1000) return 'now';
  return millis > 0 ? `in ${formatAge(millis)}` : `${formatAge(-millis)} ago`;
}

/** A duration in milliseconds: `340 ms`, `1.2 s`, `15.0 s`. */
export function formatDuration(millis: number): string {
  return millis < 1000 ? `${millis} ms` : `${(millis / 1000).toFixed(1)} s`;
}

/** A number with its noun: `1 row`, `2 rows`, `no rows`. */
export function countOf(count: number, one: string, many = `${one}s`): string {
  return count === 0 ? `no ${many}` : numberOf(count, one, many);
}

/** Which records: a tenant, store and days, as an export names them. */
export type Slice = {
  tenant: string;
  store?: string | undefined;
  month?: string | undefined;
  from?: string | undefined;
  to?: string | undefined;
};

/** Names from the outermost on. Marks beside the signs keep that order where names are written from right to left. */
export function pathText(names: readonly string[]): string {
  const isTurned = names.some((name) => /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/.test(name));
  return names.join(isTurned ? '\u200e › \u200e' : ' › ');
}

/** A slice in words: `TX › DFW › 2001-03`, or with its days. */
export function sliceText(slice: Slice): string {
  const { tenant, store, month, from, to } = slice;
  const days = from === undefined ? month : from === to ? from : `${from} – ${to}`;
  return pathText([tenant, store, days].filter((part) => part !== undefined));
}

/** The words as a command line that a POSIX shell reads back exactly. */
export function shellLine(words: readonly string[]): string {
  return words.map(shellQuote).join(' ');
}
