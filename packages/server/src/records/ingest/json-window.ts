import { isUtf8 } from 'node:buffer';
import { JsonScanner } from '../../kernel/json-text.ts';

/** A fault this near to the end of what has arrived may not be one: the rest of a word may be missing. */
const cutBytes = 16;

/**
 * A part of a JSON text that moves forward as the text arrives. However long the text is, little of it is held in
 * memory, and other requests are served while more of it is awaited.
 */
export class JsonWindow {
  readonly scanner = new JsonScanner('');
  readonly #chunks: AsyncIterator<Buffer>;
  readonly #maxValueBytes: number;
  readonly #onBlanks: (bytes: number) => void;
  /**
   * The bytes that arrived and were not dropped yet. The scanner has loaded all of them but an incomplete last
   * character.
   */
  #bytes: Buffer = Buffer.alloc(0);
  /** The position of the reader in these bytes. */
  #position = 0;
  /** The position of these bytes in the body. */
  #offset = 0;
  #isAll = false;

  constructor(
    chunks: AsyncIterable<Buffer>,
    options: { maxValueBytes: number; onBlanks: (bytes: number) => void },
  ) {
    this.#chunks = chunks[Symbol.asyncIterator]();
    this.#maxValueBytes = options.maxValueBytes;
    this.#onBlanks = options.onBlanks;
  }

  /** Passes white space. Returns the byte after it, or -1 at the end of the body. */
  async peek(): Promise<number> {
    for (;;) {
      const end = this.scanner.skipSpace(this.#position);
      if (end > this.#position) this.#onBlanks(end - this.#position);
      this.#position = end;
      if (end < this.scanner.sizeBytes) return this.scanner.byteAt(end);
      if (this.#isAll) return -1;
      await this.#load(1);
    }
  }

  pass(): void {
    this.#position += 1;
  }

  /**
   * Runs a scan from here on, and runs it again with more text when it reached the end of what had arrived. Returns
   * null, and passes nothing, when the value is longer than a value may be. When the text is not JSON, the reading ends
   * at -1 and the scanner has the fault.
   */
  async read<T extends { readonly end: number }>(scan: (start: number) => T): Promise<T | null> {
    for (;;) {
      const start = this.#position;
      const reading = scan(start);
      const reached = reading.end >= 0 ? reading.end : (this.scanner.fault?.position ?? start);
      if (reached - start > this.#maxValueBytes) return null;
      if (!this.#mayGoOn(reading.end >= 0 ? reached : reached + cutBytes)) {
        if (reading.end >= 0) this.#position = reading.end;
        return reading;
      }
      const restBytes = this.#bytes.length - start;
      if (restBytes > this.#maxValueBytes) return null;
      // Each time twice as much text is awaited, so that a value that arrives in many pieces is not scanned as many
      // times.
      await this.#load(restBytes + 1);
    }
  }

  /** Passes a value without checking it, guided by its brackets and strings. */
  async passValue(): Promise<void> {
    let depth = 0;
    let isInString = false;
    let isEscaped = false;
    const passByte = (byte: number): 'inside' | 'last' | 'behind' => {
      if (isInString) {
        if (isEscaped) isEscaped = false;
        else if (byte === 0x5c) isEscaped = true;
        else if (byte === 0x22) isInString = false;
        return isInString || depth > 0 || byte !== 0x22 ? 'inside' : 'last';
      }
      if (byte === 0x22) isInString = true;
      else if (byte === 0x7b || byte === 0x5b) depth += 1;
      else if (byte === 0x7d || byte === 0x5d) {
        depth -= 1;
        if (depth <= 0) return depth === 0 ? 'last' : 'behind';
      }
      return depth === 0 && (byte === 0x2c || isBlank(byte)) ? 'behind' : 'inside';
    };
    for (let place = 'inside'; place === 'inside'; ) {
      let blanks = 0;
      while (place === 'inside' && this.#position < this.scanner.sizeBytes) {
        const byte = this.#bytes[this.#position] ?? 0;
        if (!isInString && isBlank(byte)) blanks += 1;
        place = passByte(byte);
        if (place !== 'behind') this.#position += 1;
      }
      this.#onBlanks(blanks);
      if (this.#isAll) place = 'behind';
      // This is done at the end as well, because the scanner must continue after the bytes that it has not seen.
      await this.#load(place === 'inside' ? 1 : 0);
    }
  }

  /** Notes in the scanner that something else was expected here. */
  refuse(expected: string): void {
    this.scanner.refuse(this.#position, expected);
  }

  /** Returns the offset in the body of a position of the scanner. */
  offsetOf(position: number): number {
    return this.#offset + position;
  }

  /** Returns whether more text may change what was scanned: a number, above all, does not show its own end. */
  #mayGoOn(reached: number): boolean {
    return !this.#isAll && reached >= this.scanner.sizeBytes;
  }

  /**
   * Drops what was passed, and waits for this many bytes more or for the end. Throws NotUtf8, and whatever the body
   * throws.
   */
  async #load(wantedBytes: number): Promise<void> {
    const pieces = [this.#bytes.subarray(this.#position)];
    for (let came = 0; came < wantedBytes && !this.#isAll; ) {
      const next = await this.#chunks.next();
      if (next.done) this.#isAll = true;
      else {
        pieces.push(next.value);
        came += next.value.length;
      }
    }
    this.#offset += this.#position;
    this.#position = 0;
    this.#bytes = Buffer.concat(pieces);
    if (this.#offset === 0 && this.#bytes.subarray(0, 3).equals(byteOrderMark)) {
      this.#bytes = this.#bytes.subarray(3);
      this.#offset = 3;
    }
    const whole = this.#isAll ? this.#bytes : this.#bytes.subarray(0, wholeBytes(this.#bytes));
    if (!isUtf8(whole)) throw new NotUtf8();
    this.scanner.load(whole.toString());
  }
}

const byteOrderMark = Buffer.from('\ufeff');

/** Thrown when the body is not UTF-8. */
export class NotUtf8 extends Error {}

/** Returns the number of bytes without the last character if that is incomplete. */
function wholeBytes(bytes: Buffer): number {
  const { length } = bytes;
  for (let back = 1; back <= Math.min(3, length); back += 1) {
    const byte = bytes[length - back] ?? 0;
    if (byte < 0x80) return length;
    if (byte >= 0xc0)
      return back < (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) ? length - back : length;
  }
  return length;
}

export function isBlank(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}
