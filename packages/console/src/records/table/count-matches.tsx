import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { api } from '../../api/client.ts';
import type { RecordCount } from '../../api/types.ts';
import { addCounts } from '../../api/views.ts';
import { formatCount } from '../../ui/format.ts';
import { type RecordsSearch, sliceOf } from '../search.ts';
import tableClasses from './table.module.css';

/** The button that counts the records that fit, and what it has found so far. The search is its key. */
export function CountMatches({ search }: { search: RecordsSearch }): ReactNode {
  const [isWanted, setWanted] = useState(false);
  const [soFar, setSoFar] = useState<RecordCount | null>(null);
  const { kind, source, where, dataset } = search;
  const filter = { ...sliceOf(search), kind, source, where, dataset };
  const query = useQuery<RecordCount>({
    queryKey: ['records', 'count', filter],
    enabled: isWanted,
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
    queryFn: async ({ signal }) => {
      const read = (cursor?: string) =>
        api.get<RecordCount>('/enrichment/records/count', { ...filter, cursor }, signal);
      let all = await read();
      while (all.next_cursor !== null) {
        setSoFar(all);
        all = addCounts(all, await read(all.next_cursor));
      }
      return all;
    },
  });
  const found = query.data ?? (query.isFetching ? soFar : null);
  if (isWanted && query.isFetching) {
    return (
      <>
        <span className={tableClasses.range}>
          {found === null ? 'counting…' : foundText(found)}
        </span>
        <Button onClick={() => setWanted(false)}>STOP</Button>
      </>
    );
  }
  if (query.data !== undefined) {
    return <span className={tableClasses.range}>{foundText(query.data)}</span>;
  }
  return (
    <Button
      title={query.error?.message ?? 'Read all records here, and count those that fit'}
      onClick={() => {
        setWanted(true);
        if (query.isError) void query.refetch();
      }}
    >
      {query.isError ? 'NOT COUNTED: TRY AGAIN' : 'COUNT'}
    </Button>
  );
}

/** `1,204 of 60,000 fit`, with what is still to be read in words. */
export function foundText({ count, looked, next_cursor }: RecordCount): string {
  const text = `${formatCount(count)} of ${formatCount(looked)} fit`;
  return next_cursor === null ? text : `${text} so far`;
}
