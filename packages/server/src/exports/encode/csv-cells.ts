import { quotedCell, spreadsheetCell } from '../../kernel/spreadsheet-cell.ts';
import type { Profile } from '../values.ts';

/** How a profile writes cells and rows, within RFC 4180. */
type Dialect = {
  /** What comes before everything else: a byte order mark, or nothing. */
  readonly start: string;
  readonly lineEnd: string;
  readonly encode: (cell: Cell) => string;
};

/**
 * What quotes the texts of rows on their way through this process. Hardly any text holds it, where each JSON holds many
 * quotes: to double these, and to halve them, was two fifths of what re-encoding a row took.
 */
export const cellQuote = '\u0003';

/** The dialects of both profiles, and that of rows on their way. */
export const dialects = {
  machine: { start: '', lineEnd: '\n', encode: encodeMachine },
  spreadsheet: { start: '\ufeff', lineEnd: '\r\n', encode: encodeSpreadsheet },
  cells: { start: '', lineEnd: '\n', encode: encodeCell },
} as const satisfies Record<Profile | 'cells', Dialect>;

/** A row as a dialect writes it, with its end. */
export function lineOf(cells: readonly Cell[], { encode, lineEnd }: Dialect): string {
  return cells.map(encode).join(',') + lineEnd;
}

/** Text is always quoted, numbers and times never, and NULL is nothing at all, so that NULL and "" differ. */
function encodeMachine(cell: Cell): string {
  if (cell === null) return '';
  return cell.isText ? quotedCell(cell.text) : cell.text;
}

function encodeCell(cell: Cell): string {
  if (cell === null) return '';
  const { text, isText } = cell;
  if (!isText) return text;
  const inner = text.includes(cellQuote) ? text.replaceAll(cellQuote, cellQuote + cellQuote) : text;
  return cellQuote + inner + cellQuote;
}

function encodeSpreadsheet(cell: Cell): string {
  return cell === null ? '' : spreadsheetCell(cell.text);
}

/** A cell of a row. null is NULL; `isText` says that the cell was quoted. */
export type Cell = { text: string; isText: boolean } | null;

const comma = 0x2c;
const lineFeed = 0x0a;

/** Reads rows on their way (LF, text always quoted, NULL is nothing), in pieces that may end anywhere. */
export class CellReader {
  #rest = '';

  /** Yields the rows that are whole after this piece. */
  *read(piece: string): Generator<Cell[]> {
    const text = this.#rest + piece;
    let start = 0;
    for (let end = rowEnd(text, start); end >= 0; end = rowEnd(text, start)) {
      yield readRow(text, start, end);
      start = end + 1;
    }
    this.#rest = text.slice(start);
  }
}

/** The position of the line feed that ends the row which begins at `start`; -1 when the row is not whole yet. */
export function rowEnd(text: string, start: number, quote: string = cellQuote): number {
  let from = start;
  for (;;) {
    const end = text.indexOf('\n', from);
    if (end < 0) return -1;
    const open = text.indexOf(quote, from);
    if (open < 0 || open > end) return end;
    const close = closingQuote(text, open, quote);
    if (close < 0) return -1;
    from = close + 1;
  }
}

/** The position of the quote that closes the cell which opens at `open`; -1 when the cell is not whole yet. */
export function closingQuote(text: string, open: number, quote: string = cellQuote): number {
  const code = quote.charCodeAt(0);
  let at = text.indexOf(quote, open + 1);
  while (at >= 0 && text.charCodeAt(at + 1) === code) at = text.indexOf(quote, at + 2);
  return at;
}

/** Cuts a whole row into cells. `end` is the position of its line feed. */
function readRow(text: string, start: number, end: number): Cell[] {
  const cells: Cell[] = [];
  const code = cellQuote.charCodeAt(0);
  let at = start;
  for (;;) {
    if (text.charCodeAt(at) === code) {
      const close = closingQuote(text, at);
      const raw = text.slice(at + 1, close);
      const own = raw.includes(cellQuote) ? raw.replaceAll(cellQuote + cellQuote, cellQuote) : raw;
      cells.push({ text: own, isText: true });
      at = close + 1;
    } else {
      const next = bareEnd(text, at, end);
      cells.push(next === at ? null : { text: text.slice(at, next), isText: false });
      at = next;
    }
    if (at >= end || text.charCodeAt(at) === lineFeed) return cells;
    if (text.charCodeAt(at) === comma) at += 1;
  }
}

function bareEnd(text: string, start: number, end: number): number {
  const next = text.indexOf(',', start);
  return next < 0 || next > end ? end : next;
}
