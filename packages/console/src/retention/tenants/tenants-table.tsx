import type { ReactNode } from 'react';
import type { TenantState } from '../../api/types.ts';
import { formatBytes, formatCount } from '../../ui/format.ts';
import { Moment } from '../../ui/marks.tsx';
import type { Column } from '../../ui/table/column.ts';
import { columnsOf } from '../../ui/table/columns.tsx';
import { countOf } from '../../ui/words.ts';
import { HoldMark, MoveMark, ShareBar } from '../marks.tsx';
import classes from '../retention.module.css';

const column = columnsOf<TenantState>();

/** The columns of the tenants, with their policies and the shares of their tiers. */
export const tenantColumns: readonly Column<TenantState>[] = [
  column.text('tenant', 'TENANT', 96, { card: 'title' }),
  column.own('hot_days', 'HOT FOR', 76, {
    isFigure: true,
    card: 'fact',
    cell: ({ policy }) => <PolicyText tenant={policy} text={`${policy.hot_days} d`} />,
    value: ({ policy }) => policy.hot_days,
  }),
  column.own('delete_days', 'DELETED AFTER', 116, {
    isFigure: true,
    rank: 2,
    card: 'fact',
    cell: ({ policy }) => <PolicyText tenant={policy} text={deleteText(policy.delete_days)} />,
    value: ({ policy }) => policy.delete_days,
  }),
  column.own('policy', 'POLICY', 80, {
    rank: 1,
    cell: ({ policy }) =>
      policy.hold ? <HoldMark /> : <PolicyText tenant={policy} text={originOf(policy)} />,
    value: ({ policy }) => (policy.hold ? 'hold' : originOf(policy)),
  }),
  column.own('share', 'HOT | COLD', 160, {
    isMain: true,
    card: 'line',
    cell: (row, tabIndex) => <ShareBar share={row} tabIndex={tabIndex} />,
    value: ({ hot_count }) => hot_count,
  }),
  column.own('due', 'DUE NOW', 168, {
    isFigure: true,
    rank: 1,
    card: 'fact',
    cell: ({ due }) =>
      due == null ? (
        <span className="muted">–</span>
      ) : (
        <span title={`${countOf(due.count, 'record')}, from ${due.first_day} on`}>
          {formatBytes(due.bytes)} <span className="muted">from {due.first_day.slice(0, 7)}</span>
        </span>
      ),
    value: ({ due }) => due?.bytes ?? null,
  }),
  column.count('records', 'RECORDS', 96, { card: 'fact', value: ({ count }) => count }),
  column.own('cold_stored_bytes', 'COLD, STORED IN', 144, {
    isFigure: true,
    rank: 3,
    cell: (row) => <Stored row={row} />,
  }),
  column.count('segments', 'SEGMENTS', 88, { rank: 4 }),
  column.own('last_move', 'LAST MOVE', 156, {
    card: 'note',
    cell: ({ last_move: last }) =>
      last === null ? (
        <span className="muted">–</span>
      ) : (
        <span className={`inline-row gap-8 ${classes.last}`} title={last.kind}>
          <MoveMark state={last.state} />
          <span className="muted">
            <Moment at={last.at} />
          </span>
        </span>
      ),
    value: ({ last_move: last }) => last?.at ?? null,
  }),
];

/** After how many days a policy deletes, such as `365 d`; null is `never`. */
export function deleteText(days: number | null): string {
  return days === null ? 'never' : `${formatCount(days)} d`;
}

function originOf({ from_default }: TenantState['policy']): string {
  return from_default ? 'default' : 'own';
}

/** The text of a policy, dimmed when it is only the default. */
function PolicyText(props: { tenant: TenantState['policy']; text: string }): ReactNode {
  return <span className={props.tenant.from_default ? 'muted' : undefined}>{props.text}</span>;
}

function Stored({ row }: { row: TenantState }): ReactNode {
  if (row.cold_count === 0) return <span className="muted">–</span>;
  return (
    <>
      <span className="muted">{formatBytes(row.cold_bytes)} in </span>
      {formatBytes(row.cold_stored_bytes)}
    </>
  );
}
