import { JsonItems } from '../../kernel/json-slices.ts';
import type { Cell } from './csv-cells.ts';

/**
 * The value at a path of compact JSON, as a cell. A string becomes its text; numbers, true and false stay as they are
 * spelled; an object or array becomes JSON text; null, or nothing at that path, becomes NULL. It works on the source
 * text, so that 1.0 stays 1.0 and integers keep all their digits. A step that is a number selects an element of an
 * array.
 */
export function pickField(json: string, path: readonly string[]): Cell {
  const cell = pickJson(json, path);
  if (cell === null) return null;
  const [first] = cell.text;
  if (first === '"') return { text: JSON.parse(cell.text) as string, isText: true };
  return { text: cell.text, isText: first === '{' || first === '[' };
}

/**
 * The value at a path as JSON text, spelled as in the source; null when it is null or there is nothing at that path.
 */
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

/**
 * Finds a member by its name, or an element by its position. If two members have the same name, the first one counts.
 */
function findItem(json: string, start: number, step: string) {
  for (const items = new JsonItems(json, start); items.next(); ) {
    if ((items.name ?? String(items.index)) === step) return items;
  }
  return null;
}
