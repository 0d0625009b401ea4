import type { IngestAnswer } from '../../contract.ts';
import { formatCount } from '../../kernel/values.ts';
import { columnsOf } from '../columns.ts';
import type { Context } from '../context.ts';
import { noteTable } from '../table.ts';

/** A row that was rejected, by its number in its file, from 1. */
type RejectedRow = { file: string; row: number; code: string; message: string };

/** What became of the rows of all files. */
export type Totals = {
  files: number;
  rows: number;
  accepted: number;
  duplicates: number;
  rejected_count: number;
  /** The first ones of them. */
  rejected: RejectedRow[];
};

const mostListed = 1000;

/** Adds what became of the rows of a file from `firstRow` on, which counts from 0. */
export function addAnswer(
  totals: Totals,
  answer: IngestAnswer,
  { file, firstRow }: { file: string; firstRow: number },
): void {
  totals.accepted += answer.accepted;
  totals.duplicates += answer.duplicates;
  totals.rejected_count += answer.rejected_count;
  const room = mostListed - totals.rejected.length;
  for (const { index, code, message } of answer.rejected.slice(0, room)) {
    totals.rejected.push({ file, row: firstRow + index + 1, code, message });
  }
}

const { count } = columnsOf<Totals>();
export const totalColumns = [
  count('FILES', 'files'),
  count('ROWS', 'rows'),
  count('NEW', 'accepted'),
  count('KNOWN', 'duplicates'),
  count('REJECTED', 'rejected_count'),
];

type Reason = { code: string; rows: number; first: string; message: string };
const reason = columnsOf<Reason>();
const reasonColumns = [
  reason.word('CODE', 'code'),
  reason.count('ROWS', 'rows'),
  reason.text('FIRST', 'first'),
  reason.text('MESSAGE OF THE FIRST', 'message'),
];

/** Says by code which rows were rejected, and where the first one of them is. */
export function noteRejects(context: Context, { rejected, rejected_count: total }: Totals): void {
  if (total === 0) return;
  const reasons = new Map<string, Reason>();
  for (const { file, row, code, message } of rejected) {
    const known = reasons.get(code) ?? { code, rows: 0, first: `${file}:${row}`, message };
    known.rows += 1;
    reasons.set(code, known);
  }
  noteTable(context, reasonColumns, [...reasons.values()]);
  const unlisted = total - rejected.length;
  if (unlisted > 0) context.note(`… and ${formatCount(unlisted)} rows more`);
}
