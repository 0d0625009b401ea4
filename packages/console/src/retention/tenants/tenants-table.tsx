import type { ReactNode } from 'react';
import type { TenantState } from '../../api/types.ts';
import { formatBytes, formatCount } from '../../ui/format.ts';
import { CutText, Moment } from '../../ui/marks.tsx';
import type { Column } from '../../ui/table/column.ts';
import { DataTable } from '../../ui/table/data-table.tsx';
import { HoldMark, MoveMark, ShareBar } from '../marks.tsx';
import classes from '../retention.module.css';

const columns: readonly Column<TenantState>[] = [
  {
    id: 'tenant',
    name: 'TENANT',
    width: 96,
    card: 'title',
    cell: ({ tenant }) => <CutText text={tenant} />,
    value: ({ tenant }) => tenant,
  },
  {
    id: 'hot_days',
    name: 'HOT FOR',
    width: 76,
    isFigure: true,
    card: 'fact',
    cell: ({ policy }) => <PolicyText tenant={policy} text={`${policy.hot_days} d`} />,
    value: ({ policy }) => policy.hot_days,
  },
  {
    id: 'delete_days',
    name: 'DELETED AFTER',
    width: 116,
    isFigure: true,
    rank: 2,
    card: 'fact',
    cell: ({ policy }) => <PolicyText tenant={policy} text={deleteText(policy.delete_days)} />,
    value: ({ policy }) => policy.delete_days,
  },
  {
    id: 'policy',
    name: 'POLICY',
    width: 80,
    rank: 1,
    cell: ({ policy }) =>
      policy.hold ? <HoldMark /> : <PolicyText tenant={policy} text={originOf(policy)} />,
    value: ({ policy }) => (policy.hold ? 'hold' : originOf(policy)),
  },
  {
    id: 'share',
    name: 'HOT | COLD',
    width: 160,
    isMain: true,
    card: 'line',
    cell: (row, tabIndex) => <ShareBar share={row} tabIndex={tabIndex} />,
    value: ({ hot_count }) => hot_count,
  },
  {
    id: 'records',
    name: 'RECORDS',
    width: 96,
    isFigure: true,
    card: 'title',
    cell: ({ count }) => formatCount(count),
    value: ({ count }) => count,
  },
  {
    id: 'cold_stored_bytes',
    name: 'COLD, STORED IN',
    width: 144,
    isFigure: true,
    rank: 3,
    cell: (row) => <Stored row={row} />,
    value: ({ cold_stored_bytes }) => cold_stored_bytes,
  },
  {
    id: 'segments',
    name: 'SEGMENTS',
    width: 88,
    isFigure: true,
    rank: 4,
    cell: ({ segments }) => formatCount(segments),
    value: ({ segments }) => segments,
  },
  {
    id: 'last_move',
    name: 'LAST MOVE',
    width: 156,
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
  },
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

const keyOf = ({ tenant }: TenantState) => tenant;

/** A page of tenants with their policies and the shares of their tiers. */
export function TenantsTable(props: {
  rows: readonly TenantState[];
  /** The tenant that the drawer shows. */
  open: string | undefined;
  place: string;
  isWaiting: boolean;
  onOpen: (tenant: string) => void;
}): ReactNode {
  return (
    <DataTable
      list="tenants"
      label="Tenants"
      columns={columns}
      rows={props.rows}
      keyOf={keyOf}
      open={props.open}
      place={props.place}
      isWaiting={props.isWaiting}
      onOpen={props.onOpen}
    />
  );
}
