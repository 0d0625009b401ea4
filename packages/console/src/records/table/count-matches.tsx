import { Button } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { api, type Params } from '../../api/client.ts';
import type { RecordCount } from '../../api/types.ts';
import { addCounts } from '../../api/views.ts';
import { formatCount } from '../../ui/format.ts';

/** What `CountMatches` shows. */
type Counting = ReturnType<typeof useCount>;

/** Counts the records that fit a filter, page by page until it is stopped; with `isAtOnce` it begins by itself. */
export function useCount(filter: Params | null, isAtOnce = false) {
  const client = useQueryClient();
  const key = JSON.stringify(filter);
  const queryKey = ['records', 'count', key];
  const [asked, setAsked] = useState({ key, isWanted: isAtOnce });
  const [soFar, setSoFar] = useState<RecordCount | null>(null);
  const isWanted = filter !== null && (asked.key === key ? asked.isWanted : isAtOnce);
  const query = useQuery<RecordCount>({
    queryKey,
    enabled: isWanted,
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
    queryFn: async ({ signal }) => {
      const read = (cursor?: string) =>
        api.get<RecordCount>('/enrichment/records/count', { ...filter, cursor }, signal);
      setSoFar(null);
      let all = await read();
      while (all.next_cursor !== null) {
        setSoFar(all);
        all = addCounts(all, await read(all.next_cursor));
      }
      return all;
    },
  });
  return {
    data: query.data,
    soFar: query.isFetching ? soFar : null,
    error: query.error,
    isCounting: isWanted && query.isFetching,
    start: () => {
      setAsked({ key, isWanted: true });
      if (query.isError) void query.refetch();
    },
    stop: () => {
      setAsked({ key, isWanted: false });
      // A query that is no longer wanted would read on to its end.
      void client.cancelQueries({ queryKey });
    },
  };
}

/** The button that counts the records that fit, and what it has found so far. */
export function CountMatches({ counting }: { counting: Counting }): ReactNode {
  const { data, soFar, error, isCounting } = counting;
  if (isCounting) {
    return (
      <>
        <span className="push muted right">{soFar === null ? 'counting…' : foundText(soFar)}</span>
        <Button onClick={counting.stop}>STOP</Button>
      </>
    );
  }
  if (data !== undefined) return <span className="push muted right">{foundText(data)}</span>;
  return (
    <Button
      title={error?.message ?? 'Read all records here, and count those that fit'}
      onClick={counting.start}
    >
      {error !== null ? 'NOT COUNTED: TRY AGAIN' : 'COUNT'}
    </Button>
  );
}

/** `1,204 of 60,000 fit`, with what is still to be read in words. */
export function foundText({ count, looked, next_cursor }: RecordCount): string {
  const text = `${formatCount(count)} of ${formatCount(looked)} fit`;
  return next_cursor === null ? text : `${text} so far`;
}
