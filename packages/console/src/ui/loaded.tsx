import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { FailurePanel, useFailure } from './freshness.tsx';
import { SkeletonRows } from './list.tsx';

/** Shows what a query has read, or what takes its place: placeholder rows at a first load, or why that failed. */
export function Loaded<Data>(props: {
  query: UseQueryResult<Data>;
  /** What is read, as in "Loading the export". */
  name: string;
  /** How many placeholder rows a first load shows. */
  rows: number;
  /** The class of the box around what takes the place; without it there is no box. */
  className?: string | undefined;
  children: (data: Data) => ReactNode;
}): ReactNode {
  const { query, className } = props;
  const failure = useFailure(query);
  if (query.data !== undefined) return props.children(query.data);
  const instead =
    failure === null ? (
      <SkeletonRows rows={props.rows} label={`Loading ${props.name}`} />
    ) : (
      <FailurePanel error={failure} onRetry={() => void query.refetch()} />
    );
  return className === undefined ? instead : <div className={className}>{instead}</div>;
}
