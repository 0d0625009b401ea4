import type { ReactNode } from 'react';
import { failureWords } from '../../api/values.ts';
import { incidentFilters } from '../../api/views.ts';
import { ListFilters } from '../../ui/filters.tsx';
import { ListBar, ListPage } from '../../ui/list-page.tsx';
import { useSession } from '../../ui/session.ts';
import { idOf } from '../../ui/table/column.ts';
import { PagedList } from '../../ui/table/list.tsx';
import { usePageSearch } from '../../ui/use-search.ts';
import { EndpointFilter } from '../dlq/dlq-bar.tsx';
import { useOnlyTenant, useOwnColumns } from '../only-tenant.ts';
import { incidentsPanels, validateIncidentsSearch } from '../search.ts';
import { useRetries } from '../use-delivery.ts';
import { incidentColumns, retryColumns } from './columns.tsx';
import { IncidentPanel } from './incident-panel.tsx';
import ownClasses from './incidents.module.css';
import { useIncidents, useRetryOf } from './use-incidents.ts';

const { type, ...otherFilters } = incidentFilters;
const shownFilters = { type, ...otherFilters };

/** The page INCIDENTS: what was reported, newest first, and what became of its deliveries. */
export function IncidentsPage(): ReactNode {
  const [search, update, panel] = usePageSearch(
    '/incidents',
    validateIncidentsSearch,
    incidentsPanels,
  );
  const seesDeliveries = useSession().hasScope('webhooks:read');
  const tenant = useOnlyTenant();
  const columns = useOwnColumns(seesDeliveries ? retryColumns : incidentColumns);
  const list = useIncidents(search);
  const open = panel.idOf('inc');
  const retries = useRetries();
  const retryOf = useRetryOf(retries);
  return (
    <ListPage>
      <ListBar
        left={
          <ListFilters
            label="Filters of the incidents"
            className={ownClasses.filters}
            filters={shownFilters}
            search={search}
            update={update}
            searched="text"
            words={{ ...failureWords, failed: 'with failed deliveries' }}
            own={{
              ...(tenant !== undefined && { tenant: null }),
              endpoint: seesDeliveries && (
                <EndpointFilter
                  tenant={tenant ?? search.tenant}
                  value={search.endpoint}
                  onChange={(endpoint) => update({ endpoint, cursor: undefined })}
                />
              ),
            }}
          />
        }
        queries={[list]}
      />
      <PagedList
        list="incidents"
        label="Incidents"
        one="incident"
        columns={columns}
        keyOf={idOf}
        query={list}
        searching={list.searching}
        search={search}
        update={update}
        filters={incidentFilters}
        words={{ none: 'No incidents yet' }}
        open={open}
        onOpen={(id) => panel.open('inc', id)}
        onRetry={seesDeliveries ? (id) => void retryOf(id) : undefined}
      />
      {open !== undefined && <IncidentPanel id={open} retries={retries} onClose={panel.close} />}
    </ListPage>
  );
}
