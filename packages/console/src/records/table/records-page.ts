import { type UseQueryResult, useQuery } from '@tanstack/react-query';
import { useRef } from 'react';
import { ApiError, api } from '../../api/client.ts';
import type { DatasetRow } from '../../api/types.ts';
import { formatCount } from '../../ui/format.ts';
import { usePolling } from '../../ui/freshness.tsx';
import { readElements, readMembers } from '../../ui/json-source.ts';
import { isPassing } from '../../ui/outage.ts';
import { calmPollMillis, useRead } from '../../ui/poll.tsx';
import { useSession } from '../../ui/session.ts';
import { encodeRecord, pageSizeOf, type RecordsSearch, sliceOf } from '../search.ts';

/** A record as a row of the table. */
export type RecordLine = {
  /** Its identity as one string. */
  key: string;
  tenant: string;
  store: string;
  event_id: string;
  occurred_at: string;
  kind: string | null;
  source: string | null;
  model: string | null;
  /** The text that was sent: 0.10 is not 0.1. */
  confidence: string | null;
  bytes: number;
  /** The text of the enrichment; see fields.ts. */
  enrichment: string;
};

/** A page of records with the cursors to its neighbours; null where there is none. */
export type RecordsPage = {
  lines: RecordLine[];
  /** Null on the last page. */
  next_cursor: string | null;
  /** Null on the first page. */
  prev_cursor: string | null;
};

/** A search for an event asks for so many pages at most; NEXT goes on from there. */
const mostLooks = 100;
/** A search may take many looks, and what it found does not change. */
const searchPollMillis = 600_000;

/** Reads a page of records from the text of an answer. Enrichments are cut out, not parsed. */
export function readRecordsPage(text: string): RecordsPage {
  const members = readMembers(text);
  return {
    lines: readElements(members.get('data') ?? '[]').map(readLine),
    next_cursor: value<string | null>(members, 'next_cursor', null),
    prev_cursor: value<string | null>(members, 'prev_cursor', null),
  };
}

/** A row out of the source text of a record. */
export function readLine(source: string): RecordLine {
  const members = readMembers(source);
  const confidence = members.get('confidence') ?? 'null';
  const identity = {
    tenant: value(members, 'tenant', ''),
    store: value(members, 'store', ''),
    occurred_at: value(members, 'occurred_at', ''),
    event_id: value(members, 'event_id', ''),
  };
  return {
    ...identity,
    key: encodeRecord(identity),
    kind: value<string | null>(members, 'kind', null),
    source: value<string | null>(members, 'source', null),
    model: value<string | null>(members, 'model', null),
    confidence: confidence === 'null' ? null : confidence,
    bytes: value(members, 'bytes', 0),
    enrichment: members.get('enrichment') ?? '{}',
  };
}

/** The value of a member, or `absent`. Only for members that JSON.parse does not change. */
function value<T extends string | number | null>(
  members: ReadonlyMap<string, string>,
  name: string,
  absent: T,
): T {
  const source = members.get(name);
  return source === undefined ? absent : (JSON.parse(source) as T);
}

/** Reads the page of records that the hash names. */
export function useRecords(search: RecordsSearch): UseQueryResult<RecordsPage> {
  const slice = sliceOf(search);
  const { kind, source, event, dataset, cursor, order } = search;
  const start = cursor === undefined ? search.start : undefined;
  const filters = JSON.stringify([slice, kind, source, event, dataset, order]);
  const last = useRef<{ filters: string; page: RecordsPage } | null>(null);
  const query = useQuery<RecordsPage>({
    queryKey: ['records', 'page', filters, cursor ?? start ?? null, pageSizeOf(search)],
    enabled: slice !== null,
    refetchInterval: usePolling(event === undefined ? calmPollMillis : searchPollMillis),
    // While the next page loads, this one stays on the screen. Another slice or filter begins empty.
    placeholderData: (before, query) => (query?.queryKey[2] === filters ? before : undefined),
    queryFn: async ({ signal }) => {
      const filter = {
        ...slice,
        kind,
        source,
        event_id: event,
        dataset,
        order,
        limit: pageSizeOf(search),
      };
      const read = async (at: string | undefined) => {
        const params = { ...filter, cursor: at, start: at === undefined ? start : undefined };
        return readRecordsPage(await api.getText('/enrichment/records', params, signal));
      };
      let page = await read(cursor);
      // A page looks at a limited number of records. Whoever looks for one event wants to go on until it is found.
      for (let looks = 1; event !== undefined && looks < mostLooks; looks += 1) {
        if (page.lines.length > 0 || page.next_cursor === null) break;
        page = await read(page.next_cursor);
      }
      return page;
    },
  });
  if (query.data !== undefined) last.current = { filters, page: query.data };
  const kept = last.current?.filters === filters ? last.current.page : undefined;
  if (query.data !== undefined || kept === undefined || !isForNow(query.error)) return query;
  // The library drops a placeholder when the load fails, but its rows must stay on the screen.
  return {
    ...query,
    data: kept,
    isPlaceholderData: true,
  } as unknown as UseQueryResult<RecordsPage>;
}

/** Whether the failure may pass by itself: when the service is back, or somebody has signed in again. */
function isForNow(error: Error | null): boolean {
  if (error === null) return false;
  return isPassing(error) || (error instanceof ApiError && error.status === 401);
}

type Facts = Pick<DatasetRow, 'count' | 'by_dataset' | 'days'>;

/** With a kind or a source, all records are read to count them: of more than so many nobody asks for a number. */
const mostRead = 1_000_000;

/** How many records there are with these filters; null where that is not known. */
export function useTotal(search: RecordsSearch, facts: Facts | null | undefined): number | null {
  const { kind, source, event, dataset } = search;
  const { hasScope } = useSession();
  const known = totalOf(search, facts);
  const selection = { ...sliceOf(search), kind, source, dataset };
  const isRead = kind !== undefined || source !== undefined;
  const isAsked =
    known === null && facts && event === undefined && (!isRead || facts.count <= mostRead);
  const key = ['records', 'estimate', selection];
  const estimate = useRead<{ rows: number }>(key, '/exports/estimate', {
    params: selection,
    isWanted: Boolean(isAsked) && hasScope('analytics:read'),
    everyMillis: null,
  });
  return known ?? (isAsked ? (estimate.data?.rows ?? null) : null);
}

/** What the counters of the node tell of it; null where a filter leaves that uncounted. */
function totalOf(search: RecordsSearch, facts: Facts | null | undefined): number | null {
  const { kind, source, event, dataset, from, to, month } = search;
  if (!facts || [kind, source, event].some((label) => label !== undefined)) return null;
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
};

/** The range of a page in words, such as `1–100 of 27,162`. */
export function rangeText({ rows, hasNext, at, isAtKnown, total }: PageRange): string {
  if (rows === 0) return hasNext ? 'no match in this stretch, NEXT reads on' : '0 rows';
  if (!isAtKnown) return `${formatCount(rows)} ${rows === 1 ? 'row' : 'rows'}`;
  const range = `${formatCount(at + 1)}–${formatCount(at + rows)}`;
  return total === null ? range : `${range} of ${formatCount(total)}`;
}
