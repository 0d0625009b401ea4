import type { UseQueryResult } from '@tanstack/react-query';
import { type ReactNode, useCallback } from 'react';
import type { Delivery, Page } from '../api/types.ts';
import { deliveryStatuses } from '../api/values.ts';
import { ChoiceFilter, Filters, TextFilter } from '../ui/filters.tsx';
import { filtersOf, hasFilter, noneOf } from '../ui/hash-state.ts';
import classes from '../ui/list-page.module.css';
import { ListPage } from '../ui/list-page.tsx';
import { PollNote, useRead } from '../ui/poll.tsx';
import { idOf } from '../ui/table/column.ts';
import { PagedList } from '../ui/table/list.tsx';
import { notify } from '../ui/toasts.tsx';
import { type UpdateSearch, usePageSearch } from '../ui/use-search.ts';
import { deliveryColumns } from './delivery-columns.tsx';
import { DeliveryDrawer } from './delivery-drawer.tsx';
import { EndpointFilter } from './dlq/dlq-bar.tsx';
import { deliveriesKey } from './query-keys.ts';
import { type DeliveriesSearch, deliveriesPanels, validateDeliveriesSearch } from './search.ts';
import { useDelivery, useRetries } from './use-delivery.ts';

const pageSize = 100;

/** The page DELIVERIES: webhooks in every state, newest first. */
export function DeliveriesPage(): ReactNode {
  const [search, update, panel] = usePageSearch(
    '/deliveries',
    validateDeliveriesSearch,
    deliveriesPanels,
  );
  const list = useDeliveries(search);
  const open = panel.idOf('delivery');
  const delivery = useDelivery(open);
  const retries = useRetries((id) => list.data?.data.find((row) => row.id === id)?.endpoint_id);
  const rows = list.data?.data;
  const isDead = useCallback(
    (id: string) => {
      const status = rows?.find((row) => row.id === id)?.status;
      return status === 'pending' || status === 'abandoned';
    },
    [rows],
  );
  const watched: UseQueryResult[] = [list];
  if (open !== undefined) watched.push(delivery);
  return (
    <ListPage queries={watched}>
      <Bar search={search} update={update} list={list} />
      <PagedList
        list="deliveries"
        label="Deliveries"
        one="delivery"
        many="deliveries"
        columns={deliveryColumns}
        keyOf={idOf}
        query={list}
        search={search}
        update={update}
        isFiltered={hasFilter(search, noFilter)}
        noFilter={noFilter}
        words={{ none: 'No deliveries yet' }}
        open={open}
        onOpen={(id) => panel.open('delivery', id)}
        onRetry={(id) => {
          if (isDead(id)) void retries.retry([id]);
          else notify({ text: 'Only pending and abandoned deliveries can be retried.' });
        }}
      />
      {open !== undefined && (
        <DeliveryDrawer id={open} delivery={delivery} retries={retries} onClose={panel.close} />
      )}
    </ListPage>
  );
}

type Deliveries = UseQueryResult<Page<Delivery>>;
type Update = UpdateSearch<DeliveriesSearch>;

/** Reads a page of deliveries. */
function useDeliveries(search: DeliveriesSearch): Deliveries {
  const { status, tenant, endpoint, incident, cursor } = search;
  const filters = { status, tenant, endpoint_id: endpoint, incident_id: incident, cursor };
  const params = { ...filters, limit: pageSize };
  return useRead([...deliveriesKey, filters], '/webhook/deliveries', { params });
}

const noFilter = noneOf('status', 'tenant', 'endpoint', 'incident');

const statusChoices = deliveryStatuses.map((status) => ({ value: status, label: status }));

function Bar(props: { search: DeliveriesSearch; update: Update; list: Deliveries }): ReactNode {
  const { search, update } = props;
  // The cursor goes with any change of the filters, because it belonged to the previous ones.
  const filter: Update = (change) => update({ ...change, cursor: undefined });
  return (
    <div className={classes.bar}>
      <Filters
        label="Filters of the deliveries"
        values={filtersOf(search, noFilter)}
        onClear={() => update(noFilter)}
      >
        <ChoiceFilter
          label="Status"
          any="Any status"
          choices={statusChoices}
          value={search.status}
          onChange={(status) => filter({ status })}
        />
        <TextFilter
          label="Tenant, exactly"
          placeholder="Tenant ="
          value={search.tenant}
          onChange={(tenant) => filter({ tenant, endpoint: undefined })}
        />
        <EndpointFilter
          tenant={search.tenant}
          value={search.endpoint}
          onChange={(endpoint) => filter({ endpoint })}
        />
        <TextFilter
          label="Id of the incident"
          placeholder="Incident ="
          value={search.incident}
          onChange={(incident) => filter({ incident })}
        />
      </Filters>
      <PollNote queries={[props.list]} />
    </div>
  );
}
