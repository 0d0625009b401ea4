import type { QueryKey, UseQueryResult } from '@tanstack/react-query';
import { api, type Params } from '../api/client.ts';
import type { FoundPage } from '../api/types.ts';
import { pollMillis, type Searching, searchPollMillis, useRead, useReadOn } from '../ui/poll.tsx';

/** A page of a list that is searched, and the search for it while that goes on. */
export type Found<Row> = UseQueryResult<FoundPage<Row>> & {
  readonly searching: Searching<string> | null;
  /** How often it is read again. */
  readonly millis: number;
};

/** A search asks for so many pages at most; NEXT goes on from there. */
const mostLooks = 500;

/** Reads a page of deliveries or incidents, and reads on by itself while it finds too little. */
export function useFound<Row>(
  queryKey: QueryKey,
  path: string,
  params: Params & { limit: number },
  sought: readonly unknown[],
): Found<Row> {
  const isSearch = sought.some((value) => value !== undefined);
  const millis = isSearch ? searchPollMillis : pollMillis;
  const { searching, readOn } = useReadOn<string, FoundPage<Row>>();
  const query = useRead<FoundPage<Row>>(
    queryKey,
    async (signal) => {
      const read = (more: Params) => api.get<FoundPage<Row>>(path, { ...params, ...more }, signal);
      return readOn(await read({}), {
        read: (cursor, limit) => read({ cursor, limit }),
        rowsOf: ({ data }) => data,
        join: ({ data }, more) => ({ ...more, data: [...data, ...more.data] }),
        enough: params.limit,
        mostLooks,
      });
    },
    { everyMillis: millis, ...(isSearch && { staleMillis: millis }) },
  );
  return { ...query, searching, millis };
}
