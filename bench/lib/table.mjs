/** A Markdown table. Columns whose title ends in a colon are aligned right; the colon is not shown. */
export function markdownTable(titles, rows) {
  const isRight = titles.map((title) => title.endsWith(':'));
  const head = titles.map((title) => title.replace(/:$/, ''));
  const widths = head.map((title, i) =>
    Math.max(3, title.length, ...rows.map((row) => String(row[i]).length)),
  );
  const line = (cells) =>
    `| ${cells.map((cell, i) => pad(String(cell), widths[i], isRight[i])).join(' | ')} |`;
  const rule = widths.map((width, i) => '-'.repeat(width - 1) + (isRight[i] ? ':' : '-'));
  return [line(head), line(rule), ...rows.map(line)].join('\n');
}

/** The tables of a Markdown text, as `markdownTable` makes them: rows of cells, the titles first. */
export function readTables(text) {
  /** @type {string[][][]} */
  const tables = [];
  let isInside = false;
  for (const line of text.split('\n')) {
    const isRow = line.startsWith('| ');
    if (isRow && !isInside) tables.push([]);
    isInside = isRow;
    const cells = line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim());
    if (isRow && !cells.every((cell) => /^-+:?$/.test(cell))) tables.at(-1)?.push(cells);
  }
  return tables;
}

function pad(text, width, isRight) {
  return isRight ? text.padStart(width) : text.padEnd(width);
}

/** A goal and whether it was reached, for a cell. */
export function goal(text, isMet) {
  return `${text} ${isMet ? '✓' : '✗'}`;
}

export const none = '–';

export function formatCount(value) {
  return Math.round(value).toLocaleString('en-US');
}

export function formatRatio(value) {
  return value.toFixed(2);
}

export function formatMillis(value) {
  return `${value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0)} ms`;
}

export function formatMiB(bytes) {
  return `${(bytes / 2 ** 20).toFixed(bytes < 10 * 2 ** 20 ? 1 : 0)} MiB`;
}

export function formatSeconds(millis) {
  return `${(millis / 1000).toFixed(1)} s`;
}
