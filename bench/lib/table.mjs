import { readFileSync, writeFileSync } from 'node:fs';

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

const units = { '%': 0.01, ms: 1, s: 1000, kB: 1e3, MB: 1e6, MiB: 2 ** 20 };

/**
 * A goal and whether it was reached, for a cell. A value (milliseconds, bytes, or a number by itself) is compared with the
 * bound that the text has (`p50 ≤ 25 ms`); where the text has more than one, the caller says whether they are met.
 *
 * @param {string} text
 * @param {number | boolean} found
 */
export function goal(text, found) {
  const isMet = typeof found === 'boolean' ? found : isWithin(text, found);
  return `${text} ${isMet ? '✓' : '✗'}`;
}

function isWithin(text, value) {
  const [, sign, number, unit] = /([<≤≥]) ([\d.,]+)(?: (%|ms|s|kB|MB|MiB)(?!\w))?/.exec(text) ?? [];
  if (sign === undefined) throw new Error(`a goal without a bound: ${text}`);
  const bound = Number(number.replaceAll(',', '')) * (units[unit] ?? 1);
  if (sign === '<') return value < bound;
  return sign === '≤' ? value <= bound : value >= bound;
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

/** Of milliseconds, for what takes less than one. */
export const formatMicros = (millis) => `${(millis * 1000).toFixed(1)} µs`;

export function formatMiB(bytes) {
  return `${(bytes / 2 ** 20).toFixed(bytes < 10 * 2 ** 20 ? 1 : 0)} MiB`;
}

export function formatSeconds(millis) {
  return `${(millis / 1000).toFixed(1)} s`;
}

/** The cells of a ratio and of its goal, where it has one. */
export function ratioCells(ratio, text = none) {
  return [formatRatio(ratio), text === none ? none : goal(text, ratio)];
}

/** The cells of p50 and p99. */
export const latencyCells = ({ p50, p99 }) => [formatMillis(p50), formatMillis(p99)];

/** A section: its title, and what stands below. */
export const section = (title, ...parts) => [`### ${title}`, ...parts].join('\n\n');

/** Replaces what stands between `<!-- <name>:begin -->` and `<!-- <name>:end -->` in a file. */
export function replaceBetweenMarkers(path, name, text) {
  const begin = `<!-- ${name}:begin -->`;
  const end = `<!-- ${name}:end -->`;
  const document = readFileSync(path, 'utf8');
  const from = document.indexOf(begin);
  const until = document.indexOf(end);
  if (from < 0 || until < from) throw new Error(`${path} has no ${begin} … ${end}`);
  const kept = [document.slice(0, from + begin.length), document.slice(until)];
  writeFileSync(path, `${kept[0]}\n${text.trim()}\n${kept[1]}`);
}
