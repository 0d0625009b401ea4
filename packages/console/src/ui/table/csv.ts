import { download } from '../copy-button.tsx';
import type { CellValue, Column } from './column.ts';

/** The rows as CSV with a head for spreadsheets: lines end by CRLF, and what would run as a formula is disarmed. */
export function csvOf<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string {
  const valued = columns.filter(({ value }) => value !== undefined);
  const lines = [
    valued.map(({ name }) => name),
    ...rows.map((row) => valued.map(({ value }) => value?.(row) ?? null)),
  ];
  return lines.map((line) => `${line.map(encodeCell).join(',')}\r\n`).join('');
}

/**
 * First characters that make a spreadsheet run a cell as a formula, and their full-width forms, also behind characters
 * that are not seen. See https://owasp.org/www-community/attacks/CSV_Injection
 */
const formula = /^(?:(?! )[\p{Zs}\p{Cf}])*[=+\-@\t\r\n＝＋－＠]/u;
const number = /^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$/;
const needsQuotes = /[",;\r\n]/;

/** One cell of CSV. A number such as -5 is no formula. */
export function encodeCell(value: CellValue): string {
  if (value === null) return '';
  const plain = String(value);
  const text = formula.test(plain) && !number.test(plain) ? `'${plain}` : plain;
  return needsQuotes.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Lets the browser store CSV as a file. The byte order mark tells spreadsheets that it is UTF-8. */
export function downloadCsv(name: string, csv: string): void {
  download({ name, text: `\ufeff${csv}`, type: 'text/csv' });
}
