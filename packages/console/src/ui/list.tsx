import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { FailurePanel, useFailure } from './freshness.tsx';
import classes from './list-page.module.css';
import { PanelBody } from './panel.tsx';

/** Says why there are no rows; if filters are set, it offers to remove them. */
export function Empty(props: {
  title: string;
  /** Removes the filters; undefined when none is set. */
  onClear?: (() => void) | undefined;
  children?: ReactNode;
}): ReactNode {
  return (
    <div className="empty">
      <h2>{props.title}</h2>
      {props.children}
      {props.onClear !== undefined && (
        <p>
          <button type="button" className="link-button" onClick={props.onClear}>
            Clear filters
          </button>
        </p>
      )}
    </div>
  );
}

/** Placeholder rows of the size of the table to come, so that nothing moves when it is there. */
export function SkeletonRows({ rows, label }: { rows: number; label: string }): ReactNode {
  return (
    <div role="status" aria-label={label} className="clip">
      {Array.from({ length: rows }, (_, row) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: they are all alike and never move
        <div key={row} className={`row line-under ${classes.skeletonRow}`}>
          <SkeletonText width={`${42 + ((row * 29) % 40)}%`} />
        </div>
      ))}
    </div>
  );
}

/** A placeholder for a line of text. */
export function SkeletonText({ width = '100%' }: { width?: string }): ReactNode {
  return <span className="bone" style={{ width }} aria-hidden="true" />;
}

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
