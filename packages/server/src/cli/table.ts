import type { Context } from './context.ts';
import { styled } from './style.ts';
import { displayWidth, fitText, printable } from './text-width.ts';

/** One column of a table: for a terminal as people read it, for a pipe as programs do. */
export type Column<Row> = {
  readonly title: string;
  readonly align?: 'right';
  /** May be cut when the terminal is narrow. */
  readonly isElastic?: boolean;
  readonly value: (row: Row) => string | number | null;
  /** How a terminal shows it, when not as `value`. */
  readonly shown?: (row: Row) => string;
};

export type TableWriter<Row> = {
  write(rows: readonly Row[]): Promise<void>;
};

const gap = '  ';
const narrowest = 8;

/**
 * On a terminal: a header, aligned columns. The widths come from the first rows, so that a million
 * rows need no memory; a later row that is wider just sticks out. In a pipe: tab-separated, no header.
 */
export function createTable<Row>(
  context: Context,
  columns: readonly Column<Row>[],
): TableWriter<Row> {
  if (!context.isTerminal) {
    return {
      async write(rows) {
        if (rows.length > 0)
          await context.out.write(rows.map((row) => tabbed(columns, row)).join(''));
      },
    };
  }
  let widths: number[] | undefined;
  return {
    async write(rows) {
      if (rows.length === 0) return;
      const cells = rows.map((row) => columns.map((column) => shownText(column, row)));
      let text = '';
      if (widths === undefined) {
        widths = columnWidths(columns, cells, context.io.stdout.columns ?? 80);
        const header = line(
          columns,
          columns.map((column) => column.title),
          widths,
        );
        text = `${styled(context.io, context.io.stdout, 'dim', header)}\n`;
      }
      for (const row of cells) text += `${line(columns, row, widths)}\n`;
      await context.out.write(text);
    },
  };
}

/** A table on stderr, aligned also in a pipe: it is for people. */
export function noteTable<Row>(
  context: Context,
  columns: readonly Column<Row>[],
  rows: readonly Row[],
): void {
  const cells = rows.map((row) => columns.map((column) => shownText(column, row)));
  const widths = columnWidths(columns, cells, context.io.stderr.columns ?? 200);
  context.note(
    line(
      columns,
      columns.map((column) => column.title),
      widths,
    ),
  );
  for (const row of cells) context.note(line(columns, row, widths));
}

function tabbed<Row>(columns: readonly Column<Row>[], row: Row): string {
  const values = columns.map((column) => printable(String(column.value(row) ?? '')));
  return `${values.join('\t')}\n`;
}

function shownText<Row>(column: Column<Row>, row: Row): string {
  return printable(column.shown?.(row) ?? String(column.value(row) ?? '–'));
}

function line<Row>(
  columns: readonly Column<Row>[],
  cells: readonly string[],
  widths: readonly number[],
): string {
  const padded = columns.map((column, i) => {
    const cell = column.isElastic ? fitText(cells[i] ?? '', widths[i] ?? 0) : (cells[i] ?? '');
    const padding = ' '.repeat(Math.max(0, (widths[i] ?? 0) - displayWidth(cell)));
    return column.align === 'right' ? padding + cell : cell + padding;
  });
  return padded.join(gap).trimEnd();
}

/** The widest cell of each column; then the widest elastic column gives way until the line fits. */
function columnWidths<Row>(
  columns: readonly Column<Row>[],
  cells: readonly (readonly string[])[],
  available: number,
): number[] {
  const widths = columns.map((column, i) =>
    cells.reduce(
      (widest, row) => Math.max(widest, displayWidth(row[i] ?? '')),
      displayWidth(column.title),
    ),
  );
  let excess =
    widths.reduce((sum, width) => sum + width, gap.length * (columns.length - 1)) - available;
  while (excess > 0) {
    const widest = columns.reduce<number>(
      (best, column, i) =>
        column.isElastic && (widths[i] ?? 0) > (best < 0 ? narrowest : (widths[best] ?? 0))
          ? i
          : best,
      -1,
    );
    if (widest < 0) break;
    widths[widest] = (widths[widest] ?? 0) - 1;
    excess -= 1;
  }
  return widths;
}
