import type { RetentionMove } from '../api/types.ts';
import type { Column } from '../ui/table/column.ts';
import { columnsOf } from '../ui/table/columns.tsx';
import { Stepper } from './marks.tsx';
import { daysText, kindWords } from './words.ts';

/** How many records a move copies, or deletes. */
function countOfMove({ kind, source, gone }: RetentionMove): number | null {
  if (kind === 'delete' || kind === 'erase') return gone.count;
  return source?.count ?? null;
}

const column = columnsOf<RetentionMove>();

/** The columns of the journal of moves. */
export const moveColumns: readonly Column<RetentionMove>[] = [
  column.moment('planned_at', 'PLANNED', 96, { rank: 2, card: 'note' }),
  column.text('tenant', 'TENANT', 104, { card: 'title' }),
  column.own('kind', 'KIND', 88, {
    card: 'title',
    cell: ({ kind }) => <span title={kindWords[kind]}>{kind}</span>,
  }),
  column.own('days', 'DAYS', 176, {
    card: 'title',
    value: ({ first_day, last_day }) => daysText(first_day, last_day),
  }),
  column.count('records', 'RECORDS', 96, { card: 'fact', value: countOfMove }),
  column.bytes('stored_bytes', 'STORED IN', 88, { rank: 1, card: 'fact' }),
  column.own('state', 'STEPS', 176, {
    isMain: true,
    card: 'line',
    cell: (move) => <Stepper move={move} />,
  }),
];
