import type { ReactNode } from 'react';
import type { RetentionMove } from '../api/types.ts';
import { formatBytes, formatCount } from '../ui/format.ts';
import { CutText, Moment } from '../ui/marks.tsx';
import { type Column, RowsTable } from '../ui/table/rows-table.tsx';
import { Stepper } from './marks.tsx';
import classes from './retention.module.css';
import { daysText, kindWords } from './words.ts';

/** How many records a move copies, or deletes. */
function countOfMove({ kind, source, gone }: RetentionMove): number | null {
  if (kind === 'delete' || kind === 'erase') return gone.count;
  return source?.count ?? null;
}

const columns: readonly Column<RetentionMove>[] = [
  {
    name: 'PLANNED',
    className: classes.when,
    cell: ({ planned_at }) => <Moment at={planned_at} />,
  },
  {
    name: 'TENANT',
    className: classes.tenant,
    cell: ({ tenant }) => <CutText text={tenant} />,
  },
  {
    name: 'KIND',
    className: classes.kind,
    cell: ({ kind }) => <span title={kindWords[kind]}>{kind}</span>,
  },
  {
    name: 'DAYS',
    className: classes.dayRange,
    cell: ({ first_day, last_day }) => daysText(first_day, last_day),
  },
  {
    name: 'RECORDS',
    className: classes.count,
    cell: (move) => {
      const count = countOfMove(move);
      return count === null ? <span className={classes.muted}>–</span> : formatCount(count);
    },
  },
  {
    name: 'STORED IN',
    className: classes.storedIn,
    cell: ({ stored_bytes }) =>
      stored_bytes === null ? <span className={classes.muted}>–</span> : formatBytes(stored_bytes),
  },
  {
    name: 'PLANNED → … → REMOVED',
    className: classes.steps,
    cell: (move) => <Stepper move={move} />,
  },
];

const keyOf = ({ id }: RetentionMove) => id;

/** A page of the journal of moves. */
export function JournalTable(props: {
  rows: readonly RetentionMove[];
  /** Id of the move that the drawer shows. */
  open: string | undefined;
  place: string;
  isWaiting: boolean;
  onOpen: (id: string) => void;
}): ReactNode {
  return (
    <RowsTable
      label="Journal of moves"
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
