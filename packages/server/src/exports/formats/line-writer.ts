import { type Cell, dialects, lineOf } from '../encode/csv-cells.ts';
import { type ColumnPlan, pickJson, planColumns } from '../encode/re-encode.ts';
import { isOwnColumn, jsonKindOf } from '../encode/rows.ts';
import type { FileOptions } from './format.ts';

/** How a file of text is written, row by row. */
type LineWriter = {
  /** Which columns of a record it takes, and what it makes of them. */
  readonly plan: ColumnPlan;
  /** What comes before the rows: the byte order mark of the profile, if any, and the header, if it is wanted. */
  readonly head: string;
  /** A row that the plan has picked, with the end of its line. */
  readonly encodeRow: (cells: readonly Cell[]) => string;
};

/** Writes CSV or NDJSON; what is in a row of Parquet is written as NDJSON, too, for people to see. */
export function createLineWriter({ format, columns, header, profile }: FileOptions): LineWriter {
  if (format !== 'csv') {
    return { plan: planColumns(columns, pickJson), head: '', encodeRow: jsonWriter(columns) };
  }
  const names = columns.map((name) => ({ text: name, isText: /[",\r\n]/.test(name) }));
  const dialect = dialects[profile];
  return {
    plan: planColumns(columns),
    head: dialect.start + (header ? lineOf(names, dialect) : ''),
    encodeRow: (cells) => lineOf(cells, dialect),
  };
}

function jsonWriter(columns: readonly string[]): (cells: readonly Cell[]) => string {
  const members = columns.map((name) => ({
    key: `${JSON.stringify(name)}:`,
    // The value of a field path is JSON text already, as it is spelled in the source.
    isRaw: !isOwnColumn(name) || jsonKindOf(name) === 'raw',
  }));
  return (cells) => {
    let text = '';
    members.forEach(({ key, isRaw }, at) => {
      const cell = cells[at] ?? null;
      if (cell === null) return;
      text += `${text === '' ? '' : ','}${key}${isRaw ? cell.text : JSON.stringify(cell.text)}`;
    });
    return `{${text}}\n`;
  };
}
