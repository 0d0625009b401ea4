// Reads JSON without changing how it is spelled. `JSON.parse` would turn `0.10` into `0.1` and change integers above
// 2^53. An operator must see what the pipeline sent, so values are cut out of the source text. The text comes from our
// own API and is well formed; on anything else these functions throw.

/** The members of an object: key → source text of its value. */
export function readMembers(source: string, start = 0): Map<string, string> {
  const members = new Map<string, string>();
  walkContainer(source, skipSpace(source, start), '{', (at) => {
    const keyEnd = stringEnd(source, at);
    const key = JSON.parse(source.slice(at, keyEnd)) as string;
    const valueStart = skipSpace(source, expect(source, skipSpace(source, keyEnd), ':'));
    const valueEnd = skipValue(source, valueStart);
    members.set(key, source.slice(valueStart, valueEnd));
    return valueEnd;
  });
  return members;
}

/** The source texts of the elements of an array. */
export function readElements(source: string): string[] {
  const elements: string[] = [];
  walkContainer(source, skipSpace(source, 0), '[', (at) => {
    const end = skipValue(source, at);
    elements.push(source.slice(at, end));
    return end;
  });
  return elements;
}

/** Goes through an object or array. `readOne` is given the start of each member, and answers its end. */
function walkContainer(
  source: string,
  start: number,
  opening: '{' | '[',
  readOne: (at: number) => number,
): number {
  const closing = opening === '{' ? '}' : ']';
  let at = skipSpace(source, expect(source, start, opening));
  if (source[at] === closing) return at + 1;
  for (;;) {
    at = skipSpace(source, readOne(at));
    if (source[at] === closing) return at + 1;
    at = skipSpace(source, expect(source, at, ','));
  }
}

/** The end of the value that begins at `start`; the value itself is not read. */
function skipValue(source: string, start: number): number {
  const first = source[start];
  if (first === '"') return stringEnd(source, start);
  if (first !== '{' && first !== '[') return scalarEnd(source, start);
  let depth = 0;
  let at = start;
  while (at < source.length) {
    const character = source[at];
    if (character === '"') {
      at = stringEnd(source, at);
      continue;
    }
    at += 1;
    if (character === '{' || character === '[') depth += 1;
    else if (character === '}' || character === ']') {
      depth -= 1;
      if (depth === 0) return at;
    }
  }
  throw new SyntaxError('The JSON ends too early.');
}

/** The end of a string. A quote is escaped when an odd number of backslashes stands before it. */
function stringEnd(source: string, start: number): number {
  expect(source, start, '"');
  let at = start + 1;
  for (;;) {
    const quote = source.indexOf('"', at);
    if (quote < 0) throw new SyntaxError('The JSON ends too early.');
    let slashes = 0;
    while (source[quote - 1 - slashes] === '\\') slashes += 1;
    if (slashes % 2 === 0) return quote + 1;
    at = quote + 1;
  }
}

function scalarEnd(source: string, start: number): number {
  let at = start;
  while (at < source.length && !',]}: \t\r\n'.includes(source.charAt(at))) at += 1;
  if (at === start) throw new SyntaxError(`The JSON has no value at ${start}.`);
  return at;
}

function skipSpace(source: string, start: number): number {
  let at = start;
  while (at < source.length && ' \t\r\n'.includes(source.charAt(at))) at += 1;
  return at;
}

function expect(source: string, at: number, character: string): number {
  if (source[at] !== character) throw new SyntaxError(`The JSON lacks "${character}" at ${at}.`);
  return at + 1;
}

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
  // For each open container: whether it is written on one line.
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

/** Whether an array of scalars fits on one line. Objects never do: one line would hide their keys. */
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
