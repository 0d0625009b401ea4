import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { FreshnessBanner } from './freshness.tsx';
import classes from './list-page.module.css';
import { NowProvider } from './marks.tsx';

/** A page of lists. Its times share one clock, and while something cannot be read, a line says so. */
export function ListPage(props: {
  /** What is read for it, unless its views say that themselves. */
  queries?: readonly UseQueryResult<unknown>[];
  children: ReactNode;
}): ReactNode {
  const { queries = [], children } = props;
  return (
    <NowProvider>
      <div className={`stack relative clip ${classes.page}`}>
        {queries.length > 0 && <FreshnessBanner queries={queries} isAgeElsewhere />}
        {children}
      </div>
    </NowProvider>
  );
}
