import { Button } from '@mantine/core';
import { type UseQueryResult, useQuery } from '@tanstack/react-query';
import { type ReactNode, useMemo } from 'react';
import { api } from '../../api/client.ts';
import type { Endpoint, Page } from '../../api/types.ts';
import { TextFilter } from '../../ui/filters.tsx';
import { FailurePanel, FreshnessBanner, useFailure } from '../../ui/freshness.tsx';
import classes from '../../ui/list-page.module.css';
import { NowProvider } from '../../ui/marks.tsx';
import { PollNote, pollMillis, usePollOf } from '../../ui/poll.tsx';
import { SkeletonRows } from '../../ui/skeleton.tsx';
import { RowsTable } from '../../ui/table/rows-table.tsx';
import { useDrawerStep, usePageSearch } from '../../ui/use-search.ts';
import { endpointsKey } from '../delivery/use-delivery.ts';
import { type EndpointsSearch, newEndpoint, validateEndpointsSearch } from '../search.ts';
import { endpointColumns } from './columns.tsx';
import { EndpointDrawer } from './endpoint-drawer.tsx';

type List = UseQueryResult<Page<Endpoint>>;

/** ENDPOINTS: where the webhooks of each tenant go. */
export function EndpointsPage(): ReactNode {
  const [search, update] = usePageSearch('/endpoints', validateEndpointsSearch);
  const list = useEndpoints(search);
  const drawer = useDrawerStep(search.edit, (next, options) => update({ edit: next }, options));
  const rows = list.data?.data;
  const groups = useMemo(() => [{ id: 'all', rows: rows ?? [] }], [rows]);
  const next = list.data?.next_cursor ?? null;
  return (
    <NowProvider>
      <div className={classes.page}>
        <FreshnessBanner queries={[list]} isAgeElsewhere />
        <div className={classes.bar}>
          <fieldset className={classes.filters} aria-label="Filters of the endpoints">
            <TextFilter
              label="Tenant, exactly"
              placeholder="Tenant ="
              value={search.tenant}
              onChange={(tenant) => update({ tenant, cursor: undefined })}
            />
          </fieldset>
          <div className={classes.actions}>
            <PollNote queries={[list]} />
            <Button variant="filled" onClick={() => drawer.open(newEndpoint)}>
              New endpoint
            </Button>
          </div>
        </div>
        <Rows list={list} isFiltered={search.tenant !== undefined}>
          <RowsTable
            label="Endpoints"
            columns={endpointColumns}
            groups={groups}
            keyOf={keyOf}
            open={search.edit}
            place={JSON.stringify([search.tenant, search.cursor])}
            isWaiting={list.isPlaceholderData}
            onOpen={drawer.open}
          />
        </Rows>
        {(next !== null || search.cursor !== undefined) && (
          <div className={classes.pager}>
            <Button
              disabled={search.cursor === undefined}
              onClick={() => update({ cursor: undefined })}
            >
              ‹ FIRST
            </Button>
            <Button disabled={next === null} onClick={() => update({ cursor: next ?? undefined })}>
              NEXT ›
            </Button>
          </div>
        )}
        {search.edit !== undefined && (
          <EndpointDrawer
            key={search.edit}
            id={search.edit}
            known={rows?.find(({ id }) => id === search.edit)}
            tenant={search.tenant}
            onClose={drawer.close}
            onMade={(id) => update({ edit: id }, { replace: true })}
          />
        )}
      </div>
    </NowProvider>
  );
}

function useEndpoints({ tenant, cursor }: EndpointsSearch): List {
  return useQuery<Page<Endpoint>>({
    queryKey: [...endpointsKey, 'list', { tenant, cursor }],
    refetchInterval: usePollOf(pollMillis),
    queryFn: ({ signal }) =>
      api.get<Page<Endpoint>>('/webhook/endpoints', { tenant, cursor, limit: 200 }, signal),
  });
}

const keyOf = ({ id }: Endpoint) => id;

function Rows(props: { list: List; isFiltered: boolean; children: ReactNode }): ReactNode {
  const { list } = props;
  const failure = useFailure(list);
  if (list.data === undefined) {
    return (
      <div className={classes.scroller}>
        {failure === null ? (
          <SkeletonRows rows={12} label="Loading the endpoints" />
        ) : (
          <FailurePanel error={failure} onRetry={() => void list.refetch()} />
        )}
      </div>
    );
  }
  if (list.data.data.length > 0) return props.children;
  return (
    <div className={classes.empty}>
      <h2>{props.isFiltered ? 'No endpoint of this tenant' : 'No endpoints yet'}</h2>
      <p>Incidents of a tenant go to its endpoints. Make one by New endpoint.</p>
    </div>
  );
}
