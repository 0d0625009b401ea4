import type { Profile } from '../contract.ts';
import type { Cell } from './machine-csv.ts';

/** How a profile writes cells and rows. RFC 4180. */
export type Dialect = {
  /** What comes before everything. */
  readonly start: string;
  readonly lineEnd: string;
  encode(cell: Cell): string;
};

export const dialects = {
  machine: { start: '', lineEnd: '\n', encode: encodeMachine },
  spreadsheet: { start: '\ufeff', lineEnd: '\r\n', encode: encodeSpreadsheet },
} as const satisfies Record<Profile, Dialect>;

/** Text always quoted, numbers and times never, NULL nothing at all: NULL and "" differ. */
function encodeMachine(cell: Cell): string {
  if (cell === null) return '';
  return cell.isText ? quoted(cell.text) : cell.text;
}

/**
 * First characters that make a spreadsheet run a cell as a formula, and their full-width forms.
 * https://owasp.org/www-community/attacks/CSV_Injection
 */
const formula = /^[=+\-@\t\r\n＝＋－＠]/;
const number = /^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$/;
const needsQuotes = /[",\r\n]/;

function encodeSpreadsheet(cell: Cell): string {
  if (cell === null) return '';
  const isGuarded = formula.test(cell.text) && !number.test(cell.text);
  const text = isGuarded ? `'${cell.text}` : cell.text;
  return needsQuotes.test(text) ? quoted(text) : text;
}

function quoted(text: string): string {
  return `"${text.includes('"') ? text.replaceAll('"', '""') : text}"`;
}
