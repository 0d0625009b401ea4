// Prints JSON without changing how it is spelled: an operator must see what the pipeline sent, and `JSON.parse` would
// turn `0.10` into `0.1` and change integers above 2^53. The text comes from our own API and is well formed.
import { JsonItems } from '../api/values.ts';

/** A piece of printed JSON. `word` is true, false or null; `mark` is punctuation with its white space. */
export type JsonPiece = { kind: 'key' | 'string' | 'number' | 'word' | 'mark'; text: string };

/** An array of scalars, such as coordinates, stays on one line if it fits in this many characters. */
const lineWidth = 72;

/** Indents JSON text. Only white space changes: strings and numbers keep their spelling. */
export function printJson(source: string): string {
  return printPieces(source)
    .map((piece) => piece.text)
    .join('');
}

/** The same, cut into pieces for colours. Neighbouring marks and white space form one piece. */
export function printPieces(source: string): JsonPiece[] {
  const pieces: JsonPiece[] = [];
  const put = (kind: JsonPiece['kind'], text: string) => {
    const last = pieces.at(-1);
    if (kind === 'mark' && last?.kind === 'mark') last.text += text;
    else pieces.push({ kind, text });
  };
  const whole = new JsonItems(`[${source}]`);
  if (whole.next()) printItem(whole, 0, put);
  return pieces;
}

/** Prints an item whose value stands in so many containers. Its end is known then, so that nothing looks for it again. */
function printItem(
  item: JsonItems,
  depth: number,
  put: (kind: JsonPiece['kind'], text: string) => void,
): void {
  const opening = item.text.charAt(item.start);
  if (opening !== '{' && opening !== '[') {
    put(scalarKind(opening), item.value);
    return;
  }
  const isOneLine = opening === '[' && fitsLine(item);
  const newLine = (levels: number) => (isOneLine ? '' : `\n${'  '.repeat(levels)}`);
  const parts = item.parts();
  while (parts.next()) {
    const before = parts.index === 0 ? opening : isOneLine ? ', ' : ',';
    put('mark', before + newLine(depth + 1));
    if (parts.quotedName !== null) {
      put('key', parts.quotedName);
      put('mark', ': ');
    }
    printItem(parts, depth + 1, put);
  }
  item.endAfter(parts);
  const closing = opening === '{' ? '}' : ']';
  put('mark', parts.index < 0 ? opening + closing : newLine(depth) + closing);
}

function scalarKind(first: string): JsonPiece['kind'] {
  if (first === '"') return 'string';
  return /[-\d]/.test(first) ? 'number' : 'word';
}

/** Whether an array of scalars fits on one line. Objects never do: one line would hide their keys. */
function fitsLine(array: JsonItems): boolean {
  const elements = array.parts();
  // The commas between the elements count, too. It looks no further than a line, because the array may be long.
  for (let width = -1; elements.next(); ) {
    if (/[[{]/.test(elements.text.charAt(elements.start))) return false;
    width += 1 + elements.end - elements.start;
    if (width >= lineWidth) return false;
  }
  return true;
}
