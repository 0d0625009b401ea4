import { Button } from '@mantine/core';
import { type UseQueryResult, useQuery } from '@tanstack/react-query';
import { type ReactNode, useCallback, useMemo, useRef } from 'react';
import { api } from '../../api/client.ts';
import type { Delivery, Page } from '../../api/types.ts';
import { ChoiceFilter, EndpointFilter, TextFilter } from '../../ui/filters.tsx';
import { FailurePanel, FreshnessBanner, useFailure } from '../../ui/freshness.tsx';
import classes from '../../ui/list-page.module.css';
import { NowProvider } from '../../ui/marks.tsx';
import { PollNote, pollMillis, usePollOf } from '../../ui/poll.tsx';
import { SkeletonRows } from '../../ui/skeleton.tsx';
import { RowsTable } from '../../ui/table/rows-table.tsx';
import { notify } from '../../ui/toasts.tsx';
import { useRetries } from '../../ui/use-act.ts';
import { type UpdateSearch, useDrawerStep, usePageSearch } from '../../ui/use-search.ts';
import { countOf } from '../../ui/words.ts';
import { DeliveryDrawer } from '../delivery/delivery-drawer.tsx';
import { deliveriesKey, useDelivery } from '../delivery/use-delivery.ts';
import { deliveryColumns } from '../dlq/columns.tsx';
import { type DeliveriesSearch, deliveryStatuses, validateDeliveriesSearch } from '../search.ts';

const pageSize = 100;

/** DELIVERIES: webhooks in every state, newest first. */
export function DeliveriesPage(): ReactNode {
  const [search, update] = usePageSearch('/deliveries', validateDeliveriesSearch);
  const list = useDeliveries(search);
  const delivery = useDelivery(search.delivery);
  const drawer = useDrawerStep(search.delivery, (next, options) =>
    update({ delivery: next }, options),
  );
  const retries = useRetries((id) => list.data?.data.find((row) => row.id === id)?.endpoint_id);
  const rows = list.data?.data;
  const groups = useMemo(() => [{ id: 'all', rows: rows ?? [] }], [rows]);
  const isDead = useCallback(
    (id: string) => {
      const status = rows?.find((row) => row.id === id)?.status;
      return status === 'pending' || status === 'abandoned';
    },
    [rows],
  );
  const watched: UseQueryResult[] = [list];
  if (search.delivery !== undefined) watched.push(delivery);
  return (
    <NowProvider>
      <div className={classes.page}>
        <FreshnessBanner queries={watched} isAgeElsewhere />
        <Bar search={search} update={update} list={list} />
        <Rows list={list} search={search} onClear={() => update(noFilter)}>
          <RowsTable
            label="Deliveries"
            columns={deliveryColumns}
            groups={groups}
            keyOf={keyOf}
            open={search.delivery}
            place={JSON.stringify({ ...search, delivery: undefined })}
            isWaiting={list.isPlaceholderData}
            onOpen={drawer.open}
            onRetry={(id) => {
              if (isDead(id)) void retries.retry([id]);
              else notify({ text: 'Only pending and abandoned deliveries can be retried.' });
            }}
          />
        </Rows>
        <Pager search={search} update={update} list={list} />
        {search.delivery !== undefined && (
          <DeliveryDrawer
            id={search.delivery}
            delivery={delivery}
            retries={retries}
            onClose={drawer.close}
          />
        )}
      </div>
    </NowProvider>
  );
}

type List = UseQueryResult<Page<Delivery>>;
type Update = UpdateSearch<DeliveriesSearch>;

function useDeliveries(search: DeliveriesSearch): List {
  const { status, tenant, endpoint, incident, cursor } = search;
  const filters = { status, tenant, endpoint_id: endpoint, incident_id: incident, cursor };
  return useQuery<Page<Delivery>>({
    queryKey: [...deliveriesKey, filters],
    refetchInterval: usePollOf(pollMillis),
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

function Bar(props: { search: DeliveriesSearch; update: Update; list: List }): ReactNode {
  const { search, update } = props;
  // The cursor belonged to the last filters.
  const filter: Update = (change) => update({ ...change, cursor: undefined });
  return (
    <div className={classes.bar}>
      <fieldset className={classes.filters} aria-label="Filters of the deliveries">
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
      </fieldset>
      <PollNote queries={[props.list]} />
    </div>
  );
}

function isFiltered({ status, tenant, endpoint, incident }: DeliveriesSearch): boolean {
  return [status, tenant, endpoint, incident].some((filter) => filter !== undefined);
}

function Rows(props: {
  list: List;
  search: DeliveriesSearch;
  onClear: () => void;
  children: ReactNode;
}): ReactNode {
  const { list, search } = props;
  const failure = useFailure(list);
  if (list.data === undefined) {
    return (
      <div className={classes.scroller}>
        {failure === null ? (
          <SkeletonRows rows={16} label="Loading the deliveries" />
        ) : (
          <FailurePanel error={failure} onRetry={() => void list.refetch()} />
        )}
      </div>
    );
  }
  if (list.data.data.length > 0) return props.children;
  return (
    <div className={classes.empty}>
      <h2>{emptyText(list.data, search)}</h2>
      {isFiltered(search) && (
        <p>
          <button type="button" className={classes.textButton} onClick={props.onClear}>
            Clear filters
          </button>
        </p>
      )}
    </div>
  );
}

function emptyText(page: Page<Delivery>, search: DeliveriesSearch): string {
  if (page.next_cursor !== null) return 'No match in this stretch of deliveries. NEXT reads on.';
  return isFiltered(search) ? 'No deliveries with these filters' : 'No deliveries yet';
}

/** The API reads on from a cursor; the way back are the cursors that this page came along. */
function Pager({ search, update, list }: { search: DeliveriesSearch; update: Update; list: List }) {
  const way = useRef<(string | undefined)[]>([]);
  const { cursor } = search;
  if (cursor === undefined) way.current = [];
  const next = list.data?.next_cursor ?? null;
  const isWaiting = list.isPlaceholderData;
  return (
    <div className={classes.pager}>
      <span role="status">
        {list.data && countOf(list.data.data.length, 'delivery', 'deliveries')}
        {list.data && next !== null && ', and more'}
      </span>
      <Button
        disabled={cursor === undefined || isWaiting}
        onClick={() => update({ cursor: way.current.pop() })}
      >
        ‹ PREV
      </Button>
      <Button
        disabled={next === null || isWaiting}
        onClick={() => {
          way.current.push(cursor);
          update({ cursor: next ?? undefined });
        }}
      >
        NEXT ›
      </Button>
    </div>
  );
}
