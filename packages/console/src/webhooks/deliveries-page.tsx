import { Button } from '@mantine/core';
import { type UseQueryResult, useQuery } from '@tanstack/react-query';
import { type ReactNode, useCallback } from 'react';
import { api } from '../api/client.ts';
import type { Delivery, Page } from '../api/types.ts';
import { deliveryStatuses } from '../api/values.ts';
import { ChoiceFilter, Filters, TextFilter } from '../ui/filters.tsx';
import { FreshnessBanner, usePolling } from '../ui/freshness.tsx';
import { Empty, List, Pager } from '../ui/list.tsx';
import classes from '../ui/list-page.module.css';
import { NowProvider } from '../ui/marks.tsx';
import { PollNote, pollMillis } from '../ui/poll.tsx';
import { DataTable } from '../ui/table/data-table.tsx';
import { notify } from '../ui/toasts.tsx';
import { type UpdateSearch, usePageSearch, usePanel } from '../ui/use-search.ts';
import { deliveryColumns } from './delivery-columns.tsx';
import { DeliveryDrawer } from './delivery-drawer.tsx';
import { EndpointFilter } from './dlq/dlq-bar.tsx';
import { deliveriesKey } from './query-keys.ts';
import { type DeliveriesSearch, deliveriesPanels, validateDeliveriesSearch } from './search.ts';
import { useDelivery, useRetries } from './use-delivery.ts';

const pageSize = 100;

/** The page DELIVERIES: webhooks in every state, newest first. */
export function DeliveriesPage(): ReactNode {
  const [search, update] = usePageSearch('/deliveries', validateDeliveriesSearch);
  const list = useDeliveries(search);
  const panel = usePanel(search.panel, deliveriesPanels, (next, options) =>
    update({ panel: next }, options),
  );
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
    <NowProvider>
      <div className={classes.page}>
        <FreshnessBanner queries={watched} isAgeElsewhere />
        <Bar search={search} update={update} list={list} />
        <List
          queries={[list]}
          name="deliveries"
          isEmpty={rows?.length === 0}
          empty={
            <Empty
              title={emptyText(list.data, search)}
              onClear={isFiltered(search) ? () => update(noFilter) : undefined}
            />
          }
        >
          <DataTable
            list="deliveries"
            label="Deliveries"
            columns={deliveryColumns}
            rows={rows ?? []}
            keyOf={keyOf}
            open={open}
            place={JSON.stringify({ ...search, panel: undefined })}
            isWaiting={list.isPlaceholderData}
            onOpen={(id) => panel.open('delivery', id)}
            onRetry={(id) => {
              if (isDead(id)) void retries.retry([id]);
              else notify({ text: 'Only pending and abandoned deliveries can be retried.' });
            }}
          />
        </List>
        <Pager
          list={list}
          cursor={search.cursor}
          onCursor={(cursor) => update({ cursor })}
          one="delivery"
          many="deliveries"
        />
        {open !== undefined && (
          <DeliveryDrawer id={open} delivery={delivery} retries={retries} onClose={panel.close} />
        )}
      </div>
    </NowProvider>
  );
}

type Deliveries = UseQueryResult<Page<Delivery>>;
type Update = UpdateSearch<DeliveriesSearch>;

/** Reads a page of deliveries. */
function useDeliveries(search: DeliveriesSearch): Deliveries {
  const { status, tenant, endpoint, incident, cursor } = search;
  const filters = { status, tenant, endpoint_id: endpoint, incident_id: incident, cursor };
  return useQuery<Page<Delivery>>({
    queryKey: [...deliveriesKey, filters],
    refetchInterval: usePolling(pollMillis),
    queryFn: ({ signal }) =>
      api.get<Page<Delivery>>('/webhook/deliveries', { ...filters, limit: pageSize }, signal),
  });
}

const keyOf = ({ id }: Delivery) => id;

const noFilter = {
  status: undefined,
  tenant: undefined,
  endpoint: undefined,
  incident: undefined,
  cursor: undefined,
} as const;

const statusChoices = deliveryStatuses.map((status) => ({ value: status, label: status }));

function Bar(props: { search: DeliveriesSearch; update: Update; list: Deliveries }): ReactNode {
  const { search, update } = props;
  // The cursor goes with any change of the filters, because it belonged to the previous ones.
  const filter: Update = (change) => update({ ...change, cursor: undefined });
  return (
    <div className={classes.bar}>
      <Filters
        label="Filters of the deliveries"
        values={[search.status, search.tenant, search.endpoint, search.incident]}
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
        {isFiltered(search) && (
          <Button variant="subtle" onClick={() => update(noFilter)}>
            Clear filters
          </Button>
        )}
      </Filters>
      <PollNote queries={[props.list]} />
    </div>
  );
}

function isFiltered({ status, tenant, endpoint, incident }: DeliveriesSearch): boolean {
  return [status, tenant, endpoint, incident].some((filter) => filter !== undefined);
}

function emptyText(page: Page<Delivery> | undefined, search: DeliveriesSearch): string {
  if (page?.next_cursor) return 'No match in this stretch of deliveries. NEXT reads on.';
  return isFiltered(search) ? 'No deliveries with these filters' : 'No deliveries yet';
}
