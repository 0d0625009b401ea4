import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { Endpoint, Page } from '../../api/types.ts';
import { endpointFilters } from '../../api/views.ts';
import { ListFilters } from '../../ui/filters.tsx';
import { noneOf } from '../../ui/hash-state.ts';
import { ListBar, ListPage, NewButton, ViewSwitch } from '../../ui/list-page.tsx';
import { listParams } from '../../ui/list-search.ts';
import { useRead } from '../../ui/poll.tsx';
import { useSession } from '../../ui/session.ts';
import { idOf } from '../../ui/table/column.ts';
import { PagedList } from '../../ui/table/list.tsx';
import { usePageSearch } from '../../ui/use-search.ts';
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
          cursor: undefined,
          panel: undefined,
        })
      }
    />
  );
  const open = panel.idOf('endpoint');
  const rows = list.data?.data;
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
          <NewButton what="endpoint" onClick={() => panel.open('endpoint', newEndpoint)} />
        )}
      </ListBar>
      <PagedList
        list="endpoints"
        label="Endpoints"
        one="endpoint"
        columns={columns}
        keyOf={idOf}
        query={list}
        search={search}
        update={update}
        filters={endpointFilters}
        words={{ none: 'No endpoints yet', advice: whereIncidentsGo }}
        open={open}
        onOpen={(id) => panel.open('endpoint', id)}
      />
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

const whereIncidentsGo = (
  <p>Incidents of a tenant go to its endpoints. Make one by NEW ENDPOINT.</p>
);

function useEndpoints(search: EndpointsSearch): UseQueryResult<Page<Endpoint>> {
  const params = { ...listParams(endpointFilters, search, 200), include: 'hours' };
  return useRead([...endpointsKey, 'list', params], '/webhook/endpoints', { params });
}
