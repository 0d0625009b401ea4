import type { UseQueryResult } from '@tanstack/react-query';
import { type ReactNode, useCallback, useMemo, useState } from 'react';
import type { DeadLetters, Delivery, RetryRequest } from '../../api/types.ts';
import type { DeadLetterStatus } from '../../api/values.ts';
import { formatClock, formatCount } from '../../ui/format.ts';
import { FreshnessBanner } from '../../ui/freshness.tsx';
import { Empty, List } from '../../ui/list.tsx';
import classes from '../../ui/list-page.module.css';
import { NowProvider } from '../../ui/marks.tsx';
import { type RowGroup, RowsTable } from '../../ui/table/rows-table.tsx';
import tableClasses from '../../ui/table/table.module.css';
import { useSelection } from '../../ui/table/use-selection.ts';
import { useDrawerStep, usePageSearch } from '../../ui/use-search.ts';
import { useZone, zoneName } from '../../ui/zone-switch.tsx';
import { dlqColumns } from '../delivery-columns.tsx';
import { DeliveryDrawer } from '../delivery-drawer.tsx';
import { StatusMark } from '../marks.tsx';
import { type DlqSearch, shownStatuses, validateDlqSearch } from '../search.ts';
import { useDelivery, useRetries } from '../use-delivery.ts';
import { statusWords } from '../words.ts';
import { JobsStrip, RetryAll } from './bulk-retry.tsx';
import { DlqBar, hasFilter, noFilter } from './dlq-bar.tsx';
import { GroupsTable } from './groups-table.tsx';
import { mostRows, useDeadLetterGroups, useDeadLetters, useJobs } from './use-dead-letters.ts';

type Lists = Readonly<Record<DeadLetterStatus, UseQueryResult<DeadLetters>>>;

/** The page WEBHOOK DLQ: what could not be delivered, by row or by group, with RETRY. */
export function DlqPage(): ReactNode {
  const [search, update] = usePageSearch('/dlq', validateDlqSearch);
  const lists: Lists = {
    abandoned: useDeadLetters('abandoned', search),
    pending: useDeadLetters('pending', search),
  };
  const groups = {
    abandoned: useDeadLetterGroups('abandoned', search),
    pending: useDeadLetterGroups('pending', search),
  };
  const jobs = useJobs();
  const delivery = useDelivery(search.delivery);
  const drawer = useDrawerStep(search.delivery, (next, options) =>
    update({ delivery: next }, options),
  );
  const retries = useRetries(
    (id) =>
      findRow(lists, id)?.endpoint_id ??
      (delivery.data?.id === id ? delivery.data.endpoint_id : undefined),
  );
  const rowGroups = useRowGroups(lists, search.status, retries.leaving);
  const keys = useMemo(() => rowGroups.flatMap(({ rows }) => rows.map(keyOf)), [rowGroups]);
  const selection = useSelection(keys);
  const [asked, setAsked] = useState<RetryRequest | null>(null);
  const retryOne = useCallback((id: string) => void retries.retry([id]), [retries.retry]);
  const isGroups = search.view === 'groups';
  const main: UseQueryResult[] = [lists.abandoned, lists.pending];
  if (isGroups) main.push(groups.abandoned, groups.pending);
  const watched: UseQueryResult[] = [...main, jobs.query];
  if (search.delivery !== undefined) watched.push(delivery);
  return (
    <NowProvider>
      <div className={classes.page}>
        <FreshnessBanner queries={watched} isAgeElsewhere />
        <JobsStrip jobs={jobs} />
        <DlqBar
          search={search}
          update={update}
          lists={lists}
          counts={{
            abandoned: countText(lists.abandoned.data, retries.leaving),
            pending: countText(lists.pending.data, retries.leaving),
          }}
          asked={main}
          selected={selection.keys.size}
          onRetrySelected={() => void retries.retry([...selection.keys])}
          onRetryAll={() => setAsked(requestOf(search))}
        />
        {isGroups ? (
          <GroupsTable
            groups={groups}
            status={search.status}
            failure={search.failure}
            onOpen={(change) => update({ ...change, view: undefined })}
            onRetry={setAsked}
          />
        ) : (
          <List
            queries={[lists.abandoned, lists.pending]}
            name="dead-letter queue"
            isEmpty={isEmpty(lists.abandoned) && isEmpty(lists.pending)}
            empty={
              hasFilter(search) ? (
                <Empty title="No dead letter with these filters" onClear={() => update(noFilter)} />
              ) : (
                <Clean at={Math.min(lists.abandoned.dataUpdatedAt, lists.pending.dataUpdatedAt)} />
              )
            }
          >
            <RowsTable
              label="Dead letters"
              columns={dlqColumns}
              groups={rowGroups}
              keyOf={keyOf}
              open={search.delivery}
              place={JSON.stringify({ ...search, delivery: undefined })}
              isWaiting={lists.abandoned.isPlaceholderData || lists.pending.isPlaceholderData}
              onOpen={drawer.open}
              onRetry={retryOne}
              selection={selection}
            />
          </List>
        )}
        {search.delivery !== undefined && (
          <DeliveryDrawer
            id={search.delivery}
            delivery={delivery}
            retries={retries}
            onClose={drawer.close}
          />
        )}
        <RetryAll request={asked} onClose={() => setAsked(null)} />
      </div>
    </NowProvider>
  );
}

function isEmpty({ data }: UseQueryResult<DeadLetters>): boolean {
  return data?.data.length === 0;
}

/** Says that the queue is empty, and when that was last checked. */
function Clean({ at }: { at: number }): ReactNode {
  const [zone] = useZone();
  return (
    <Empty title="DLQ is clean">
      <p>
        Last checked at {formatClock(at, zone)} {zoneName(zone)}.
      </p>
    </Empty>
  );
}

const keyOf = ({ id }: Delivery) => id;

/** The rows by status. Rows whose retry is under way are left out. */
function useRowGroups(
  lists: Lists,
  only: DeadLetterStatus | undefined,
  leaving: ReadonlySet<string>,
): RowGroup<Delivery>[] {
  const { abandoned, pending } = lists;
  return useMemo(() => {
    const data = { abandoned: abandoned.data, pending: pending.data };
    return shownStatuses.flatMap((status) => {
      const list = data[status];
      if (list === undefined || (only !== undefined && only !== status)) return [];
      const rows = list.data.filter(({ id }) => !leaving.has(id));
      if (rows.length === 0) return [];
      const note = list.next_cursor === null ? statusWords[status] : mostText(list);
      return [{ id: status, title: <GroupTitle status={status} note={note} />, rows }];
    });
  }, [abandoned.data, pending.data, only, leaving]);
}

function GroupTitle({ status, note }: { status: DeadLetterStatus; note: string }): ReactNode {
  return (
    <span className={tableClasses.groupTitle}>
      <StatusMark status={status} /> <span>{note}</span>
    </span>
  );
}

function mostText({ data, total }: DeadLetters): string {
  const of = total === null ? '' : ` of ${formatCount(total)}`;
  const count = Math.min(mostRows, data.length);
  return `the ${formatCount(count)} newest${of} are shown: filter, or see them as groups`;
}

/** The number of rows, without those whose retry is under way. With a search text, the number of rows shown. */
function countText(list: DeadLetters | undefined, leaving: ReadonlySet<string>): string {
  if (list === undefined) return '–';
  const gone = list.data.filter(({ id }) => leaving.has(id)).length;
  if (list.total !== null) return formatCount(Math.max(0, list.total - gone));
  const more = list.next_cursor === null ? '' : '+';
  return `${formatCount(list.data.length - gone)}${more}`;
}

function findRow(lists: Lists, id: string): Delivery | undefined {
  const rows = [lists.abandoned, lists.pending].flatMap((list) => list.data?.data ?? []);
  return rows.find((row) => row.id === id);
}

/** The filters of the page as those of a bulk retry. */
function requestOf({ status, tenant, endpoint, failure }: DlqSearch): RetryRequest {
  return {
    ...(status && { status }),
    ...(tenant && { tenant }),
    ...(endpoint && { endpoint_id: endpoint }),
    ...(failure && { failure_class: failure }),
  };
}
