/**
 * JSON read by its text. `JSON.parse` would turn `0.10` into `0.1` and bend integers above 2^53;
 * an operator must see what the pipeline sent, so values are cut out of the source instead.
 * The text comes from our own API and is well formed; on anything else these functions throw.
 */

/** The top-level members of an object: key → source text of its value. */
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

/** Source texts of the elements of an array. */
export function readElements(source: string): string[] {
  const elements: string[] = [];
  walkContainer(source, skipSpace(source, 0), '[', (at) => {
    const end = skipValue(source, at);
    elements.push(source.slice(at, end));
    return end;
  });
  return elements;
}

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

/** The end of the value that begins at `start`, without reading it. */
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

export function stringEnd(source: string, start: number): number {
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

export function scalarEnd(source: string, start: number): number {
  let at = start;
  while (at < source.length && !',]}: \t\r\n'.includes(source.charAt(at))) at += 1;
  if (at === start) throw new SyntaxError(`The JSON has no value at ${start}.`);
  return at;
}

export function skipSpace(source: string, start: number): number {
  let at = start;
  while (at < source.length && ' \t\r\n'.includes(source.charAt(at))) at += 1;
  return at;
}

function expect(source: string, at: number, character: string): number {
  if (source[at] !== character) throw new SyntaxError(`The JSON lacks "${character}" at ${at}.`);
  return at + 1;
}
