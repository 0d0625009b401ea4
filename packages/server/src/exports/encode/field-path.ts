import { JsonItems } from '../../kernel/json-slices.ts';
import type { Cell } from './csv-cells.ts';

/**
 * The value at a path of compact JSON, as a cell: a string as its text, a number or true/false as it is
 * spelled, an object or array as JSON text, null or nothing there as NULL. Works on the source text, so
 * that 1.0 stays 1.0 and integers keep all their digits. A step that is a number enters an array.
 */
export function pickField(json: string, path: readonly string[]): Cell {
  const cell = pickJson(json, path);
  if (cell === null) return null;
  const [first] = cell.text;
  if (first === '"') return { text: JSON.parse(cell.text) as string, isText: true };
  return { text: cell.text, isText: first === '{' || first === '[' };
}

/** The same as JSON, as it is spelled. */
export function pickJson(json: string, path: readonly string[]): Cell {
  let [start, end] = [0, json.length];
  for (const step of path) {
    const found = findItem(json, start, step);
    if (found === null) return null;
    ({ start, end } = found);
  }
  const text = json.slice(start, end);
  return text === 'null' ? null : { text, isText: false };
}

/** A member by its name, of two with one name the first; an element by its position. */
function findItem(json: string, start: number, step: string) {
  for (const items = new JsonItems(json, start); items.next(); ) {
    if ((items.name ?? String(items.index)) === step) return items;
  }
  return null;
}
