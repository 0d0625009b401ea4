// Cuts JSON text into the texts of its parts without building values: `JSON.parse` and `JSON.stringify` would change
// integers above 2^53 and the spelling of numbers. It does not validate: text that is not JSON throws `NotJson` or comes
// out as it came in. Offsets are UTF-16 units. The console reads by it, too: it imports nothing.

const [quote, backslash, comma, colon] = [0x22, 0x5c, 0x2c, 0x3a];
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d];

/** Thrown where the text cannot be JSON. It carries no message: the callers say what they were reading. */
export class NotJson extends Error {}

/**
 * Goes through the members of the object or the elements of the array that begins at `start`; any other value has no
 * items. The end and the name of an item are found only when they are asked for, because a path into a record skips
 * most of it.
 */
export class JsonItems {
  readonly text: string;
  /** Where the value of this item begins. */
  start = -1;
  /** How many items came before this one. */
  index = -1;
  readonly #close: number;
  #nameStart = -1;
  #nameEnd = -1;
  #end = -1;

  constructor(text: string, start = 0) {
    this.text = text;
    const opening = skipSpace(text, start);
    const first = text.charCodeAt(opening);
    this.#close = first === openBrace ? closeBrace : first === openBracket ? closeBracket : -1;
    this.#end = opening + 1;
  }

  /** Goes to the next item. Returns false when there is none. */
  next(): boolean {
    const { text } = this;
    if (this.#close < 0) return false;
    let position = skipSpace(text, this.end);
    const after = text.charCodeAt(position);
    if (after === this.#close) return false;
    if (this.index >= 0) {
      if (after !== comma) throw new NotJson();
      position = skipSpace(text, position + 1);
    }
    if (this.#close === closeBrace) {
      this.#nameStart = position;
      this.#nameEnd = stringEnd(text, position);
      position = skipSpace(text, this.#nameEnd);
      if (text.charCodeAt(position) !== colon) throw new NotJson();
      position = skipSpace(text, position + 1);
    }
    this.start = position;
    this.index += 1;
    this.#end = -1;
    return true;
  }

  /** Returns where the value of this item ends: the offset after its last character. */
  get end(): number {
    if (this.#end < 0) this.#end = valueEnd(this.text, this.start);
    return this.#end;
  }

  get value(): string {
    return this.text.slice(this.start, this.end);
  }

  /** Returns the texts of the elements of this item. Its end is known then. Throws `NotJson` when it is no array. */
  get elements(): string[] {
    if (this.text.charCodeAt(this.start) !== openBracket) throw new NotJson();
    const elements: string[] = [];
    const items = this.parts();
    while (items.next()) elements.push(items.value);
    this.endAfter(items);
    return elements;
  }

  /** Returns the members or the elements of the value of this item. */
  parts(): JsonItems {
    return new JsonItems(this.text, this.start);
  }

  /** Takes the end of this item from its parts, which have no next one. Otherwise it is looked for in all of its text. */
  endAfter(parts: JsonItems): void {
    this.#end = skipSpace(this.text, parts.end) + 1;
  }

  /** Returns the name of this member as it is spelled, in its quotes; null in an array. */
  get quotedName(): string | null {
    return this.#close === closeBrace ? this.text.slice(this.#nameStart, this.#nameEnd) : null;
  }

  /** Returns the decoded name of this member; null in an array. */
  get name(): string | null {
    const quoted = this.quotedName;
    if (quoted === null) return null;
    // Few names have escapes, and JSON.parse takes longer than all else here.
    return quoted.includes('\\') ? (JSON.parse(quoted) as string) : quoted.slice(1, -1);
  }
}

/**
 * Maps each name of an object to the text of its value. If a name stands twice, the last one counts, as with
 * JSON.parse. Throws `NotJson` when the text is no object.
 */
export function membersOf(text: string): Map<string, string> {
  if (text[skipSpace(text, 0)] !== '{') throw new NotJson();
  const members = new Map<string, string>();
  for (const items = new JsonItems(text); items.next(); )
    members.set(items.name ?? '', items.value);
  return members;
}

/** Returns the texts of the elements of an array. Throws `NotJson` when the text is no array. */
export function elementsOf(text: string): string[] {
  if (text[skipSpace(text, 0)] !== '[') throw new NotJson();
  const elements: string[] = [];
  for (const items = new JsonItems(text); items.next(); ) elements.push(items.value);
  return elements;
}

function valueEnd(text: string, start: number): number {
  const first = text.charCodeAt(start);
  if (first === quote) return stringEnd(text, start);
  if (first === openBrace || first === openBracket) return containerEnd(text, start);
  let end = start;
  while (isOfScalar(text.charCodeAt(end))) end += 1;
  if (end === start) throw new NotJson();
  return end;
}

/**
 * Returns whether the code can be inside a number or a literal. Beyond the end of the text the code is NaN, and this is
 * false.
 */
function isOfScalar(code: number): boolean {
  return code > 0x20 && code !== comma && code !== closeBrace && code !== closeBracket;
}

function containerEnd(text: string, start: number): number {
  let depth = 0;
  for (let position = start; position < text.length; position += 1) {
    switch (text.charCodeAt(position)) {
      case quote:
        position = stringEnd(text, position) - 1;
        break;
      case openBrace:
      case openBracket:
        depth += 1;
        break;
      case closeBrace:
      case closeBracket:
        depth -= 1;
        if (depth === 0) return position + 1;
    }
  }
  throw new NotJson();
}

/** Returns the offset after the closing quote of the string whose opening quote is at `start`. */
function stringEnd(text: string, start: number): number {
  if (text.charCodeAt(start) !== quote) throw new NotJson();
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    // A quote after an odd number of backslashes is escaped and does not end the string.
    while (text.charCodeAt(end - 1 - backslashes) === backslash) backslashes += 1;
    if (backslashes % 2 === 0) return end + 1;
  }
  throw new NotJson();
}

/** Returns the offset of the first character from `start` on that is no white space. */
export function skipSpace(text: string, start: number): number {
  let position = start;
  // Most text has no white space here, so this loop usually ends at once.
  while (isSpace(text.charCodeAt(position))) position += 1;
  return position;
}

/** Whether this is white space of JSON: a byte of it, or a UTF-16 unit. */
export function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}
