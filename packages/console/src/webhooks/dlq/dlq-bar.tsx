import { Button } from '@mantine/core';
import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { DeadLetters } from '../../api/types.ts';
import { failureWords } from '../../api/values.ts';
import { formatCount } from '../../ui/format.ts';
import { useIsStale } from '../../ui/freshness.tsx';
import { whereFree } from '../../ui/keys.ts';
import { ListFilters } from '../../ui/list-filters.tsx';
import classes from '../../ui/list-page.module.css';
import { ViewSwitch } from '../../ui/list-page.tsx';
import { LiveButton } from '../../ui/live-button.tsx';
import { panelHref } from '../../ui/panel-place.ts';
import type { UpdateSearch } from '../../ui/use-search.ts';
import { useEndpointNames } from '../endpoint-names.ts';
import { StatusMark } from '../marks.tsx';
import {
  type DlqSearch,
  dlqFilters,
  dlqGroupFilters,
  shownStatuses,
  statusesShown,
} from '../search.ts';

type DlqBarProps = {
  search: DlqSearch;
  update: UpdateSearch<DlqSearch>;
  lists: Readonly<Record<'abandoned' | 'pending', UseQueryResult<DeadLetters>>>;
  counts: Readonly<Record<'abandoned' | 'pending', string>>;
  /** How old the rows are. */
  note: ReactNode;
  selected: number;
  onRetrySelected: () => void;
  onRetryAll: () => void;
  onPurgeAll: () => void;
};

/** The bar above the dead-letter queue: totals, filters, and actions on many rows at once. */
export function DlqBar(props: DlqBarProps): ReactNode {
  const { search, update, counts, selected } = props;
  const endpoints = useEndpointNames(search.tenant);
  const isStale = useIsStale();
  const isGroups = search.view === 'groups';
  const isEmpty = statusesShown(search.status).every(
    (status) => props.lists[status].data?.total === 0,
  );
  return (
    <>
      <div className={classes.bar}>
        <div className={`flex gap-4 ${classes.totals}`}>
          {shownStatuses.map((status) => (
            <button
              key={status}
              type="button"
              className={`hover row gap-10 ink small ${classes.total}`}
              aria-pressed={search.status === status}
              title={search.status === status ? 'Show both again' : `Show only ${status} rows`}
              onClick={() => update({ status: search.status === status ? undefined : status })}
            >
              <StatusMark status={status} />
              <strong>{counts[status]}</strong>
            </button>
          ))}
        </div>
        <span className="visually-hidden" role="status">
          {counts.abandoned} abandoned, {counts.pending} pending
        </span>
        {props.note}
      </div>
      <div className={classes.bar}>
        <ListFilters
          label="Filters of the dead-letter queue"
          filters={isGroups ? dlqGroupFilters : dlqFilters}
          search={search}
          update={update}
          searched="q"
          words={{ endpoint: endpoints, failure: failureWords }}
        >
          {search.endpoint !== undefined && (
            <a
              className="nowrap"
              href={panelHref('/endpoints', { kind: 'endpoint', id: search.endpoint })}
            >
              Why it fails
            </a>
          )}
        </ListFilters>
        <div className={`row wrap gap-8 shrink ${classes.actions}`}>
          <ViewSwitch
            label="View"
            views={['rows', 'groups']}
            view={isGroups ? 'groups' : 'rows'}
            onView={(view) =>
              update(view === 'groups' ? { view, q: undefined } : { view: undefined })
            }
          />
          {!isGroups && (
            <Button
              className={classes.retrySelected}
              {...whereFree(selected > 0 && !isStale, props.onRetrySelected)}
            >
              Retry {selected === 0 ? '' : `${formatCount(selected)} `}selected
            </Button>
          )}
          <BulkButtons bar={props} isEmpty={isEmpty} />
        </div>
      </div>
    </>
  );
}

/** What is done to all that the filters leave. */
function BulkButtons({ bar, isEmpty }: { bar: DlqBarProps; isEmpty: boolean }): ReactNode {
  const isSearched = bar.search.q !== undefined;
  const notBySearch =
    'Not by search text: select the rows, or filter by tenant, endpoint or failure';
  const button = (verb: string, onClick: () => void, className?: string) => (
    <LiveButton
      {...(className !== undefined && { className })}
      disabled={isSearched || isEmpty}
      title={isSearched ? notBySearch : `${verb} all that the filters leave, as a job`}
      onClick={onClick}
    >
      {verb} all…
    </LiveButton>
  );
  return (
    <>
      {button('Retry', bar.onRetryAll)}
      {button('Purge', bar.onPurgeAll, `danger ${classes.purgeAll}`)}
    </>
  );
}
