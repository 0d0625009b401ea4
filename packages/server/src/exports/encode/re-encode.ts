import { StringDecoder } from 'node:string_decoder';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { JsonItems } from '../../kernel/json-items.ts';
import type { ExportColumn } from '../values.ts';
import { bytesOf, type RowPiece } from './chunk-files.ts';
import { type Cell, CellReader } from './csv-cells.ts';
import { isOwnColumn, type TierRows } from './rows.ts';

/** How to make the requested columns out of columns that a tier can write. */
export type ColumnPlan = {
  /** The columns that the tier writes, as cells. */
  readonly source: readonly ExportColumn[];
  /** Whether there are field paths among them, so that what the tier writes has to be re-encoded. */
  readonly hasPaths: boolean;
  pick(row: readonly Cell[]): Cell[];
};

/** Plans the columns of a file. `pickPath` takes the value of a field path out of the enrichment. */
export function planColumns(
  names: readonly string[],
  pickPath: (json: string, path: readonly string[]) => Cell = pickField,
): ColumnPlan {
  const own = names.filter(isOwnColumn);
  const hasPaths = own.length < names.length;
  const source = hasPaths && !own.includes('enrichment') ? [...own, 'enrichment' as const] : own;
  const enrichmentAt = source.indexOf('enrichment');
  const picks = names.map((name) => {
    if (isOwnColumn(name)) {
      const at = source.indexOf(name);
      return (row: readonly Cell[]) => row[at] ?? null;
    }
    const path = name.split('.').slice(1);
    return (row: readonly Cell[]) => pickPath(row[enrichmentAt]?.text ?? '{}', path);
  });
  return { source, hasPaths, pick: (row) => picks.map((pick) => pick(row)) };
}

/** How much is re-encoded in one turn of the event loop, which takes about 2 ms. Pages are answered in between. */
const turnBytes = 64 * 1024;

/** Turns the source columns of a plan, as cells, into requested rows. `encodeRow` adds the end of the line. */
export function reEncodeRows(
  rows: TierRows,
  plan: ColumnPlan,
  encodeRow: (cells: readonly Cell[]) => string,
): TierRows<Buffer> {
  const decoder = new StringDecoder('utf8');
  const reader = new CellReader();
  const encodePiece = (piece: Buffer): Buffer => {
    let text = '';
    for (const row of reader.read(decoder.write(piece))) text += encodeRow(plan.pick(row));
    return Buffer.from(text);
  };
  const encode = async function* (pieces: AsyncIterable<RowPiece>): AsyncGenerator<Buffer> {
    for await (const piece of bytesOf(pieces)) {
      for (let at = 0; at < piece.length; at += turnBytes) {
        yield encodePiece(piece.subarray(at, at + turnBytes));
        await nextTurn();
      }
    }
  };
  return {
    whileConnected: () => encode(rows.whileConnected()),
    afterwards: () => encode(rows.afterwards()),
    get rowCount() {
      return rows.rowCount;
    },
    get digest() {
      return rows.digest;
    },
    close: () => rows.close(),
  };
}

/**
 * The value at a path of compact JSON, as a cell: the text of a string, numbers and words as spelled, JSON of others,
 * NULL for null or nothing. A step that is a number selects an element of an array.
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
