import { maxNesting, OpenContainers } from './open-containers.ts';

/** `position` is an offset into the UTF-8 form of the text. */
export type JsonFault = { code: JsonFaultCode; message: string; position: number };

export type JsonFaultCode = 'json_invalid' | keyof typeof refusals;

/** What RFC 8259 allows and svcctl refuses. */
const refusals = {
  json_duplicate_key: 'a key may appear only once in an object',
  json_null_character: 'the character U+0000 cannot be stored; leave it out',
  json_lone_surrogate: 'half of a surrogate pair is not a character; send both halves',
  json_too_deep: `objects and arrays may be nested at most ${maxNesting} deep`,
} as const;

export type CompactReading =
  | { compact: string; sizeBytes: number; fault: null }
  | { compact: null; fault: JsonFault };

/**
 * Reads a text that is one JSON value, white space around it allowed, and keeps its source: the
 * spelling of numbers, the order of keys and escapes survive, only white space between tokens goes.
 * `sizeBytes` is the UTF-8 length of the compact text.
 */
export function compactJson(text: string): CompactReading {
  const scanner = new JsonScanner(text);
  const start = scanner.skipSpace(0);
  scanner.beginValue();
  const end = scanner.scanValue(start);
  const sizeBytes = scanner.compactBytes(start, end);
  const compact = scanner.fault === null ? scanner.compact(start, end) : '';
  const rest = end < 0 ? end : scanner.skipSpace(end);
  if (rest >= 0 && rest < scanner.sizeBytes) scanner.refuse(rest, 'nothing after the value');
  if (scanner.fault !== null) return { compact: null, fault: scanner.fault };
  return { compact, sizeBytes, fault: null };
}

/**
 * Walks JSON text without building values. A scan takes an offset and answers the one after what it
 * read, or -1 when the text is not JSON there. What svcctl refuses beyond the grammar (duplicate keys,
 * U+0000, lone surrogates, depth) is noted in `fault` and does not end the scan, so that the next
 * element of a batch can still be found.
 *
 * Offsets are UTF-8 bytes: a record is read in 2.2 µs from bytes where `charCodeAt` on the text took
 * 2.9 (4.8 after it once answered NaN at the end of a truncated body), and sizes come for free. Strings
 * are still cut from the text, which is ten times cheaper than decoding bytes; `shift` tells where.
 */
export class JsonScanner {
  /** The first fault; a grammar fault replaces any other. The reader clears it to go on. */
  fault: JsonFault | null = null;
  /** Of the last string: whether it holds a backslash, and whether it holds U+007F–009F bare. */
  hasEscape = false;
  hasControl = false;
  text = '';
  /** UTF-8 length of the text. */
  sizeBytes = 0;
  /** The text in UTF-8 and a zero: it is valid nowhere, so no scan runs past it. May be longer. */
  bytes = Buffer.alloc(0);
  /** Bytes less UTF-16 units up to where the scan has come. */
  shift = 0;
  /** `shift` where the last string began. */
  private stringShift = 0;
  /** `shift` and skipped white space where the value began. */
  private valueShift = 0;
  private spaceCount = 0;
  private readonly open = new OpenContainers();

  constructor(text: string) {
    this.load(text);
  }

  /** Begins another text and keeps the scratch memory: saves 1.2 µs a line of NDJSON. */
  load(text: string): void {
    this.text = text;
    this.fault = null;
    this.shift = 0;
    this.sizeBytes = Buffer.byteLength(text);
    if (this.bytes.length <= this.sizeBytes) {
      this.bytes = Buffer.allocUnsafeSlow(Math.max(this.sizeBytes + 1, 1024));
    }
    this.bytes.write(text, 0, this.sizeBytes === text.length ? 'latin1' : 'utf8');
    this.bytes[this.sizeBytes] = 0;
  }

  /** The byte at an offset up to `sizeBytes`. */
  byteAt(position: number): number {
    return this.bytes[position] ?? 0;
  }

  beginValue(): void {
    this.valueShift = this.shift;
    this.spaceCount = 0;
  }

  /** UTF-8 length of the value scanned since `beginValue`, white space between tokens left out. */
  compactBytes(start: number, end: number): number {
    return end - start - this.spaceCount;
  }

  /**
   * The value scanned since `beginValue` without white space between tokens. Overwrites its bytes:
   * ask once. Joining slices of the text instead costs twice the time, most of it in the collector.
   */
  compact(start: number, end: number): string {
    if (this.spaceCount === 0) {
      return this.text.slice(start - this.valueShift, end - this.shift);
    }
    const compactEnd = removeSpace(this.bytes, start, end);
    const encoding = this.shift === this.valueShift ? 'latin1' : 'utf8';
    return this.bytes.toString(encoding, start, compactEnd);
  }

  /** The value of the string last scanned, between the offsets of its quotes. */
  stringValue(start: number, end: number): string {
    const from = start - this.stringShift;
    const to = end - this.shift;
    return this.hasEscape
      ? (JSON.parse(this.text.slice(from, to)) as string)
      : this.text.slice(from + 1, to - 1);
  }

  /** The value of an earlier string without escapes, between the offsets of its quotes. */
  earlierString(start: number, end: number): string {
    return this.shift === 0
      ? this.text.slice(start + 1, end - 1)
      : this.bytes.toString('utf8', start + 1, end - 1);
  }

  /** Whether the string last scanned, which is as long, spells this word without escapes. */
  isString(start: number, word: string): boolean {
    return this.text.startsWith(word, start + 1 - this.stringShift);
  }

  /** The number last scanned, as it was sent. */
  numberText(start: number, end: number): string {
    return this.text.slice(start - this.shift, end - this.shift);
  }

  skipSpace(start: number): number {
    // Most text is compact already.
    return this.byteAt(start) > 0x20 ? start : this.skipSpaces(start);
  }

  private skipSpaces(start: number): number {
    let position = start;
    while (isSpace(this.byteAt(position))) position += 1;
    this.spaceCount += position - start;
    return position;
  }

  /** One value that begins exactly here. */
  scanValue(start: number): number {
    const { open } = this;
    const outside = open.depth;
    let position = start;
    for (;;) {
      const first = this.byteAt(position);
      if (first === 0x7b || first === 0x5b) {
        open.push(first === 0x7b);
        if (open.depth > maxNesting) this.note('json_too_deep', position);
        position = this.skipSpace(position + 1);
        // In ASCII both closing brackets are two after their opening ones.
        if (this.byteAt(position) !== first + 2) {
          if (first === 0x7b) position = this.scanKey(position);
          if (position < 0) return -1;
          continue;
        }
        open.pop();
        position += 1;
      } else {
        position = first === 0x22 ? this.scanString(position) : this.scanScalar(position, first);
        if (position < 0) return -1;
      }
      if (open.depth === outside) return position;
      position = this.scanClosings(position, outside);
      if (position < 0 || open.depth === outside) return position;
    }
  }

  /** After a value: closes what ends here. Answers where the next value begins, if one is to come. */
  private scanClosings(start: number, outside: number): number {
    const { open } = this;
    let position = start;
    do {
      position = this.skipSpace(position);
      const next = this.byteAt(position);
      const isObject = open.isObject();
      if (next === 0x2c) {
        position = this.skipSpace(position + 1);
        return isObject ? this.scanKey(position) : position;
      }
      if (next !== (isObject ? 0x7d : 0x5d)) {
        return this.refuse(position, isObject ? 'a comma or }' : 'a comma or ]');
      }
      open.pop();
      position += 1;
    } while (open.depth > outside);
    return position;
  }

  /** A key and its colon, in the innermost open object. */
  private scanKey(start: number): number {
    if (this.byteAt(start) !== 0x22) return this.refuse(start, 'a key in double quotes');
    const end = this.scanString(start);
    if (end < 0) return -1;
    if (!this.open.addKey(this, start, end)) this.note('json_duplicate_key', start);
    return this.scanColon(end);
  }

  /** A colon and the white space around it: answers where the value begins. */
  scanColon(start: number): number {
    const position = this.skipSpace(start);
    if (this.byteAt(position) !== 0x3a) return this.refuse(position, 'a colon');
    return this.skipSpace(position + 1);
  }

  /** A string; `start` is its opening quote. Sets `hasEscape` and `hasControl`. */
  scanString(start: number): number {
    const { bytes } = this;
    this.stringShift = this.shift;
    this.hasEscape = false;
    this.hasControl = false;
    let position = start + 1;
    for (;;) {
      const byte = bytes[position] ?? 0;
      if (byte === 0x22) return position + 1;
      if (byte >= 0x20 && byte < 0x7f && byte !== 0x5c) {
        position += 1;
        continue;
      }
      if (byte >= 0x7f) position = this.passWide(position, byte);
      else if (byte === 0x5c) position = this.passEscape(position);
      else return this.refuse(position, 'an escape in place of a control character');
      if (position < 0) return -1;
    }
  }

  /** One character that is not ASCII, or DEL. */
  private passWide(position: number, byte: number): number {
    if (byte < 0xe0) {
      if (byte === 0x7f || (byte === 0xc2 && this.byteAt(position + 1) < 0xa0)) {
        this.hasControl = true;
      }
      if (byte === 0x7f) return position + 1;
      this.shift += 1;
      return position + 2;
    }
    // Decoded UTF-8 has no lone surrogate; a text from elsewhere may, and its bytes say U+FFFD.
    if (byte === 0xef && isSurrogate(this.text.charCodeAt(position - this.shift))) {
      this.note('json_lone_surrogate', position);
    }
    // Four bytes are two units.
    this.shift += 2;
    return position + (byte < 0xf0 ? 3 : 4);
  }

  /** One escape, or the two of a surrogate pair; `position` is the backslash. */
  private passEscape(position: number): number {
    this.hasEscape = true;
    if (this.byteAt(position + 1) !== 0x75) {
      if (isSimpleEscape(this.byteAt(position + 1))) return position + 2;
      return this.refuse(position, 'one of the escapes \\" \\\\ \\/ \\b \\f \\n \\r \\t \\u');
    }
    const unit = this.hexUnit(position + 2);
    if (unit < 0) return this.refuse(position, 'four hex digits after \\u');
    if (unit === 0) this.note('json_null_character', position);
    if (!isSurrogate(unit)) return position + 6;
    const isPair =
      unit < 0xdc00 &&
      this.byteAt(position + 6) === 0x5c &&
      this.byteAt(position + 7) === 0x75 &&
      isLowSurrogate(this.hexUnit(position + 8));
    if (isPair) return position + 12;
    this.note('json_lone_surrogate', position);
    return position + 6;
  }

  /** The UTF-16 unit four hex digits spell, -1 when they are not hex digits. */
  private hexUnit(start: number): number {
    let unit = 0;
    for (let position = start; position < start + 4; position += 1) {
      const byte = this.byteAt(position);
      // Bit 5 turns A–F into a–f; nothing else becomes one of them.
      const letter = byte | 0x20;
      if (isDigit(byte)) unit = unit * 16 + byte - 0x30;
      else if (letter >= 0x61 && letter <= 0x66) unit = unit * 16 + letter - 0x57;
      else return -1;
    }
    return unit;
  }

  /** A number, `true`, `false` or `null`. */
  private scanScalar(position: number, first: number): number {
    if (first === 0x2d || isDigit(first)) return this.scanNumber(position);
    const from = position - this.shift;
    if (this.text.startsWith('true', from)) return position + 4;
    if (this.text.startsWith('false', from)) return position + 5;
    if (this.text.startsWith('null', from)) return position + 4;
    return this.refuse(position, 'a value');
  }

  scanNumber(start: number): number {
    const sign = this.byteAt(start) === 0x2d ? 1 : 0;
    // No other digit may follow a leading zero.
    let position =
      this.byteAt(start + sign) === 0x30 ? start + sign + 1 : this.scanDigits(start + sign);
    if (position > 0 && this.byteAt(position) === 0x2e) position = this.scanDigits(position + 1);
    if (position > 0 && (this.byteAt(position) | 0x20) === 0x65) {
      const exponentSign = this.byteAt(position + 1);
      const isSigned = exponentSign === 0x2b || exponentSign === 0x2d;
      position = this.scanDigits(position + (isSigned ? 2 : 1));
    }
    return position;
  }

  /** One digit or more. */
  private scanDigits(start: number): number {
    const { bytes } = this;
    let position = start;
    while (isDigit(bytes[position] ?? 0)) position += 1;
    return position > start ? position : this.refuse(position, 'a digit');
  }

  /** Notes a grammar fault. Always -1. */
  refuse(position: number, expected: string): -1 {
    const message =
      position < this.sizeBytes ? `expected ${expected}` : 'the text ends inside a value';
    this.fault = { code: 'json_invalid', message, position };
    this.open.clear();
    return -1;
  }

  /** Notes something that JSON allows and svcctl refuses. */
  private note(code: keyof typeof refusals, position: number): void {
    this.fault ??= { code, message: refusals[code], position };
  }
}

/** Moves a valid value's tokens together, from `start` on; answers where they end. */
function removeSpace(bytes: Buffer, start: number, end: number): number {
  let kept = start;
  let isInString = false;
  for (let position = start; position < end; position += 1) {
    const byte = bytes[position] ?? 0;
    if (!isInString && isSpace(byte)) continue;
    bytes[kept] = byte;
    kept += 1;
    if (byte === 0x22) {
      isInString = !isInString;
    } else if (byte === 0x5c) {
      // What is escaped may be a quote.
      position += 1;
      bytes[kept] = bytes[position] ?? 0;
      kept += 1;
    }
  }
  return kept;
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}

/** `"`, `\`, `/`, `b`, `f`, `n`, `r` or `t`. */
function isSimpleEscape(byte: number): boolean {
  return byte > 0 && '"\\/bfnrt'.includes(String.fromCharCode(byte));
}

function isSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdfff;
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}
