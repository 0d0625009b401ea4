import type { UseQueryResult } from '@tanstack/react-query';
import { type ReactNode, useMemo } from 'react';
import type { DeliveryGroup, Page } from '../../api/types.ts';
import { type DeadLetterStatus, failureWords } from '../../api/values.ts';
import { HoursChart, hoursText, Target } from '../../ui/endpoint.tsx';
import { formatCount } from '../../ui/format.ts';
import { Empty } from '../../ui/list.tsx';
import { LiveButton } from '../../ui/live-button.tsx';
import type { Column } from '../../ui/table/column.ts';
import { columnsOf } from '../../ui/table/columns.tsx';
import { List } from '../../ui/table/list.tsx';
import { StatusMark } from '../marks.tsx';
import { type DlqSearch, statusesShown } from '../search.ts';

type Group = DeliveryGroup & { status: DeadLetterStatus };

/** What names a group of dead letters. */
export type DeadLetterGroup = Pick<Group, 'status' | 'endpoint_id' | 'failure_class'>;

type Groups = UseQueryResult<Page<DeliveryGroup>>;

type GroupsTableProps = {
  groups: Readonly<Record<DeadLetterStatus, Groups>>;
  /** Filter: only groups of this status. */
  status: string | undefined;
  /** Filter: only groups of this failure class. */
  failure: string | undefined;
  onOpen: (rowsOf: Pick<DlqSearch, 'status' | 'endpoint' | 'failure'>) => void;
  onRetry: (group: DeadLetterGroup) => void;
  onPurge: (group: DeadLetterGroup) => void;
};

/** The dead-letter queue by endpoint and failure class: what is broken, and how many deliveries wait for it. */
export function GroupsTable(props: GroupsTableProps): ReactNode {
  const { abandoned, pending } = props.groups;
  const shown = useMemo(() => {
    const data = { abandoned: abandoned.data, pending: pending.data };
    return statusesShown(props.status)
      .flatMap((status) => (data[status]?.data ?? []).map((group) => ({ ...group, status })))
      .filter(({ failure_class: of }) => props.failure === undefined || props.failure === of);
  }, [abandoned.data, pending.data, props.status, props.failure]);
  const find = (key: string) => shown.find((group) => keyOf(group) === key);
  const ask = (key: string, of: (group: DeadLetterGroup) => void) => {
    const group = find(key);
    if (group === undefined) return;
    const { status, endpoint_id, failure_class } = group;
    of({ status, endpoint_id, failure_class });
  };
  return (
    <List
      queries={[abandoned, pending]}
      name="groups"
      placeholders={8}
      empty={
        <Empty title="No groups">
          <p>No dead letter is left by the filters.</p>
        </Empty>
      }
      list="dead-letter-groups"
      label="Groups of dead letters"
      columns={columns}
      rows={shown}
      keyOf={keyOf}
      place="groups"
      onOpen={(key) => {
        const group = find(key);
        if (group === undefined) return;
        const { status, endpoint_id: endpoint, failure_class: failure } = group;
        props.onOpen({ status, endpoint, failure });
      }}
      onRetry={(key) => ask(key, props.onRetry)}
      onPurge={(key) => ask(key, props.onPurge)}
    />
  );
}

const keyOf = (group: Group) => `${group.status} ${group.endpoint_id} ${group.failure_class}`;

const column = columnsOf<Group>();

const columns: readonly Column<Group>[] = [
  column.own('count', 'COUNT', 68, {
    isFigure: true,
    card: 'title',
    cell: ({ count }) => <strong>{formatCount(count)}</strong>,
  }),
  column.own('status', 'STATUS', 112, {
    card: 'note',
    cell: ({ status }) => <StatusMark status={status} />,
  }),
  column.own('failure_class', 'FAILURE', 156, {
    card: 'title',
    cell: ({ failure_class: failure }) => <span title={failure}>{failureWords[failure]}</span>,
  }),
  column.own('target', 'ENDPOINT', 150, {
    isMain: true,
    isText: true,
    card: 'line',
    cell: ({ target }) => <Target target={target} />,
  }),
  column.own('hours', '24 H', 116, {
    rank: 2,
    card: 'fact',
    cell: ({ hours }) => <HoursChart hours={hours} />,
    value: ({ hours }) => (hours === undefined ? null : hoursText(hours)),
  }),
  column.text('tenant', 'TENANT', 72, { card: 'line' }),
  column.moment('first_seen', 'FIRST SEEN', 92, { rank: 2 }),
  column.moment('last_seen', 'LAST SEEN', 92, { card: 'note' }),
  column.sentence('error', 'NEWEST ERROR', 172, { rank: 1, card: 'note' }),
  column.action(212, (_, tabIndex) => (
    <>
      <LiveButton size="compact-xs" data-retry tabIndex={tabIndex}>
        Retry group…
      </LiveButton>
      <LiveButton size="compact-xs" className="danger" data-purge tabIndex={tabIndex}>
        Purge…
      </LiveButton>
    </>
  )),
];
