import type { ReactNode } from 'react';
import type { Delivery } from '../api/types.ts';
import { failureWords, outcomeWords } from '../api/values.ts';
import { deliveryFilters } from '../api/views.ts';
import { ListPage } from '../ui/list-page.tsx';
import { listParams } from '../ui/list-search.ts';
import { idOf } from '../ui/table/column.ts';
import { FilteredList } from '../ui/table/filtered-list.tsx';
import { notify } from '../ui/toasts.tsx';
import { usePageSearch } from '../ui/use-search.ts';
import { deliveryColumns } from './delivery-columns.tsx';
import { DeliveryDrawer } from './delivery-drawer.tsx';
import { useEndpointNames } from './endpoint-names.ts';
import { useOnlyTenant, useOwnColumns, useOwnFilters } from './only-tenant.ts';
import { deliveriesKey } from './query-keys.ts';
import { type DeliveriesSearch, deliveriesPanels, validateDeliveriesSearch } from './search.ts';
import { useRetries } from './use-delivery.ts';
import { type Found, useFound } from './use-found.ts';

/** The page DELIVERIES: webhooks in every state, newest first. */
export function DeliveriesPage(): ReactNode {
  const page = usePageSearch('/deliveries', validateDeliveriesSearch, deliveriesPanels);
  const [search, , panel] = page;
  const filters = useOwnFilters(deliveryFilters);
  const endpoint = useEndpointNames(useOnlyTenant() ?? search.tenant);
  const columns = useOwnColumns(deliveryColumns);
  const list = useDeliveries(search);
  const open = panel.idOf('delivery');
  const retries = useRetries();
  const rows = list.data?.data;
  const retry = (id: string) => {
    const status = rows?.find((row) => row.id === id)?.status;
    if (status === 'pending' || status === 'abandoned') void retries.retry([id]);
    else notify({ text: 'Only pending and abandoned deliveries can be retried.' });
  };
  return (
    <ListPage>
      <FilteredList
        page={page}
        opens="delivery"
        one="delivery"
        many="deliveries"
        columns={columns}
        keyOf={idOf}
        query={list}
        millis={list.millis}
        filters={filters}
        searched="text"
        filterWords={{ endpoint, class: failureWords, outcome: outcomeWords }}
        onRetry={retries.isAllowed ? retry : undefined}
      />
      {open !== undefined && <DeliveryDrawer id={open} retries={retries} onClose={panel.close} />}
    </ListPage>
  );
}

/** Reads a page of deliveries. */
function useDeliveries(search: DeliveriesSearch): Found<Delivery> {
  const { status, type, class: failure, code, id, text } = search;
  const params = listParams(deliveryFilters, search);
  const sought = [status, type, failure, code, id, text];
  return useFound([...deliveriesKey, params], '/webhook/deliveries', params, sought);
}
