import { Button } from '@mantine/core';
import { type ReactNode, useCallback } from 'react';
import type { Delivery } from '../api/types.ts';
import { failureWords, outcomeWords } from '../api/values.ts';
import { deliveryFilters } from '../api/views.ts';
import { ListFilters } from '../ui/filters.tsx';
import { ListBar, ListPage } from '../ui/list-page.tsx';
import { listParams } from '../ui/list-search.ts';
import { idOf } from '../ui/table/column.ts';
import { PagedList } from '../ui/table/list.tsx';
import { notify } from '../ui/toasts.tsx';
import { usePageSearch } from '../ui/use-search.ts';
import { shortId } from '../ui/words.ts';
import { deliveryColumns } from './delivery-columns.tsx';
import { DeliveryDrawer } from './delivery-drawer.tsx';
import { EndpointFilter } from './dlq/dlq-bar.tsx';
import { useOnlyTenant, useOwnColumns } from './only-tenant.ts';
import { deliveriesKey } from './query-keys.ts';
import { type DeliveriesSearch, deliveriesPanels, validateDeliveriesSearch } from './search.ts';
import { useRetries } from './use-delivery.ts';
import { type Found, useFound } from './use-found.ts';

/** The page DELIVERIES: webhooks in every state, newest first. */
export function DeliveriesPage(): ReactNode {
  const [search, update, panel] = usePageSearch(
    '/deliveries',
    validateDeliveriesSearch,
    deliveriesPanels,
  );
  const tenant = useOnlyTenant();
  const columns = useOwnColumns(deliveryColumns);
  const list = useDeliveries(search);
  const open = panel.idOf('delivery');
  const retries = useRetries();
  const rows = list.data?.data;
  const isDead = useCallback(
    (id: string) => {
      const status = rows?.find((row) => row.id === id)?.status;
      return status === 'pending' || status === 'abandoned';
    },
    [rows],
  );
  return (
    <ListPage>
      <ListBar
        left={
          <ListFilters
            label="Filters of the deliveries"
            filters={deliveryFilters}
            search={search}
            update={update}
            searched="text"
            words={failureWords}
            own={{
              ...(tenant !== undefined && { tenant: null }),
              // An id of any kind is asked for by the field `id`.
              incident: search.incident && (
                <Button
                  title="Show those of all incidents"
                  onClick={() => update({ incident: undefined, cursor: undefined })}
                >
                  {shortId(search.incident)} ×
                </Button>
              ),
              endpoint: (
                <EndpointFilter
                  tenant={tenant ?? search.tenant}
                  value={search.endpoint}
                  onChange={(endpoint) => update({ endpoint, cursor: undefined })}
                />
              ),
              // Whoever comes from a bulk job has both.
              job: search.job !== undefined && (
                <Button
                  title="Show those of no job, too"
                  onClick={() => update({ job: undefined, outcome: undefined, cursor: undefined })}
                >
                  {shortId(search.job)}
                  {search.outcome !== undefined && ` · ${outcomeWords[search.outcome]}`} ×
                </Button>
              ),
              outcome: null,
            }}
          />
        }
        queries={[list]}
      />
      <PagedList
        list="deliveries"
        label="Deliveries"
        one="delivery"
        many="deliveries"
        columns={columns}
        keyOf={idOf}
        query={list}
        searching={list.searching}
        search={search}
        update={update}
        filters={deliveryFilters}
        words={{ none: 'No deliveries yet' }}
        open={open}
        onOpen={(id) => panel.open('delivery', id)}
        onRetry={(id) => {
          if (isDead(id)) void retries.retry([id]);
          else notify({ text: 'Only pending and abandoned deliveries can be retried.' });
        }}
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
