import type { ReactNode } from 'react';
import type { RetentionMove } from '../api/types.ts';
import { formatBytes, formatCount } from '../ui/format.ts';
import { CutText, Moment } from '../ui/marks.tsx';
import type { Column } from '../ui/table/column.ts';
import { DataTable } from '../ui/table/data-table.tsx';
import { Stepper } from './marks.tsx';
import { daysText, kindWords } from './words.ts';

/** How many records a move copies, or deletes. */
function countOfMove({ kind, source, gone }: RetentionMove): number | null {
  if (kind === 'delete' || kind === 'erase') return gone.count;
  return source?.count ?? null;
}

const columns: readonly Column<RetentionMove>[] = [
  {
    id: 'planned_at',
    name: 'PLANNED',
    width: 96,
    rank: 2,
    card: 'note',
    cell: ({ planned_at }) => <Moment at={planned_at} />,
    value: ({ planned_at }) => planned_at,
  },
  {
    id: 'tenant',
    name: 'TENANT',
    width: 104,
    card: 'title',
    cell: ({ tenant }) => <CutText text={tenant} />,
    value: ({ tenant }) => tenant,
  },
  {
    id: 'kind',
    name: 'KIND',
    width: 88,
    card: 'title',
    cell: ({ kind }) => <span title={kindWords[kind]}>{kind}</span>,
    value: ({ kind }) => kind,
  },
  {
    id: 'days',
    name: 'DAYS',
    width: 176,
    card: 'title',
    cell: ({ first_day, last_day }) => daysText(first_day, last_day),
    value: ({ first_day, last_day }) => daysText(first_day, last_day),
  },
  {
    id: 'records',
    name: 'RECORDS',
    width: 96,
    isFigure: true,
    card: 'fact',
    cell: (move) => {
      const count = countOfMove(move);
      return count === null ? <span className="muted">–</span> : formatCount(count);
    },
    value: countOfMove,
  },
  {
    id: 'stored_bytes',
    name: 'STORED IN',
    width: 88,
    isFigure: true,
    rank: 1,
    card: 'fact',
    cell: ({ stored_bytes }) =>
      stored_bytes === null ? <span className="muted">–</span> : formatBytes(stored_bytes),
    value: ({ stored_bytes }) => stored_bytes,
  },
  {
    id: 'state',
    name: 'STEPS',
    width: 176,
    isMain: true,
    card: 'line',
    cell: (move) => <Stepper move={move} />,
    value: ({ state }) => state,
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
    <DataTable
      list="moves"
      label="Journal of moves"
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
