// Prints JSON without changing how it is spelled: an operator must see what the pipeline sent, and `JSON.parse` would
// turn `0.10` into `0.1` and change integers above 2^53. The text comes from our own API and is well formed.
import { elementsOf, JsonItems } from '../api/values.ts';

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
  printValue(source.trim(), 0, put);
  return pieces;
}

/** Prints a value that stands in so many containers. */
function printValue(
  source: string,
  depth: number,
  put: (kind: JsonPiece['kind'], text: string) => void,
): void {
  const opening = source.charAt(0);
  if (opening !== '{' && opening !== '[') {
    put(scalarKind(opening), source);
    return;
  }
  const isOneLine = opening === '[' && fitsLine(source);
  const newLine = (levels: number) => (isOneLine ? '' : `\n${'  '.repeat(levels)}`);
  const items = new JsonItems(source);
  while (items.next()) {
    const before = items.index === 0 ? opening : isOneLine ? ', ' : ',';
    put('mark', before + newLine(depth + 1));
    if (items.quotedName !== null) {
      put('key', items.quotedName);
      put('mark', ': ');
    }
    printValue(items.value, depth + 1, put);
  }
  const closing = opening === '{' ? '}' : ']';
  put('mark', items.index < 0 ? opening + closing : newLine(depth) + closing);
}

function scalarKind(first: string): JsonPiece['kind'] {
  if (first === '"') return 'string';
  return /[-\d]/.test(first) ? 'number' : 'word';
}

/** Whether an array of scalars fits on one line. Objects never do: one line would hide their keys. */
function fitsLine(array: string): boolean {
  const elements = elementsOf(array);
  return elements.join(',').length < lineWidth && !elements.some((text) => /^[[{]/.test(text));
}
