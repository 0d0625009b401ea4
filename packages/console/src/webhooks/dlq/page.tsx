import type { UseQueryResult } from '@tanstack/react-query';
import { type ReactNode, useCallback, useMemo } from 'react';
import type { DeadLetters, Delivery } from '../../api/types.ts';
import {
  type BulkAction,
  bulkActions,
  type DeadLetterStatus,
  type DeliveryStatus,
} from '../../api/values.ts';
import { formatClock, formatCount } from '../../ui/format.ts';
import { hasFilter, noneOf } from '../../ui/hash-state.ts';
import { Empty } from '../../ui/list.tsx';
import { ListPage } from '../../ui/list-page.tsx';
import { PollNote } from '../../ui/poll.tsx';
import { idOf } from '../../ui/table/column.ts';
import { List } from '../../ui/table/list.tsx';
import { useSelection } from '../../ui/table/use-selection.ts';
import { usePageSearch } from '../../ui/use-search.ts';
import { useZone, zoneName } from '../../ui/zone-switch.tsx';
import { dlqColumns } from '../delivery-columns.tsx';
import { DeliveryDrawer } from '../delivery-drawer.tsx';
import { StatusMark, statusWords } from '../marks.tsx';
import {
  type DlqSearch,
  dlqFields,
  dlqPanels,
  statusesShown,
  validateDlqSearch,
} from '../search.ts';
import { useRetries } from '../use-delivery.ts';
import { type Asked, BulkDialog, JobsStrip } from './bulk-jobs.tsx';
import { groupText, requestOf } from './bulk-request.ts';
import { DlqBar } from './dlq-bar.tsx';
import { GroupsTable } from './groups-table.tsx';
import { mostRows, useDeadLetterGroups, useDeadLetters } from './use-dead-letters.ts';

type Lists = Readonly<Record<DeadLetterStatus, UseQueryResult<DeadLetters>>>;

/** The page WEBHOOK DLQ: what could not be delivered, by row or by group, with RETRY. */
export function DlqPage(): ReactNode {
  const [search, update, panel] = usePageSearch('/dlq', validateDlqSearch, dlqPanels);
  const lists: Lists = {
    abandoned: useDeadLetters('abandoned', search),
    pending: useDeadLetters('pending', search),
  };
  const groups = {
    abandoned: useDeadLetterGroups('abandoned', search),
    pending: useDeadLetterGroups('pending', search),
  };
  const open = panel.idOf('delivery');
  const retries = useRetries();
  const rows = useRows(lists, search.status, retries.leaving);
  const keys = useMemo(() => rows.map(idOf), [rows]);
  const selection = useSelection(keys, retries.leaving);
  const retryOne = useCallback((id: string) => void retries.retry([id]), [retries.retry]);
  const isGroups = search.view === 'groups';
  const statuses = statusesShown(search.status);
  const main: UseQueryResult[] = [lists.abandoned, lists.pending];
  if (isGroups) main.push(groups.abandoned, groups.pending);
  return (
    <ListPage>
      <JobsStrip />
      <DlqBar
        search={search}
        update={update}
        lists={lists}
        counts={{
          abandoned: countText(lists.abandoned.data, retries.leaving),
          pending: countText(lists.pending.data, retries.leaving),
        }}
        note={<PollNote queries={main} />}
        selected={selection.keys.size}
        onRetrySelected={() => void retries.retry([...selection.keys])}
        onRetryAll={() => panel.open('retry')}
        onPurgeAll={() => panel.open('purge')}
      />
      {isGroups ? (
        <GroupsTable
          groups={groups}
          status={search.status}
          failure={search.failure}
          onOpen={(change) => update({ ...change, view: undefined })}
          onRetry={(group) => panel.open('retry', groupText(group))}
          onPurge={(group) => panel.open('purge', groupText(group))}
        />
      ) : (
        <List
          queries={[lists.abandoned, lists.pending]}
          name="dead-letter queue"
          isEmpty={statuses.every((status) => isEmpty(lists[status]))}
          empty={
            hasFilter(search, dlqFields) ? (
              <Empty
                title={
                  statuses.length === 0
                    ? `No dead letter has a status “${search.status}”`
                    : 'No dead letter with these filters'
                }
                onClear={() => update(noneOf(dlqFields))}
              />
            ) : (
              <Clean at={Math.min(lists.abandoned.dataUpdatedAt, lists.pending.dataUpdatedAt)} />
            )
          }
          list="dead-letters"
          label="Dead letters"
          columns={dlqColumns}
          rows={rows}
          groups={{
            of: ({ status }) => status,
            title: ({ status }) => <GroupTitle status={status} lists={lists} />,
          }}
          keyOf={idOf}
          open={open}
          place={JSON.stringify({ ...search, panel: undefined })}
          onOpen={(id) => panel.open('delivery', id)}
          onRetry={retryOne}
          selection={selection}
        />
      )}
      {open !== undefined && <DeliveryDrawer id={open} retries={retries} onClose={panel.close} />}
      <BulkDialog asked={askedOf(search, panel)} onClose={panel.close} />
    </ListPage>
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

/** The rows, those that are abandoned first. Rows whose retry is under way are left out. */
function useRows(lists: Lists, only: string | undefined, leaving: ReadonlySet<string>): Delivery[] {
  const { abandoned, pending } = lists;
  return useMemo(() => {
    const data = { abandoned: abandoned.data, pending: pending.data };
    return statusesShown(only)
      .flatMap((status) => data[status]?.data ?? [])
      .filter(({ id }) => !leaving.has(id));
  }, [abandoned.data, pending.data, only, leaving]);
}

/** Stands above the rows of a status: what it means, or that not all of them are shown. */
function GroupTitle({ status, lists }: { status: DeliveryStatus; lists: Lists }): ReactNode {
  const list = lists[status === 'pending' ? 'pending' : 'abandoned'].data;
  const isWhole = list === undefined || list.next_cursor === null;
  return (
    <>
      <StatusMark status={status} /> <span>{isWhole ? statusWords[status] : mostText(list)}</span>
    </>
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

/** The bulk job that the panel asks about: of a group, or of all that the filters find; null for none. */
function askedOf(
  search: DlqSearch,
  panel: { idOf(kind: BulkAction): string | undefined },
): Asked | null {
  for (const action of bulkActions) {
    const id = panel.idOf(action);
    if (id !== undefined) return { action, request: requestOf(search, id) };
  }
  return null;
}
