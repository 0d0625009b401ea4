import { Button } from '@mantine/core';
import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { DeadLetters, Endpoint, Page } from '../../api/types.ts';
import { failureWords } from '../../api/values.ts';
import { ChoiceFilter, Filters, TextFilter } from '../../ui/filters.tsx';
import { formatCount } from '../../ui/format.ts';
import { filtersOf, noneOf } from '../../ui/hash-state.ts';
import { whereFree } from '../../ui/keys.ts';
import classes from '../../ui/list-page.module.css';
import { ViewSwitch } from '../../ui/list-page.tsx';
import { panelHref } from '../../ui/panel-place.ts';
import { useRead } from '../../ui/poll.tsx';
import type { UpdateSearch } from '../../ui/use-search.ts';
import { shortId } from '../../ui/words.ts';
import { StatusMark } from '../marks.tsx';
import { endpointsKey } from '../query-keys.ts';
import { type DlqSearch, shownStatuses } from '../search.ts';

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
  const isGroups = search.view === 'groups';
  const isEmpty = Object.values(props.lists).every(({ data }) => data?.total === 0);
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
        <Filters
          label="Filters of the dead-letter queue"
          values={filtersOf(search, noFilter)}
          onClear={() => update(noFilter)}
        >
          {!isGroups && (
            <TextFilter
              label="Part of the target or the error, or the beginning of an id or key"
              placeholder="Target, error, id or key"
              value={search.q}
              onChange={(q) => update({ q }, { replace: true })}
              isSearch
            />
          )}
          <TextFilter
            label="Tenant, exactly"
            placeholder="Tenant ="
            value={search.tenant}
            onChange={(tenant) => update({ tenant, endpoint: undefined })}
          />
          <EndpointFilter
            tenant={search.tenant}
            value={search.endpoint}
            onChange={(endpoint) => update({ endpoint })}
          />
          {search.endpoint !== undefined && (
            <a
              className="nowrap"
              href={panelHref('/endpoints', { kind: 'endpoint', id: search.endpoint })}
            >
              Why it fails
            </a>
          )}
          {search.failure !== undefined && (
            <Button onClick={() => update({ failure: undefined })} title="Show all failures">
              {failureWords[search.failure] ?? search.failure} ×
            </Button>
          )}
        </Filters>
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
              {...whereFree(selected > 0, props.onRetrySelected)}
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
    <Button
      {...(className !== undefined && { className })}
      disabled={isSearched || isEmpty}
      title={isSearched ? notBySearch : `${verb} all that the filters leave, as a job`}
      onClick={onClick}
    >
      {verb} all…
    </Button>
  );
  return (
    <>
      {button('Retry', bar.onRetryAll)}
      {button('Purge', bar.onPurgeAll, `danger ${classes.purgeAll}`)}
    </>
  );
}

/** The change that removes all filters; the status stays. */
export const noFilter = noneOf({ q: '', tenant: '', endpoint: '', failure: '' });

/** At most this many endpoints are in the list, more than anyone picks from. A link may still name any other. */
const mostEndpoints = 500;

/** The filter by endpoint. An endpoint that is not in the list is shown by its id. */
export function EndpointFilter(props: {
  tenant: string | undefined;
  value: string | undefined;
  onChange: (id: string | undefined) => void;
}): ReactNode {
  const { tenant, value } = props;
  const choices = useEndpointNames(tenant);
  if (value !== undefined && !choices.some((choice) => choice.value === value)) {
    choices.unshift({ value, label: shortId(value) });
  }
  return (
    <ChoiceFilter
      label="Endpoint"
      any="Any endpoint"
      choices={choices}
      value={value}
      onChange={props.onChange}
    />
  );
}

/** The endpoints of a tenant, or of all, with what they are called. */
function useEndpointNames(tenant?: string): { value: string; label: string }[] {
  const key = [...endpointsKey, 'names', tenant];
  const endpoints = useRead<Page<Endpoint>>(key, '/webhook/endpoints', {
    params: { tenant, limit: mostEndpoints },
    everyMillis: null,
    staleMillis: 60_000,
  });
  return (endpoints.data?.data ?? []).map(({ id, url, tenant: of }) => ({
    value: id,
    label: `${of} · ${url.replace(/^https?:\/\//, '')}`,
  }));
}

/** What the endpoint of a bulk job is called, with its tenant; the end of its id while that is not known. */
export function useEndpointName(): (id: string) => string {
  const names = useEndpointNames();
  return (id) => names.find(({ value }) => value === id)?.label ?? `endpoint ${shortId(id)}`;
}
