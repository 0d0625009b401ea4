import { isUtf8 } from 'node:buffer';
import { isSpace } from '../../kernel/json-items.ts';
import { assertText } from './body.ts';

/** A line of NDJSON that is not blank. `text` is null when the line cannot be read at all. */
export type Line = {
  /** The number of the line among all lines, from 0. */
  readonly index: number;
  /** Where the line begins in the stream and how long it is, in bytes without its line feed. */
  readonly offset: number;
  readonly sizeBytes: number;
} & Decoded;

type Decoded =
  | { readonly text: string; readonly fault: null }
  | { readonly text: null; readonly fault: 'record_too_large' | 'json_invalid' };

/** Where a line begins: its number, from 0, and its first byte in the stream. */
export type Place = { readonly line: number; readonly byte: number };

/** The lines that ended in one chunk. */
export type Lines = {
  readonly lines: readonly Line[];
  /** The bytes of blank lines, and the blank bytes of lines that are too long. */
  readonly blankBytes: number;
  /** The bytes of lines that are too long, counted as they arrive. */
  readonly overlongBytes: number;
  /** Where the next line begins. */
  readonly end: Place;
};

const lineFeed = 0x0a;
const byteOrderMark = '\ufeff';

/**
 * Cuts a stream into lines and yields the lines of each chunk together. Blank lines are left out. A line longer than
 * `maxBytes` is skipped without being held in memory, and one that is not UTF-8 is reported as such. A byte order mark
 * at the beginning is not part of the first line. Throws 400 `body_encoding_invalid` when the stream is no text.
 */
export async function* splitLines(
  chunks: AsyncIterable<Buffer>,
  maxBytes: number,
): AsyncGenerator<Lines> {
  const cutter = new LineCutter(maxBytes);
  let isFirst = true;
  for await (const chunk of chunks) {
    if (isFirst) assertText(chunk);
    isFirst = false;
    yield cutter.add(chunk);
  }
  yield cutter.end();
}

class LineCutter {
  readonly #maxBytes: number;
  /** The beginning of a line whose end has not arrived. */
  #held: Buffer[] = [];
  #heldBytes = 0;
  /** The bytes so far of the line that is being skipped; 0 when none is. */
  #skippedBytes = 0;
  #index = 0;
  #offset = 0;
  #blankBytes = 0;
  #overlongBytes = 0;
  #lines: Line[] = [];

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  add(chunk: Buffer): Lines {
    const end = chunk.lastIndexOf(lineFeed) + 1;
    if (end === 0) {
      this.#hold(chunk);
      return this.#take();
    }
    let from = 0;
    if (this.#skippedBytes > 0) {
      from = chunk.indexOf(lineFeed) + 1;
      this.#hold(chunk.subarray(0, from - 1));
      this.#endSkipping();
    }
    this.#cut(Buffer.concat([...this.#held, chunk.subarray(from, end)]));
    this.#held = [];
    this.#heldBytes = 0;
    this.#hold(chunk.subarray(end));
    return this.#take();
  }

  /** Ends the stream. What stands after the last line feed is a line as well. */
  end(): Lines {
    if (this.#skippedBytes > 0) this.#endSkipping();
    else if (this.#heldBytes > 0) this.#cut(Buffer.concat([...this.#held, Buffer.from('\n')]));
    return this.#take();
  }

  #take(): Lines {
    const end = { line: this.#index, byte: this.#offset };
    const taken = {
      lines: this.#lines,
      blankBytes: this.#blankBytes,
      overlongBytes: this.#overlongBytes,
      end,
    };
    this.#lines = [];
    this.#blankBytes = 0;
    this.#overlongBytes = 0;
    return taken;
  }

  #hold(bytes: Buffer): void {
    if (bytes.length === 0) return;
    if (this.#skippedBytes === 0) {
      this.#held.push(bytes);
      this.#heldBytes += bytes.length;
      if (this.#heldBytes <= this.#maxBytes) return;
      for (const held of this.#held) this.#skip(held);
      this.#held = [];
      this.#heldBytes = 0;
    } else this.#skip(bytes);
  }

  #skip(bytes: Buffer): void {
    this.#skippedBytes += bytes.length;
    this.#overlongBytes += bytes.length;
    for (const byte of bytes) if (isSpace(byte)) this.#blankBytes += 1;
  }

  #endSkipping(): void {
    this.#push(this.#skippedBytes, { text: null, fault: 'record_too_large' });
    this.#skippedBytes = 0;
  }

  /** Cuts bytes that end with a line feed into lines: decoded together, ten times as fast as line by line. */
  #cut(bytes: Buffer): void {
    const isReadable = bytes.length <= this.#maxBytes && isUtf8(bytes);
    const text = isReadable ? bytes.toString() : null;
    const isAscii = text?.length === bytes.length;
    let start = 0;
    while (start < (text ?? bytes).length) {
      if (text === null) {
        const end = bytes.indexOf(lineFeed, start);
        this.#addBytes(bytes.subarray(start, end));
        start = end + 1;
      } else if (text.charCodeAt(start) === lineFeed) {
        // Megabytes of empty lines may come out of one compressed kilobyte, so they are passed as fast as possible.
        this.#pass(0);
        start += 1;
      } else {
        const end = text.indexOf('\n', start);
        const line = text.slice(start, end);
        this.#addText(line, isAscii ? line.length : Buffer.byteLength(line));
        start = end + 1;
      }
    }
  }

  #addBytes(line: Buffer): void {
    if (line.length > this.#maxBytes) {
      this.#skip(line);
      this.#endSkipping();
    } else if (!isUtf8(line)) {
      this.#push(line.length, { text: null, fault: 'json_invalid' });
    } else this.#addText(line.toString(), line.length);
  }

  #addText(line: string, sizeBytes: number): void {
    // Only a line that begins with a blank or with a character beyond ASCII can be blank; all others need no `trim`.
    if (line.charCodeAt(0) <= 0x20 || line.charCodeAt(0) >= 0x80 || line === '') {
      if (line.trim() === '') {
        this.#pass(sizeBytes);
        return;
      }
    }
    const isMarked = this.#index === 0 && line.startsWith(byteOrderMark);
    this.#push(sizeBytes, { text: isMarked ? line.slice(1) : line, fault: null });
  }

  #pass(sizeBytes: number): void {
    this.#blankBytes += sizeBytes + 1;
    this.#index += 1;
    this.#offset += sizeBytes + 1;
  }

  #push(sizeBytes: number, read: Decoded): void {
    this.#lines.push({ index: this.#index, offset: this.#offset, sizeBytes, ...read });
    this.#index += 1;
    this.#offset += sizeBytes + 1;
  }
}
