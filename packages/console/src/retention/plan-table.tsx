import type { ReactNode } from 'react';
import type { PlanRow } from '../api/types.ts';
import { formatCount } from '../ui/format.ts';
import type { Column } from '../ui/table/column.ts';
import { columnsOf } from '../ui/table/columns.tsx';
import { DataTable } from '../ui/table/data-table.tsx';
import { HoldMark } from './marks.tsx';
import classes from './plan.module.css';
import { daysText } from './words.ts';

/** What a run would do, with a row for each tenant. */
export function PlanTable(props: {
  rows: readonly PlanRow[];
  isWaiting?: boolean;
  hasTenant?: boolean;
}): ReactNode {
  const { rows, isWaiting = false, hasTenant = false } = props;
  return (
    <div className={classes.plan}>
      <DataTable
        list="plan"
        label="The plan, line by line"
        columns={hasTenant ? planColumns : planOfTenant}
        rows={rows}
        keyOf={keyOfRow}
        place="plan"
        isWaiting={isWaiting}
      />
    </div>
  );
}

const keyOfRow = ({ tenant, kind, first_day }: PlanRow) => `${tenant} ${kind} ${first_day}`;

const column = columnsOf<PlanRow>();

const planColumns: readonly Column<PlanRow>[] = [
  column.text('tenant', 'TENANT', 72, { card: 'title' }),
  column.own('kind', 'WHAT', 96, {
    isMain: true,
    card: 'title',
    cell: (row) => <What row={row} />,
    value: ({ kind, held }) => (held ? `${kind}, held` : kind),
  }),
  column.own('days', 'DAYS', 176, {
    card: 'line',
    value: ({ first_day, last_day }) => daysText(first_day, last_day),
  }),
  column.count('records', 'RECORDS', 80, { card: 'fact', value: ({ count }) => count }),
  column.bytes('bytes', 'BYTES', 80, { rank: 1, card: 'note' }),
];
const planOfTenant = planColumns.slice(1);

/** What is done with the days: whether a hold keeps them, and what dataset versions keep. */
function What({ row }: { row: PlanRow }): ReactNode {
  const { kind, held, versions, versioned_count: kept } = row;
  return (
    <span className={kind === 'delete' && !held ? 'danger' : undefined}>
      {kind} {held && <HoldMark />}
      {kept > 0 && (
        <span className={classes.kept} title={versions.join(', ')}>
          {formatCount(kept)} more are kept by{' '}
          {versions.length === 1 ? `the version ${versions[0] ?? ''}` : 'dataset versions'}
        </span>
      )}
    </span>
  );
}
