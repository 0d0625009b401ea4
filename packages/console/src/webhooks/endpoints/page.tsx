import { Button } from '@mantine/core';
import { type UseQueryResult, useQuery } from '@tanstack/react-query';
import { type ReactNode, useMemo } from 'react';
import { api } from '../../api/client.ts';
import type { Endpoint, Page } from '../../api/types.ts';
import { TextFilter } from '../../ui/filters.tsx';
import { FreshnessBanner, usePolling } from '../../ui/freshness.tsx';
import { Empty, List } from '../../ui/list.tsx';
import classes from '../../ui/list-page.module.css';
import { NowProvider } from '../../ui/marks.tsx';
import { PollNote, pollMillis } from '../../ui/poll.tsx';
import { RowsTable } from '../../ui/table/rows-table.tsx';
import { useDrawerStep, usePageSearch } from '../../ui/use-search.ts';
import { type EndpointsSearch, newEndpoint, validateEndpointsSearch } from '../search.ts';
import { endpointsKey } from '../use-delivery.ts';
import { endpointColumns } from './columns.tsx';
import { EndpointDrawer } from './endpoint-drawer.tsx';

/** The page ENDPOINTS: where the webhooks of each tenant are sent. */
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
        <List
          queries={[list]}
          name="endpoints"
          rows={12}
          isEmpty={rows?.length === 0}
          empty={
            <Empty
              title={
                search.tenant === undefined ? 'No endpoints yet' : 'No endpoint of this tenant'
              }
            >
              <p>Incidents of a tenant go to its endpoints. Make one by New endpoint.</p>
            </Empty>
          }
        >
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
        </List>
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

function useEndpoints({ tenant, cursor }: EndpointsSearch): UseQueryResult<Page<Endpoint>> {
  return useQuery<Page<Endpoint>>({
    queryKey: [...endpointsKey, 'list', { tenant, cursor }],
    refetchInterval: usePolling(pollMillis),
    queryFn: ({ signal }) =>
      api.get<Page<Endpoint>>('/webhook/endpoints', { tenant, cursor, limit: 200 }, signal),
  });
}

const keyOf = ({ id }: Endpoint) => id;
