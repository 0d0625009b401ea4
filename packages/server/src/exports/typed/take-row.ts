import { numberWarning } from '../../records/index.ts';
import { type Cell, dialects, lineOf } from '../encode/csv-cells.ts';
import type { RowCounts } from '../jobs.contract.ts';
import type { ExportColumn, FieldColumn } from '../values.ts';
import { RowCounter } from './row-counter.ts';
import { createTaker } from './take-apart.ts';

/**
 * Encodes cells anew for typed Parquet: a cell with the fields that fit and one with the rest take the
 * place of the enrichment. The rest is the part of the record that no column holds. A record whose rest is merged into
 * its columns is the record again.
 */
export function createRowTaker(
  columns: readonly ExportColumn[],
  fields: readonly FieldColumn[],
): { encodeRow: (cells: readonly Cell[]) => string; misfits: () => RowCounts } {
  const misfits = new RowCounter();
  const take = createTaker(fields, (field) => misfits.add(field));
  const [confidenceAt, enrichmentAt] = [
    columns.indexOf('confidence'),
    columns.indexOf('enrichment'),
  ];
  return {
    encodeRow(cells) {
      const { fitting, rest, isOdd } = take(cells[enrichmentAt]?.text ?? '{}');
      const members = rest === null ? [] : [`"enrichment":${rest}`];
      const written = cells.slice();
      const confidence = cells[confidenceAt]?.text;
      const hasOddConfidence = confidence !== undefined && numberWarning(confidence) !== null;
      if (hasOddConfidence) {
        members.push(`"confidence":${confidence}`);
        written[confidenceAt] = null;
      }
      misfits.addRow(isOdd || hasOddConfidence, members.length > 0);
      const restCell =
        members.length === 0 ? null : { text: `{${members.join(',')}}`, isText: true };
      written.splice(enrichmentAt, 1, { text: fitting, isText: true }, restCell);
      return lineOf(written, dialects.cells);
    },
    misfits: () => misfits.counts(),
  };
}

/** What the layout of a part tells of it. */
export function misfitsOf(layout: unknown): RowCounts {
  return (layout as { misfits: RowCounts }).misfits;
}
