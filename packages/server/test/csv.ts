/** The cells of a row; null is SQL's NULL, which CSV shows as nothing between two commas. */
export type CsvRow = (string | null)[];

/**
 * Reads RFC 4180 text strictly: every row ends with `lineEnd`, a quoted cell is followed by a comma or the end of its
 * row, and a cell without quotes contains neither quotes nor line breaks. It shares no code with the service, so that a
 * fault that the service's reader and writer have in common still shows.
 */
export function readCsv(text: string, lineEnd: '\n' | '\r\n' = '\n'): CsvRow[] {
  const rows: CsvRow[] = [];
  let at = 0;
  let row: CsvRow = [];
  while (at < text.length) {
    const { cell, end } = text[at] === '"' ? readQuoted(text, at) : readBare(text, at);
    row.push(cell);
    if (text[end] === ',') {
      at = end + 1;
    } else if (text.startsWith(lineEnd, end)) {
      rows.push(row);
      row = [];
      at = end + lineEnd.length;
    } else {
      throw new Error(
        `no comma or line end at ${end}: ${JSON.stringify(text.slice(end, end + 20))}`,
      );
    }
  }
  if (row.length > 0) throw new Error('the last row is cut off');
  return rows;
}

type Read = { cell: string | null; end: number };

function readQuoted(text: string, start: number): Read {
  let at = start + 1;
  for (;;) {
    const quote = text.indexOf('"', at);
    if (quote < 0) throw new Error(`a quote opens at ${start} and never closes`);
    if (text[quote + 1] !== '"') {
      return { cell: text.slice(start + 1, quote).replaceAll('""', '"'), end: quote + 1 };
    }
    at = quote + 2;
  }
}

function readBare(text: string, start: number): Read {
  let end = start;
  while (end < text.length && !',"\r\n'.includes(text[end] ?? '')) end += 1;
  return { cell: text.slice(start, end) || null, end };
}
