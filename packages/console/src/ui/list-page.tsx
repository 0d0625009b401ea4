import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { FreshnessBanner } from './freshness.tsx';
import classes from './list-page.module.css';
import { NowProvider } from './marks.tsx';
import { PollNote } from './poll.tsx';

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

/** A few views side by side, of which one is shown. */
export function ViewSwitch<View extends string>(props: {
  label: string;
  views: readonly View[];
  view: View;
  onView: (view: View) => void;
  /** Whether the names are written in capitals. */
  isCaps?: boolean;
}): ReactNode {
  return (
    <fieldset className={classes.switch} aria-label={props.label}>
      {props.views.map((view) => (
        <button
          key={view}
          type="button"
          aria-pressed={view === props.view}
          onClick={() => props.onView(view)}
        >
          {props.isCaps ? view.toUpperCase() : view}
        </button>
      ))}
    </fieldset>
  );
}

/** The bar above a list: at its left what is shown of it, at its right how old it is, and what can be done. */
export function ListBar(props: {
  left: ReactNode;
  queries: readonly UseQueryResult<never>[] | readonly UseQueryResult<unknown>[];
  /** What stands before the age of the list. */
  before?: ReactNode;
  children?: ReactNode;
}): ReactNode {
  return (
    <div className={classes.bar}>
      {props.left}
      <div className={classes.actions}>
        {props.before}
        <PollNote queries={props.queries} />
        {props.children}
      </div>
    </div>
  );
}
