/**
 * First characters that make a spreadsheet run a cell as a formula, and their full-width forms, also behind characters
 * that are not seen. See https://owasp.org/www-community/attacks/CSV_Injection
 */
const formula = /^(?:(?! )[\p{Zs}\p{Cf}])*[=+\-@\t\r\n＝＋－＠]/u;
const number = /^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$/;
/** Where a comma is for decimals, spreadsheets cut rows at semicolons. */
const needsQuotes = /[",;\r\n]/;

/**
 * A cell of CSV for spreadsheets: quoted where RFC 4180 demands it, with an apostrophe before what would run as a
 * formula. A number such as -5 is no formula.
 */
export function spreadsheetCell(cell: string): string {
  const isGuarded = formula.test(cell) && !number.test(cell);
  const text = isGuarded ? `'${cell}` : cell;
  return needsQuotes.test(text) ? quotedCell(text) : text;
}

export function quotedCell(text: string): string {
  return `"${text.includes('"') ? text.replaceAll('"', '""') : text}"`;
}
