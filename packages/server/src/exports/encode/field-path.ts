import type { Cell } from './csv-cells.ts';

const [quote, backslash, comma, openBrace, closeBrace, openBracket, closeBracket] = [
  0x22, 0x5c, 0x2c, 0x7b, 0x7d, 0x5b, 0x5d,
];

/**
 * The value at a path of compact JSON, as a cell: a string as its text, a number or true/false as it is
 * spelled, an object or array as JSON text, null or nothing there as NULL. Works on the source text, so
 * that 1.0 stays 1.0 and integers keep all their digits. A step that is a number enters an array.
 */
export function pickField(json: string, path: readonly string[]): Cell {
  const cell = pickJson(json, path);
  if (cell === null) return null;
  const first = cell.text.charCodeAt(0);
  if (first === quote) return { text: JSON.parse(cell.text) as string, isText: true };
  return { text: cell.text, isText: first === openBrace || first === openBracket };
}

/** The same as JSON, as it is spelled. */
export function pickJson(json: string, path: readonly string[]): Cell {
  let at = 0;
  for (const step of path) {
    at = enter(json, at, step);
    if (at < 0) return null;
  }
  const text = json.slice(at, valueEnd(json, at));
  return text === 'null' ? null : { text, isText: false };
}

/** Where the value of a key or position begins; -1 when there is none. */
function enter(json: string, at: number, step: string): number {
  const first = json.charCodeAt(at);
  if (first === openBrace) return enterObject(json, at + 1, step);
  if (first === openBracket && /^(0|[1-9]\d{0,8})$/.test(step)) {
    return enterArray(json, at + 1, Number(step));
  }
  return -1;
}

function enterObject(json: string, first: number, key: string): number {
  let at = first;
  while (json.charCodeAt(at) !== closeBrace) {
    const end = stringEnd(json, at);
    if (JSON.parse(json.slice(at, end)) === key) return end + 1;
    at = afterValue(json, end + 1);
  }
  return -1;
}

function enterArray(json: string, first: number, position: number): number {
  let at = first;
  for (let i = 0; json.charCodeAt(at) !== closeBracket; i++) {
    if (i === position) return at;
    at = afterValue(json, at);
  }
  return -1;
}

/** Behind the value and the comma that may follow it. */
function afterValue(json: string, start: number): number {
  const end = valueEnd(json, start);
  return json.charCodeAt(end) === comma ? end + 1 : end;
}

function valueEnd(json: string, start: number): number {
  let depth = 0;
  let at = start;
  do {
    const code = json.charCodeAt(at);
    if (code === quote) at = stringEnd(json, at) - 1;
    else if (code === openBrace || code === openBracket) depth += 1;
    else if (code === closeBrace || code === closeBracket) depth -= 1;
    at += 1;
    if (depth === 0 && isBetween(json.charCodeAt(at))) return at;
  } while (at < json.length);
  return at;
}

/** Whether a value at depth 0 is over before this character. */
function isBetween(code: number): boolean {
  return code === comma || code === closeBrace || code === closeBracket;
}

function stringEnd(json: string, open: number): number {
  let at = open + 1;
  while (json.charCodeAt(at) !== quote) at += json.charCodeAt(at) === backslash ? 2 : 1;
  return at + 1;
}
