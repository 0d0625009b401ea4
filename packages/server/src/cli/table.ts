import type { Context } from './context.ts';
import { styled } from './io.ts';

/** One column of a table, as people read it on a terminal and as programs read it from a pipe. */
export type Column<Row> = {
  readonly title: string;
  readonly align?: 'right';
  /**
   * The column may be cut when the terminal is narrow; `leastWidth` says down to how many characters, `isCutInMiddle`
   * that it is cut in its middle.
   */
  readonly isElastic?: boolean;
  readonly leastWidth?: number;
  readonly isCutInMiddle?: boolean;
  /** The column has times, which --local shows in the zone of the machine. */
  readonly isInstant?: boolean;
  /** The column is left out when the terminal is too narrow for the others; those with the lowest number go first. */
  readonly givesWay?: number;
  /** The plain value. For null a pipe gets nothing, and a terminal –. */
  readonly value: (row: Row, nowMillis: number) => string | number | null;
  /** The text for a terminal, where it differs from `value`. */
  readonly shown?: (row: Row, nowMillis: number) => string;
};

type TableWriter<Row> = {
  write(rows: readonly Row[]): Promise<void>;
  /** The titles of the columns that were left out because the terminal is too narrow. */
  hidden(): readonly string[];
};

export type Shape = {
  readonly hasHeader?: boolean | undefined;
  /** Whether columns are aligned in a pipe, too. */
  readonly isTable?: boolean;
  /** Whether all columns are shown as a whole, however narrow the terminal is. */
  readonly isWide?: boolean;
};

const gap = '  ';
const narrowest = 8;

/**
 * Prints a table. On a terminal it has a header and aligned columns. The widths come from the first rows, so that a
 * million rows need no memory; a later row that is wider sticks out. In a pipe it is tab-separated, without a header.
 */
export function createTable<Row>(
  context: Context,
  columns: readonly Column<Row>[],
  { hasHeader = true, isTable = false, isWide = false }: Shape = {},
): TableWriter<Row> {
  const nowMillis = context.io.now();
  if (!context.isTerminal && !isTable) {
    return {
      async write(rows) {
        if (rows.length > 0)
          await context.out.write(rows.map((row) => tabbed(columns, row, nowMillis)).join(''));
      },
      hidden: () => [],
    };
  }
  const isBounded = context.isTerminal && !isWide;
  const available = isBounded ? (context.io.stdout.columns ?? 80) : Number.POSITIVE_INFINITY;
  let layout: Layout<Row> | undefined;
  return {
    async write(rows) {
      if (rows.length === 0) return;
      let text = '';
      if (layout === undefined) {
        layout = layOut(columns, rows, { available, nowMillis });
        const titles = styled(context.io, context.io.stdout, 'dim', titleLine(layout));
        if (hasHeader) text = `${titles}\n`;
      }
      for (const row of rows) text += `${line(layout, row, nowMillis)}\n`;
      await context.out.write(text);
    },
    hidden() {
      const shown = layout?.map(({ column }) => column) ?? columns;
      return columns.filter((column) => !shown.includes(column)).map(({ title }) => title);
    },
  };
}

/** Prints a table on stderr, where it is for people, and so aligned even in a pipe. */
export function noteTable<Row>(
  context: Context,
  columns: readonly Column<Row>[],
  rows: readonly Row[],
): void {
  const available = context.io.stderr.columns ?? 200;
  for (const text of tableLines(context, columns, rows, available)) context.note(text);
}

/** The lines of a table: its titles, and a line for each row. */
export function tableLines<Row>(
  { io }: Context,
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  available = Number.POSITIVE_INFINITY,
): [titles: string, ...lines: string[]] {
  const nowMillis = io.now();
  const layout = layOut(columns, rows, { available, nowMillis });
  return [titleLine(layout), ...rows.map((row) => line(layout, row, nowMillis))];
}

function tabbed<Row>(columns: readonly Column<Row>[], row: Row, nowMillis: number): string {
  const values = columns.map((column) => printable(String(column.value(row, nowMillis) ?? '')));
  return `${values.join('\t')}\n`;
}

/** What a terminal shows of a row in a column. */
export function shownText<Row>(column: Column<Row>, row: Row, nowMillis: number): string {
  return printable(column.shown?.(row, nowMillis) ?? String(column.value(row, nowMillis) ?? '–'));
}

/** The columns that are shown, and their widths. */
type Layout<Row> = readonly { readonly column: Column<Row>; readonly width: number }[];

function titleLine<Row>(layout: Layout<Row>): string {
  return padded(layout, ({ title }) => title);
}

function line<Row>(layout: Layout<Row>, row: Row, nowMillis: number): string {
  return padded(layout, (column, width) => {
    const text = shownText(column, row, nowMillis);
    if (column.isElastic !== true) return text;
    return column.isCutInMiddle ? fitMiddle(text, width) : fitText(text, width);
  });
}

function padded<Row>(
  layout: Layout<Row>,
  cellOf: (column: Column<Row>, width: number) => string,
): string {
  const cells = layout.map(({ column, width }) => {
    const cell = cellOf(column, width);
    const padding = ' '.repeat(Math.max(0, width - displayWidth(cell)));
    return column.align === 'right' ? padding + cell : cell + padding;
  });
  return cells.join(gap).trimEnd();
}

/**
 * Chooses the columns and widths. Each column is as wide as its widest cell. Then columns are left out until the others
 * fit when they are cut, and the widest elastic column is cut until the line fits.
 */
function layOut<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  { available, nowMillis }: { available: number; nowMillis: number },
): Layout<Row> {
  let shown = columns.map((column) => {
    const widths = rows.map((row) => displayWidth(shownText(column, row, nowMillis)));
    const width = widths.reduce((a, b) => Math.max(a, b), displayWidth(column.title));
    const least = column.isElastic ? Math.min(width, column.leastWidth ?? narrowest) : width;
    return { column, width, least };
  });
  const excess = (sizeOf: (cell: (typeof shown)[number]) => number) =>
    shown.reduce((sum, cell) => sum + sizeOf(cell), gap.length * (shown.length - 1)) - available;
  while (excess(({ least }) => least) > 0) {
    const ways = shown.flatMap(({ column }) => column.givesWay ?? []);
    if (ways.length === 0) break;
    const first = Math.min(...ways);
    shown = shown.filter(({ column }) => column.givesWay !== first);
  }
  for (let left = excess(({ width }) => width); left > 0; left -= 1) {
    const elastic = shown.filter(({ width, least }) => width > least);
    const widest = Math.max(...elastic.map(({ width }) => width));
    const cut = elastic.find(({ width }) => width === widest);
    if (cut === undefined) break;
    cut.width -= 1;
  }
  return shown;
}

/** How many columns a text takes on a terminal: wide East Asian characters take two, combining marks none. */
export function displayWidth(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  let width = 0;
  for (const character of text) width += characterWidth(character);
  return width;
}

/** The text in at most `width` columns. If it is longer, its end is replaced by …. */
export function fitText(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  let fitted = '';
  let used = 1;
  for (const character of text) {
    used += characterWidth(character);
    if (used > width) break;
    fitted += character;
  }
  return `${fitted}…`;
}

/** The same with … in the middle. The beginning and the end of a URL tell it from others. */
function fitMiddle(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  const start = fitText(text, Math.ceil((width + 1) / 2));
  const room = width - displayWidth(start);
  let end = '';
  for (const character of [...text].reverse()) {
    if (displayWidth(character + end) > room) break;
    end = character + end;
  }
  return start + end;
}

/**
 * Foreign text without control characters, and without marks that change the direction of writing. The name of a record
 * or an error message must not break a row, send escape sequences to the terminal, or look like another.
 */
export function printable(text: string): string {
  return text
    .replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '')
    .replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, ' ');
}

const wideRanges = [
  [0x1100, 0x115f],
  [0x2e80, 0xa4cf],
  [0xac00, 0xd7a3],
  [0xf900, 0xfaff],
  [0xfe30, 0xfe6f],
  [0xff00, 0xff60],
  [0xffe0, 0xffe6],
  [0x1f300, 0x1faff],
  [0x20000, 0x3fffd],
] as const;

function characterWidth(character: string): number {
  if (/^[\p{Mark}\p{Format}]$/u.test(character)) return 0;
  const code = character.codePointAt(0) ?? 0;
  return wideRanges.some(([first, last]) => code >= first && code <= last) ? 2 : 1;
}
