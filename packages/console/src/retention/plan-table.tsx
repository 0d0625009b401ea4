import type { ReactNode } from 'react';
import type { PlanRow } from '../api/types.ts';
import { formatBytes, formatCount } from '../ui/format.ts';
import { CutText } from '../ui/marks.tsx';
import type { Column } from '../ui/table/column.ts';
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

const planColumns: readonly Column<PlanRow>[] = [
  {
    id: 'tenant',
    name: 'TENANT',
    width: 72,
    card: 'title',
    cell: ({ tenant }) => <CutText text={tenant} />,
    value: ({ tenant }) => tenant,
  },
  {
    id: 'kind',
    name: 'WHAT',
    width: 96,
    isMain: true,
    card: 'title',
    cell: (row) => <What row={row} />,
    value: ({ kind, held }) => (held ? `${kind}, held` : kind),
  },
  {
    id: 'days',
    name: 'DAYS',
    width: 176,
    card: 'line',
    cell: ({ first_day, last_day }) => daysText(first_day, last_day),
    value: ({ first_day, last_day }) => daysText(first_day, last_day),
  },
  {
    id: 'records',
    name: 'RECORDS',
    width: 80,
    isFigure: true,
    card: 'fact',
    cell: ({ count }) => formatCount(count),
    value: ({ count }) => count,
  },
  {
    id: 'bytes',
    name: 'BYTES',
    width: 80,
    isFigure: true,
    rank: 1,
    card: 'note',
    cell: ({ bytes }) => formatBytes(bytes),
    value: ({ bytes }) => bytes,
  },
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
