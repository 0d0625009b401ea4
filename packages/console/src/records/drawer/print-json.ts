import { scalarEnd, skipSpace, stringEnd } from '../json-source.ts';

export type JsonPiece = { kind: 'key' | 'string' | 'number' | 'word' | 'mark'; text: string };

/** A container of scalars that fits in this many characters stays on one line, such as coordinates. */
const lineWidth = 72;

/** JSON text, indented. Strings and numbers stay as they are spelled: only white space changes. */
export function printJson(source: string): string {
  return printPieces(source)
    .map((piece) => piece.text)
    .join('');
}

/** The same in coloured pieces. Neighbouring marks and white space are one piece. */
export function printPieces(source: string): JsonPiece[] {
  const pieces: JsonPiece[] = [];
  const put = (kind: JsonPiece['kind'], text: string) => {
    const last = pieces.at(-1);
    if (kind === 'mark' && last?.kind === 'mark') last.text += text;
    else pieces.push({ kind, text });
  };
  // One entry per open container: whether it is written on one line.
  const containers: boolean[] = [];
  const newLine = () => `\n${'  '.repeat(containers.length)}`;
  let at = skipSpace(source, 0);
  while (at < source.length) {
    const character = source.charAt(at);
    if (character === '{' || character === '[') {
      const end = emptyEnd(source, at);
      if (end > 0) {
        put('mark', character + (character === '{' ? '}' : ']'));
        at = end;
      } else {
        const isOneLine = fitsLine(source, at);
        containers.push(isOneLine);
        put('mark', character + (isOneLine ? (character === '{' ? ' ' : '') : newLine()));
        at += 1;
      }
    } else if (character === '}' || character === ']') {
      const isOneLine = containers.pop() ?? true;
      put('mark', (isOneLine ? (character === '}' ? ' ' : '') : newLine()) + character);
      at += 1;
    } else if (character === ',') {
      put('mark', containers.at(-1) ? ', ' : `,${newLine()}`);
      at += 1;
    } else if (character === ':') {
      put('mark', ': ');
      at += 1;
    } else {
      at = putScalar(source, at, put);
    }
    at = skipSpace(source, at);
  }
  return pieces;
}

function putScalar(
  source: string,
  at: number,
  put: (kind: JsonPiece['kind'], text: string) => void,
): number {
  if (source[at] === '"') {
    const end = stringEnd(source, at);
    const isKey = source[skipSpace(source, end)] === ':';
    put(isKey ? 'key' : 'string', source.slice(at, end));
    return end;
  }
  const end = scalarEnd(source, at);
  put(/[-\d]/.test(source.charAt(at)) ? 'number' : 'word', source.slice(at, end));
  return end;
}

function emptyEnd(source: string, at: number): number {
  const next = skipSpace(source, at + 1);
  return source[next] === '}' || source[next] === ']' ? next + 1 : 0;
}

/** Only arrays of scalars: an object on one line hides its keys. White space of the source doesn't count. */
function fitsLine(source: string, start: number): boolean {
  if (source[start] !== '[') return false;
  let width = 0;
  let at = start + 1;
  while (width < lineWidth && at < source.length) {
    const character = source[at];
    if (character === ']') return true;
    if (character === '[' || character === '{') return false;
    const end = character === '"' ? stringEnd(source, at) : at + 1;
    width += end - at;
    at = skipSpace(source, end);
  }
  return false;
}
