import { Button } from '@mantine/core';
import type { UseQueryResult } from '@tanstack/react-query';
import { type ReactNode, useMemo } from 'react';
import type { DeliveryGroup, Page, RetryRequest } from '../../api/types.ts';
import type { DeadLetterStatus, FailureClass } from '../../api/values.ts';
import { formatCount } from '../../ui/format.ts';
import { Empty, List } from '../../ui/list.tsx';
import { CutText, Moment } from '../../ui/marks.tsx';
import { type Column, RowsTable } from '../../ui/table/rows-table.tsx';
import tableClasses from '../../ui/table/table.module.css';
import { StatusMark, Target } from '../marks.tsx';
import { type DlqSearch, shownStatuses } from '../search.ts';
import { failureWords } from '../words.ts';

type Group = DeliveryGroup & { status: DeadLetterStatus };
type Groups = UseQueryResult<Page<DeliveryGroup>>;

export type GroupsTableProps = {
  groups: Readonly<Record<DeadLetterStatus, Groups>>;
  /** Filter: only groups of this status. */
  status: DeadLetterStatus | undefined;
  /** Filter: only groups of this failure class. */
  failure: FailureClass | undefined;
  onOpen: (rowsOf: Pick<DlqSearch, 'status' | 'endpoint' | 'failure'>) => void;
  onRetry: (request: RetryRequest) => void;
};

/** The dead-letter queue by endpoint and failure class: what is broken, and how many deliveries wait for it. */
export function GroupsTable(props: GroupsTableProps): ReactNode {
  const { abandoned, pending } = props.groups;
  const shown = useMemo(() => {
    const data = { abandoned: abandoned.data, pending: pending.data };
    return shownStatuses
      .filter((status) => props.status === undefined || props.status === status)
      .flatMap((status) => (data[status]?.data ?? []).map((group) => ({ ...group, status })))
      .filter(({ failure_class: of }) => props.failure === undefined || props.failure === of);
  }, [abandoned.data, pending.data, props.status, props.failure]);
  const find = (key: string) => shown.find((group) => keyOf(group) === key);
  return (
    <List
      queries={[abandoned, pending]}
      name="groups"
      rows={8}
      isEmpty={shown.length === 0}
      empty={
        <Empty title="No groups">
          <p>No dead letter is left by the filters.</p>
        </Empty>
      }
    >
      <RowsTable
        label="Groups of dead letters"
        columns={columns}
        groups={[{ id: 'all', rows: shown }]}
        keyOf={keyOf}
        place="groups"
        isWaiting={abandoned.isPlaceholderData || pending.isPlaceholderData}
        onOpen={(key) => {
          const group = find(key);
          if (group === undefined) return;
          const { status, endpoint_id: endpoint, failure_class: failure } = group;
          props.onOpen({ status, endpoint, failure });
        }}
        onRetry={(key) => {
          const group = find(key);
          if (group === undefined) return;
          const { status, endpoint_id, failure_class } = group;
          props.onRetry({ status, endpoint_id, failure_class });
        }}
      />
    </List>
  );
}

const keyOf = (group: Group) => `${group.status} ${group.endpoint_id} ${group.failure_class}`;

const columns: readonly Column<Group>[] = [
  {
    name: 'COUNT',
    className: tableClasses.count,
    cell: ({ count }) => <strong>{formatCount(count)}</strong>,
  },
  {
    name: 'STATUS',
    className: tableClasses.state,
    cell: ({ status }) => <StatusMark status={status} />,
  },
  {
    name: 'FAILURE',
    className: tableClasses.failure,
    cell: ({ failure_class: failure }) => <span title={failure}>{failureWords[failure]}</span>,
  },
  {
    name: 'ENDPOINT',
    className: tableClasses.url,
    cell: ({ target }) => <Target target={target} />,
  },
  {
    name: 'TENANT',
    className: tableClasses.tenant,
    cell: ({ tenant }) => <CutText text={tenant} />,
  },
  {
    name: 'FIRST SEEN',
    className: tableClasses.when,
    cell: ({ first_seen: at }) => <Moment at={at} />,
  },
  {
    name: 'LAST SEEN',
    className: tableClasses.when,
    cell: ({ last_seen: at }) => <Moment at={at} />,
  },
  {
    name: 'NEWEST ERROR',
    className: tableClasses.error,
    cell: ({ error }) => <CutText text={error ?? '–'} />,
  },
  {
    name: 'ACTION',
    className: tableClasses.groupAction,
    cell: (_, tabIndex) => (
      <Button size="compact-xs" data-retry tabIndex={tabIndex}>
        Retry group …
      </Button>
    ),
  },
];
