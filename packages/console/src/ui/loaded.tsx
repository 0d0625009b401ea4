import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { FailurePanel, useFailure } from './freshness.tsx';
import { SkeletonRows } from './list.tsx';
import { PanelBody } from './panel.tsx';

/** Shows what a query has read, or what takes its place: placeholder rows at a first load, or why that failed. */
export function Loaded<Data>(props: {
  query: UseQueryResult<Data>;
  /** What is read, as in "Loading the export". */
  name: string;
  /** How many placeholder rows a first load shows. */
  rows: number;
  /** Whether it is all that its panel shows. */
  isPanel?: boolean;
  children: (data: Data) => ReactNode;
}): ReactNode {
  const { query, isPanel = false } = props;
  const failure = useFailure(query);
  if (query.data !== undefined) return props.children(query.data);
  const instead =
    failure === null ? (
      <SkeletonRows rows={props.rows} label={`Loading ${props.name}`} />
    ) : (
      <FailurePanel error={failure} onRetry={() => void query.refetch()} />
    );
  return isPanel ? <PanelBody>{instead}</PanelBody> : instead;
}
