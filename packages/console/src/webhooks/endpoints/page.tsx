import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { Endpoint, Page } from '../../api/types.ts';
import { endpointFilters } from '../../api/views.ts';
import { noneOf } from '../../ui/hash-state.ts';
import { ListPage, NewButton, ViewSwitch } from '../../ui/list-page.tsx';
import { listParams } from '../../ui/list-search.ts';
import { useRead } from '../../ui/poll.tsx';
import { useSession } from '../../ui/session.ts';
import { idOf } from '../../ui/table/column.ts';
import { FilteredList } from '../../ui/table/filtered-list.tsx';
import { usePageSearch } from '../../ui/use-search.ts';
import { useOnlyTenant, useOwnColumns, useOwnFilters } from '../only-tenant.ts';
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
  const page = usePageSearch('/endpoints', validateEndpointsSearch, endpointsPanels);
  const [search, update, panel] = page;
  const { hasScope } = useSession();
  const tenant = useOnlyTenant();
  const filters = useOwnFilters(endpointFilters);
  const columns = useOwnColumns(endpointColumns, 'endpoints:manage');
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
          onMade={(type) => panel.replace('type', type)}
          onClose={panel.close}
        />
      </ListPage>
    );
  }
  return (
    <ListPage>
      <FilteredList
        page={page}
        opens="endpoint"
        one="endpoint"
        views={views}
        actions={
          hasScope('endpoints:manage') && (
            <NewButton what="endpoint" onClick={() => panel.open('endpoint', newEndpoint)} />
          )
        }
        columns={columns}
        keyOf={idOf}
        query={list}
        isRanked
        filters={filters}
        searched="text"
        words={{ advice: whereIncidentsGo }}
      />
      {open !== undefined && (
        <EndpointDrawer
          id={open}
          known={rows?.find(({ id }) => id === open)}
          tenant={tenant ?? search.tenant}
          onClose={panel.close}
          onMade={(id) => panel.replace('endpoint', id)}
        />
      )}
    </ListPage>
  );
}

const whereIncidentsGo = (
  <p>Incidents of a tenant go to its endpoints. Make one by NEW ENDPOINT.</p>
);

function useEndpoints(search: EndpointsSearch): UseQueryResult<Page<Endpoint>> {
  const params = { ...listParams(endpointFilters, search, 200), order: 'health', include: 'hours' };
  return useRead([...endpointsKey, 'list', params], '/webhook/endpoints', { params });
}
