import { Button } from '@mantine/core';
import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { Endpoint, Page } from '../../api/types.ts';
import { endpointFilters } from '../../api/views.ts';
import { ListFilters } from '../../ui/filters.tsx';
import { filtersOf, noneOf } from '../../ui/hash-state.ts';
import { Empty } from '../../ui/list.tsx';
import classes from '../../ui/list-page.module.css';
import { ListBar, ListPage, ViewSwitch } from '../../ui/list-page.tsx';
import { listParams } from '../../ui/list-search.ts';
import { useRead } from '../../ui/poll.tsx';
import { useSession } from '../../ui/session.ts';
import { idOf } from '../../ui/table/column.ts';
import { List } from '../../ui/table/list.tsx';
import { type UpdateSearch, usePageSearch } from '../../ui/use-search.ts';
import { useOnlyTenant, useOwnColumns } from '../only-tenant.ts';
import { endpointsKey } from '../query-keys.ts';
import {
  type EndpointsSearch,
  endpointsPanels,
  newEndpoint,
  validateEndpointsSearch,
} from '../search.ts';
import { endpointColumns } from './columns.tsx';
import { EndpointDrawer } from './endpoint-drawer.tsx';
import { EventTypesView } from './event-types-view.tsx';

/** The page ENDPOINTS: where the webhooks of each tenant are sent. */
export function EndpointsPage(): ReactNode {
  const [search, update, panel] = usePageSearch(
    '/endpoints',
    validateEndpointsSearch,
    endpointsPanels,
  );
  const { hasScope } = useSession();
  const tenant = useOnlyTenant();
  const columns = useOwnColumns(endpointColumns);
  const list = useEndpoints(search);
  const views = (
    <ViewSwitch
      label="What is shown"
      views={['endpoints', 'event types']}
      view={search.view === 'types' ? 'event types' : 'endpoints'}
      isCaps
      onView={(next) =>
        update({
          ...noneOf(endpointFilters),
          view: next === 'event types' ? 'types' : undefined,
          ...{ cursor: undefined, panel: undefined },
        })
      }
    />
  );
  const open = panel.idOf('endpoint');
  const rows = list.data?.data;
  const next = list.data?.next_cursor ?? null;
  const isFiltered = filtersOf(search, endpointFilters).some((value) => value !== undefined);
  if (search.view === 'types') {
    return (
      <ListPage>
        <EventTypesView
          views={views}
          open={panel.idOf('type')}
          onOpen={(type) => panel.open('type', type)}
          onClose={panel.close}
        />
      </ListPage>
    );
  }
  return (
    <ListPage>
      <ListBar
        left={
          <>
            {views}
            <ListFilters
              label="Filters of the endpoints"
              filters={endpointFilters}
              search={search}
              update={update}
              searched="text"
              own={tenant === undefined ? {} : { tenant: null }}
            />
          </>
        }
        queries={[list]}
      >
        {hasScope('endpoints:manage') && (
          <Button variant="filled" onClick={() => panel.open('endpoint', newEndpoint)}>
            New endpoint
          </Button>
        )}
      </ListBar>
      <List
        queries={[list]}
        name="endpoints"
        placeholders={12}
        empty={
          <NoEndpoints
            onClear={
              isFiltered ? () => update({ ...noneOf(endpointFilters), cursor: undefined }) : null
            }
          />
        }
        list="endpoints"
        label="Endpoints"
        columns={columns}
        rows={rows ?? []}
        keyOf={idOf}
        open={open}
        place={JSON.stringify([filtersOf(search, endpointFilters), search.cursor])}
        onOpen={(id) => panel.open('endpoint', id)}
      />
      <Pager next={next} search={search} update={update} />
      {open !== undefined && (
        <EndpointDrawer
          id={open}
          known={rows?.find(({ id }) => id === open)}
          tenant={tenant ?? search.tenant}
          onClose={panel.close}
          onMade={(id) => panel.open('endpoint', id)}
        />
      )}
    </ListPage>
  );
}

/** Says that there are none, or none with these filters, which can be removed. */
function NoEndpoints({ onClear }: { onClear: (() => void) | null }): ReactNode {
  if (onClear !== null) return <Empty title="No endpoint matches" onClear={onClear} />;
  return (
    <Empty title="No endpoints yet">
      <p>Incidents of a tenant go to its endpoints. Make one by New endpoint.</p>
    </Empty>
  );
}

function Pager(props: {
  next: string | null;
  search: EndpointsSearch;
  update: UpdateSearch<EndpointsSearch>;
}): ReactNode {
  const { next, search, update } = props;
  if (next === null && search.cursor === undefined) return null;
  return (
    <div className={classes.pager}>
      <Button disabled={search.cursor === undefined} onClick={() => update({ cursor: undefined })}>
        ‹ FIRST
      </Button>
      <Button disabled={next === null} onClick={() => update({ cursor: next ?? undefined })}>
        NEXT ›
      </Button>
    </div>
  );
}

function useEndpoints(search: EndpointsSearch): UseQueryResult<Page<Endpoint>> {
  const params = { ...listParams(endpointFilters, search, 200), include: 'hours' };
  return useRead([...endpointsKey, 'list', params], '/webhook/endpoints', { params });
}
