import type { DatasetRow } from '../../api/types.ts';
import { formatCount, formatInstant, type Zone } from '../../ui/format.ts';
import { useRead } from '../../ui/poll.tsx';
import { useSession } from '../../ui/session.ts';
import { type RecordsSearch, sliceOf } from '../search.ts';
import type { Records, Searched } from './records-page.ts';

type Facts = Pick<DatasetRow, 'count' | 'by_dataset' | 'days'>;

/** With a kind or a source, all records are read to count them: of more than so many nobody asks for a number. */
const mostRead = 1_000_000;

/** How many records there are with these filters; null where that is not known. */
export function useTotal(search: RecordsSearch, facts: Facts | null | undefined): number | null {
  const { kind, source, event, where, dataset } = search;
  const { hasScope } = useSession();
  const known = totalOf(search, facts);
  const selection = { ...sliceOf(search), kind, source, dataset };
  const isRead = kind !== undefined || source !== undefined;
  const isAsked =
    known === null &&
    facts &&
    event === undefined &&
    where === undefined &&
    (!isRead || facts.count <= mostRead);
  const key = ['records', 'estimate', selection];
  const estimate = useRead<{ rows: number }>(key, '/exports/estimate', {
    params: selection,
    isOne: true,
    isWanted: Boolean(isAsked) && hasScope('analytics:read'),
    everyMillis: null,
  });
  return known ?? (isAsked ? (estimate.data?.rows ?? null) : null);
}

/** What the counters of the node tell of it; null where a filter leaves that uncounted. */
function totalOf(search: RecordsSearch, facts: Facts | null | undefined): number | null {
  const { kind, source, event, where, dataset, from, to, month } = search;
  if (!facts || [kind, source, event, where].some((label) => label !== undefined)) return null;
  if (from === undefined && to === undefined) {
    return dataset === undefined ? facts.count : facts.by_dataset[dataset];
  }
  if (month === undefined || dataset !== undefined || facts.days === undefined) return null;
  const first = from === undefined ? 1 : Number(from.slice(8));
  const last = to === undefined ? facts.days.length : Number(to.slice(8));
  return facts.days.slice(first - 1, last).reduce((sum, count) => sum + count, 0);
}

type PageRange = {
  rows: number;
  hasNext: boolean;
  /** Number of records before this page. */
  at: number;
  /** False for a page that was opened by its cursor alone, where `at` is not known. */
  isAtKnown: boolean;
  /** Number of records in all; null where it is not known. */
  total: number | null;
  /** How far a page that is not full has looked, in words. */
  searched?: string | undefined;
};

/** The range of a page in words, such as `1–100 of 27,162`. */
export function rangeText({ rows, hasNext, at, isAtKnown, total, searched }: PageRange): string {
  if (rows === 0 && hasNext) {
    return `no match ${searched === undefined ? 'in this stretch' : `up to ${searched}`}, NEXT reads on`;
  }
  if (rows === 0) return '0 rows';
  const upTo = searched === undefined ? '' : ` up to ${searched}`;
  if (!isAtKnown) return `${formatCount(rows)} ${rows === 1 ? 'row' : 'rows'}${upTo}`;
  const range = `${formatCount(at + 1)}–${formatCount(at + rows)}`;
  return total === null ? `${range}${upTo}` : `${range} of ${formatCount(total)}`;
}

/** A place to which records were searched, in words. */
export function searchedText({ tenant, store, occurred_at: at }: Searched, zone: Zone): string {
  if (at === null) return `the end of ${tenant}`;
  return store === null ? formatInstant(at, zone) : `${store} ${formatInstant(at, zone)}`;
}

/** How many fit at least, by the page that is shown. */
export function readSoFar(
  { cursor, start, at = 0 }: RecordsSearch,
  { data: page, isPlaceholderData }: Pick<Records, 'data' | 'isPlaceholderData'>,
): string {
  if (page === undefined || page.fault !== undefined) return '…';
  // While the next page loads, the rows are still those of the one before.
  const rows = at + (isPlaceholderData ? 0 : page.lines.length);
  const isAll = page.next_cursor === null && cursor === undefined && start === undefined;
  return `${isAll && !isPlaceholderData ? '' : '≥ '}${formatCount(rows)}`;
}
