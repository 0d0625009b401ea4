import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { Incident, Page } from '../../api/types.ts';
import { ChoiceFilter, DayFilters, Filters, TextFilter } from '../../ui/filters.tsx';
import { filtersOf, hasFilter, noneOf } from '../../ui/hash-state.ts';
import classes from '../../ui/list-page.module.css';
import { ListPage } from '../../ui/list-page.tsx';
import { PollNote } from '../../ui/poll.tsx';
import { useSession } from '../../ui/session.ts';
import { idOf } from '../../ui/table/column.ts';
import { PagedList } from '../../ui/table/list.tsx';
import { type UpdateSearch, usePageSearch } from '../../ui/use-search.ts';
import { type IncidentsSearch, incidentsPanels, validateIncidentsSearch } from '../search.ts';
import { useRetries } from '../use-delivery.ts';
import { adminColumns, incidentColumns } from './columns.tsx';
import { IncidentPanel } from './incident-panel.tsx';
import ownClasses from './incidents.module.css';
import { useDeliveriesOf, useIncident, useIncidents, useRetryOf } from './use-incidents.ts';

/** The page INCIDENTS: what was reported, newest first, and what became of its deliveries. */
export function IncidentsPage(): ReactNode {
  const [search, update, panel] = usePageSearch(
    '/incidents',
    validateIncidentsSearch,
    incidentsPanels,
  );
  const isAdmin = useSession().hasScope('admin');
  const list = useIncidents(search);
  const open = panel.idOf('inc');
  const incident = useIncident(open);
  const deliveries = useDeliveriesOf(isAdmin ? open : undefined);
  const retries = useRetries(
    (id) => deliveries.data?.data.find((delivery) => delivery.id === id)?.endpoint_id,
  );
  const retryOf = useRetryOf(retries);
  const ofPanel: UseQueryResult[] = isAdmin ? [incident, deliveries] : [incident];
  return (
    <ListPage queries={open === undefined ? [list] : [list, ...ofPanel]}>
      <Bar search={search} update={update} list={list} />
      <PagedList
        list="incidents"
        label="Incidents"
        one="incident"
        columns={isAdmin ? adminColumns : incidentColumns}
        keyOf={idOf}
        query={list}
        search={search}
        update={update}
        isFiltered={hasFilter(search, noFilter)}
        noFilter={noFilter}
        words={{ none: 'No incidents yet' }}
        open={open}
        onOpen={(id) => panel.open('inc', id)}
        onRetry={isAdmin ? (id) => void retryOf(id) : undefined}
      />
      {open !== undefined && (
        <IncidentPanel
          id={open}
          incident={incident}
          deliveries={isAdmin ? deliveries : undefined}
          retries={retries}
          onClose={panel.close}
        />
      )}
    </ListPage>
  );
}

const noFilter = noneOf('type', 'tenant', 'store', 'from', 'to', 'deliveries');

const failedChoice = [{ value: 'failed' as const, label: 'with failed deliveries' }];

function Bar(props: {
  search: IncidentsSearch;
  update: UpdateSearch<IncidentsSearch>;
  list: UseQueryResult<Page<Incident>>;
}): ReactNode {
  const { search, update } = props;
  // The cursor goes with any change of the filters, because it belonged to the previous ones.
  const filter: typeof update = (change) => update({ ...change, cursor: undefined });
  return (
    <div className={classes.bar}>
      <Filters
        label="Filters of the incidents"
        className={ownClasses.filters}
        values={filtersOf(search, noFilter)}
        onClear={() => update(noFilter)}
      >
        <TextFilter
          label="Type, exactly, or how types begin, as incident."
          placeholder="Type ="
          value={search.type}
          onChange={(type) => filter({ type })}
        />
        <TextFilter
          label="Tenant, exactly"
          placeholder="Tenant ="
          value={search.tenant}
          onChange={(tenant) => filter({ tenant })}
        />
        <TextFilter
          label="Store, exactly"
          placeholder="Store ="
          value={search.store}
          onChange={(store) => filter({ store })}
        />
        <DayFilters from={search.from} to={search.to} onChange={filter} />
        <ChoiceFilter
          label="Deliveries"
          any="Any deliveries"
          choices={failedChoice}
          value={search.deliveries}
          onChange={(deliveries) => filter({ deliveries })}
        />
      </Filters>
      <PollNote queries={[props.list]} />
    </div>
  );
}
