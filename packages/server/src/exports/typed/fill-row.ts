import { AppError } from '../../kernel/errors.ts';
import type { Cell } from '../encode/csv-cells.ts';
import type { RowCounts } from '../jobs.contract.ts';
import type { ExportColumn, LineTemplate } from '../values.ts';
import { RowCounter } from './row-counter.ts';
import { readTemplate } from './template.ts';

const keyColumns = ['store', 'occurred_at', 'event_id'] as const;

/** The columns that a template needs of a record, after those by which an error names it. */
export function fillerColumns(source: readonly ExportColumn[]): ExportColumn[] {
  return [...new Set([...source, ...keyColumns])];
}

/** Makes lines by a template. A record without a value is skipped and counted, or refused: 409 `template_unfilled`. */
export function createFiller({ lines, missing }: LineTemplate): {
  encodeRow: (cells: readonly Cell[]) => string;
  skipped: () => RowCounts;
} {
  const { source, fill } = readTemplate(lines);
  const columns = fillerColumns(source);
  const skipped = new RowCounter();
  return {
    encodeRow(cells) {
      const filled = fill(cells);
      if ('line' in filled) return `${filled.line}\n`;
      if (missing === 'refuse') {
        const key = keyColumns.map((name) => cells[columns.indexOf(name)]?.text ?? '');
        throw new AppError('template_unfilled', {
          isOfTenant: true,
          detail: `The record ${key.join(' ')} has no value for {{${filled.missing}}}. Choose other records, as by a where, or skip those without it: missing=skip.`,
        });
      }
      skipped.rows += 1;
      skipped.add(filled.missing);
      return '';
    },
    skipped: () => skipped.counts(),
  };
}

/** The rows of a part in the file: those that a template skips have none. */
export function linesOf({ rows, layout }: { rows: number; layout: unknown }): number {
  return rows - skippedOf(layout).rows;
}

/** How many rows of a part have no line, and of which reference they lack a value. */
export function skippedOf(layout: unknown): RowCounts {
  const { skipped } = (layout ?? {}) as { skipped?: RowCounts };
  return skipped ?? { rows: 0, fields: {} };
}
