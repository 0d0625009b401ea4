import type { ReactNode } from 'react';
import type { TenantState } from '../../api/types.ts';
import { formatBytes, formatCount } from '../../ui/format.ts';
import { CutText, Moment } from '../../ui/marks.tsx';
import { type Column, RowsTable } from '../../ui/table/rows-table.tsx';
import { HoldMark, MoveMark, ShareBar } from '../marks.tsx';
import classes from '../retention.module.css';

const columns: readonly Column<TenantState>[] = [
  {
    name: 'TENANT',
    className: classes.tenant,
    cell: ({ tenant }) => <CutText text={tenant} />,
  },
  {
    name: 'HOT FOR',
    className: classes.hotFor,
    cell: ({ policy }) => <PolicyText tenant={policy} text={`${policy.hot_days} d`} />,
  },
  {
    name: 'DELETED AFTER',
    className: classes.deleted,
    cell: ({ policy }) => <PolicyText tenant={policy} text={deleteText(policy.delete_days)} />,
  },
  {
    name: 'POLICY',
    className: classes.policy,
    cell: ({ policy }) =>
      policy.hold ? <HoldMark /> : <PolicyText tenant={policy} text={originOf(policy)} />,
  },
  {
    name: 'HOT | COLD',
    cell: (row, tabIndex) => <ShareBar share={row} tabIndex={tabIndex} />,
  },
  { name: 'RECORDS', className: classes.count, cell: ({ count }) => formatCount(count) },
  {
    name: 'COLD, STORED IN',
    className: classes.stored,
    cell: (row) => <Stored row={row} />,
  },
  {
    name: 'SEGMENTS',
    className: classes.segments,
    cell: ({ segments }) => formatCount(segments),
  },
  {
    name: 'LAST MOVE',
    className: classes.lastMove,
    cell: ({ last_move: last }) =>
      last === null ? (
        <span className={classes.muted}>–</span>
      ) : (
        <span className={classes.last} title={last.kind}>
          <MoveMark state={last.state} />
          <span className={classes.muted}>
            <Moment at={last.at} />
          </span>
        </span>
      ),
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
  return (
    <span className={props.tenant.from_default ? classes.muted : undefined}>{props.text}</span>
  );
}

function Stored({ row }: { row: TenantState }): ReactNode {
  if (row.cold_count === 0) return <span className={classes.muted}>–</span>;
  return (
    <>
      <span className={classes.muted}>{formatBytes(row.cold_bytes)} in </span>
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
    <RowsTable
      label="Tenants"
      columns={columns}
      groups={[{ id: 'all', rows: props.rows }]}
      keyOf={keyOf}
      className={classes.table}
      open={props.open}
      place={props.place}
      isWaiting={props.isWaiting}
      onOpen={props.onOpen}
    />
  );
}
