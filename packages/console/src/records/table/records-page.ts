import { type UseQueryResult, useQuery } from '@tanstack/react-query';
import { useRef } from 'react';
import { ApiError, api } from '../../api/client.ts';
import type { InputFault } from '../../api/types.ts';
import { elementsOf, membersOf } from '../../api/values.ts';
import { usePolling } from '../../ui/freshness.tsx';
import { isPassing } from '../../ui/outage.ts';
import { calmPollMillis, type Searching, searchPollMillis, useReadOn } from '../../ui/poll.tsx';
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
  /** How far a page that ended without being full has looked. */
  searched_to: Searched | null;
  /** What is wrong with the filter `where`, if that is why there are no lines. */
  fault?: InputFault;
};

/** A place in the order of records: a tenant, and unless all of it was searched, a store and a time. */
export type Searched = { tenant: string; store: string | null; occurred_at: string | null };

/** A search asks for so many pages at most; NEXT goes on from there. */
const mostLooks = { event: 100, where: 2000 };

/** Reads a page of records from the text of an answer. Enrichments are cut out, not parsed. */
export function readRecordsPage(text: string): RecordsPage {
  const members = membersOf(text);
  return {
    lines: elementsOf(members.get('data') ?? '[]').map(readLine),
    next_cursor: value<string | null>(members, 'next_cursor', null),
    prev_cursor: value<string | null>(members, 'prev_cursor', null),
    searched_to: JSON.parse(members.get('searched_to') ?? 'null') as Searched | null,
  };
}

/** A row out of the source text of a record. */
export function readLine(source: string): RecordLine {
  const members = membersOf(source);
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

/** The page of records that the hash names, and the search for it while that goes on. */
export type Records = UseQueryResult<RecordsPage> & {
  readonly searching: Searching<Searched> | null;
};

/** Reads the page of records that the hash names. */
export function useRecords(search: RecordsSearch): Records {
  const slice = sliceOf(search);
  const { kind, source, event, where, dataset, cursor, order } = search;
  const start = cursor === undefined ? search.start : undefined;
  const filters = JSON.stringify([slice, kind, source, event, where, dataset, order]);
  const isSearch = event !== undefined || where !== undefined;
  const { searching, readOn } = useReadOn<Searched, RecordsPage>();
  const last = useRef<{ filters: string; page: RecordsPage } | null>(null);
  const query = useQuery<RecordsPage>({
    queryKey: ['records', 'page', filters, cursor ?? start ?? null, pageSizeOf(search)],
    enabled: slice !== null,
    refetchInterval: usePolling(isSearch ? searchPollMillis : calmPollMillis),
    ...(isSearch && { staleTime: searchPollMillis }),
    // While the next page loads, this one stays on the screen. Another slice or filter begins empty.
    placeholderData: (before, query) => (query?.queryKey[2] === filters ? before : undefined),
    queryFn: async ({ signal }) => {
      const filter = { ...slice, kind, source, event_id: event, where, dataset, order };
      const read = async (at: string | undefined, limit: number) => {
        const params = {
          ...filter,
          cursor: at,
          start: at === undefined ? start : undefined,
          limit,
        };
        return api.getBy(readRecordsPage, '/enrichment/records', params, signal);
      };
      const size = pageSizeOf(search);
      const page = await read(cursor, size).catch(faultyPage);
      if (!isSearch) return page;
      // An event is found when a record of it is.
      return readOn(page, {
        read: (at, limit) => read(at, event === undefined ? limit : size),
        rowsOf: ({ lines }) => lines,
        join: ({ lines, prev_cursor }, more) => ({
          ...more,
          lines: [...lines, ...more.lines],
          prev_cursor,
        }),
        enough: event === undefined ? size : 1,
        mostLooks: mostLooks[event === undefined ? 'where' : 'event'],
      });
    },
  });

  if (query.data !== undefined) last.current = { filters, page: query.data };
  const kept = last.current?.filters === filters ? last.current.page : undefined;
  if (query.data !== undefined || kept === undefined || !isForNow(query.error)) {
    return { ...query, searching };
  }
  // The library drops a placeholder when the load fails, but its rows must stay on the screen.
  return { ...query, data: kept, isPlaceholderData: true, searching } as unknown as Records;
}

/** What is wrong with the `where` of a call that was refused because of it. */
export function faultOfWhere(error: unknown): InputFault | undefined {
  const faults = error instanceof ApiError ? error.errors : [];
  return faults.find(({ code }) => code === 'where_invalid');
}

/** A page without lines, for a filter that cannot be read. That is no outage, which a banner would tell. */
function faultyPage(error: unknown): RecordsPage {
  const fault = faultOfWhere(error);
  if (fault === undefined) throw error;
  return { lines: [], next_cursor: null, prev_cursor: null, searched_to: null, fault };
}

/** Whether the failure may pass by itself: when the service is back, or somebody has signed in again. */
function isForNow(error: Error | null): boolean {
  if (error === null) return false;
  return isPassing(error) || (error instanceof ApiError && error.status === 401);
}
