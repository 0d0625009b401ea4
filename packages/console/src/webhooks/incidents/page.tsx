import type { ReactNode } from 'react';
import { failureWords } from '../../api/values.ts';
import { incidentFilters } from '../../api/views.ts';
import { ListPage } from '../../ui/list-page.tsx';
import { useSession } from '../../ui/session.ts';
import { idOf } from '../../ui/table/column.ts';
import { FilteredList } from '../../ui/table/filtered-list.tsx';
import { usePageSearch } from '../../ui/use-search.ts';
import { useEndpointNames } from '../endpoint-names.ts';
import { useOnlyTenant, useOwnColumns, useOwnFilters, withoutField } from '../only-tenant.ts';
import { incidentsPanels, validateIncidentsSearch } from '../search.ts';
import { useRetries } from '../use-delivery.ts';
import { incidentColumns } from './columns.tsx';
import { IncidentPanel } from './incident-panel.tsx';
import { useIncidents, useRetryOf } from './use-incidents.ts';

const eventFilters = withoutField(incidentFilters, 'endpoint');
const failedWords = { failed: 'with failed deliveries' };

/** The page INCIDENTS: what was reported, newest first, and what became of its deliveries. */
export function IncidentsPage(): ReactNode {
  const page = usePageSearch('/incidents', validateIncidentsSearch, incidentsPanels);
  const [search, , panel] = page;
  const seesDeliveries = useSession().hasScope('webhooks:read');
  const filters = useOwnFilters(seesDeliveries ? incidentFilters : eventFilters);
  const endpoint = useEndpointNames(useOnlyTenant() ?? search.tenant, seesDeliveries);
  const columns = useOwnColumns(incidentColumns);
  const list = useIncidents(search);
  const open = panel.idOf('inc');
  const retries = useRetries();
  const retryOf = useRetryOf(retries);
  return (
    <ListPage>
      <FilteredList
        page={page}
        opens="inc"
        one="incident"
        columns={columns}
        keyOf={idOf}
        query={list}
        millis={list.millis}
        filters={filters}
        searched="text"
        filterWords={{ endpoint, class: failureWords, deliveries: failedWords }}
        onRetry={retries.isAllowed ? (id) => void retryOf(id) : undefined}
      />
      {open !== undefined && <IncidentPanel id={open} retries={retries} onClose={panel.close} />}
    </ListPage>
  );
}
