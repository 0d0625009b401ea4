import { isUtf8 } from 'node:buffer';
import { isSpace } from '../../kernel/json-items.ts';
import { JsonScanner } from '../../kernel/json-text.ts';
import { assertText } from '../../platform/http/body.ts';
import { lineSlip, slipAt } from './hints.ts';
import {
  type IncomingRecord,
  type RecordFault,
  type RecordFaultCode,
  type RecordLimits,
  RecordReader,
  type RecordReading,
} from './record-reader.ts';

type BatchLimits = RecordLimits & {
  maxRecords: number;
  /** A longer element is rejected without being held in memory, as is a line of NDJSON. */
  maxRecordBytes: number;
};

type BatchHandlers = {
  /** `index` is the position in `records`, from 0. `takenBytes` is the space that the record took up in the body. */
  onRecord: (index: number, record: IncomingRecord, takenBytes: number) => void;
  onFault: (index: number, fault: RecordFault, takenBytes: number) => void;
  /** Counts white space outside of elements, and inside of elements that are too long. */
  onBlanks: (bytes: number) => void;
};

/** The envelope is wrong, so nothing of the batch may be stored. `path` is a JSON pointer; '' means the whole body. */
export class EnvelopeFault extends Error {
  readonly code: RecordFaultCode;
  readonly path: string;

  constructor(code: RecordFaultCode, path: string, message: string) {
    super(message);
    this.name = 'EnvelopeFault';
    this.code = code;
    this.path = path;
  }
}

const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const comma = 0x2c;
const colon = 0x3a;
const quote = 0x22;

/**
 * Reads `{"records":[…]}` while it arrives, and returns how many elements there were. Throws EnvelopeFault, also after
 * some were reported: store them only when it has returned. Those too long are not looked into.
 */
export async function readBatch(
  chunks: AsyncIterable<Buffer>,
  limits: BatchLimits,
  handlers: BatchHandlers,
): Promise<number> {
  const json = new JsonWindow(chunks, {
    maxValueBytes: limits.maxRecordBytes,
    onBlanks: handlers.onBlanks,
  });
  try {
    return await readEnvelope(json, limits, handlers);
  } catch (error) {
    if (!(error instanceof NotUtf8)) throw error;
    throw new EnvelopeFault('json_invalid', '', 'The body is not UTF-8.');
  }
}

async function readEnvelope(
  json: JsonWindow,
  limits: BatchLimits,
  handlers: BatchHandlers,
): Promise<number> {
  const first = await json.peek();
  if (first === -1) throw new EnvelopeFault('json_invalid', '', 'the body is empty');
  if (first !== openBrace) {
    await readOther(json, '');
    const message =
      'the body must be a JSON object, {"records": [ … ]}; a record a line is sent as application/x-ndjson';
    throw new EnvelopeFault('field_invalid', '', message);
  }
  json.pass();
  if ((await json.peek()) === closeBrace) {
    throw new EnvelopeFault('field_required', '/records', 'records is missing');
  }
  await readRecordsKey(json);
  const count = await readRecords(json, limits, handlers);
  const next = await json.peek();
  if (next === comma) {
    json.pass();
    await json.peek();
    // The envelope has only one field, so whatever follows is unknown or a duplicate.
    await readRecordsKey(json);
    throw new EnvelopeFault('json_duplicate_key', '/records', 'records may appear only once');
  }
  if (next !== closeBrace) return refuse(json, 'a comma or }');
  json.pass();
  if ((await json.peek()) !== -1) return refuse(json, 'nothing after the envelope');
  return count;
}

/** Reads the key `records` and its colon. */
async function readRecordsKey(json: JsonWindow): Promise<void> {
  const { scanner } = json;
  if ((await json.peek()) !== quote) refuse(json, 'a key in double quotes');
  const read = await json.read((start) => {
    const end = scanner.scanString(start);
    return { end, key: end < 0 ? '' : scanner.stringValue(start, end) };
  });
  if (read !== null && (read.end < 0 || scanner.fault !== null)) throw syntaxFault(json, '');
  const key = read?.key ?? '…';
  if (key !== 'records') {
    const path = `/${key.slice(0, 64).replaceAll('~', '~0').replaceAll('/', '~1')}`;
    const message =
      'the body is {"records": [ … ]}, without any other field; a record a line is sent as application/x-ndjson (svcctl: a file that does not end in .json)';
    throw new EnvelopeFault('field_unknown', path, message);
  }
  if ((await json.peek()) !== colon) refuse(json, 'a colon');
  json.pass();
}

async function readRecords(
  json: JsonWindow,
  limits: BatchLimits,
  handlers: BatchHandlers,
): Promise<number> {
  const most = `records must be an array of 1 to ${limits.maxRecords} records`;
  if ((await json.peek()) !== openBracket) {
    await readOther(json, '/records');
    throw new EnvelopeFault('field_invalid', '/records', most);
  }
  json.pass();
  if ((await json.peek()) === closeBracket) {
    throw new EnvelopeFault('field_invalid', '/records', most);
  }
  const reader = new RecordReader(json.scanner, limits);
  for (let index = 0; ; index += 1) {
    if (index === limits.maxRecords) throw new EnvelopeFault('field_invalid', '/records', most);
    await readElement(json, reader, { index, handlers });
    const next = await json.peek();
    if (next !== comma && next !== closeBracket) return refuse(json, 'a comma or ]');
    json.pass();
    if (next === closeBracket) return index + 1;
    await json.peek();
  }
}

async function readElement(
  json: JsonWindow,
  reader: RecordReader,
  { index, handlers }: { index: number; handlers: BatchHandlers },
): Promise<void> {
  const reading = await json.read((start) => ({ ...reader.read(start), start }));
  if (reading === null) {
    handlers.onFault(index, tooLong, 0);
    await json.passValue();
    return;
  }
  const { record, fault, start, end } = reading;
  if (end < 0) throw syntaxFault(json, `/records/${index}`);
  if (record !== null) handlers.onRecord(index, record, end - start);
  else handlers.onFault(index, fault, end - start);
}

const tooLong: RecordFault = {
  code: 'record_too_large',
  message: 'the element is longer than any record may be',
  field: null,
  tenant: '',
};

/** Reads a value that does not belong in this place, only to say whether it is JSON at all. */
async function readOther(json: JsonWindow, path: string): Promise<void> {
  const read = await json.read((start) => ({ end: json.scanner.scanValue(start) }));
  if (read !== null && read.end < 0) throw syntaxFault(json, path);
}

function refuse(json: JsonWindow, expected: string): never {
  json.refuse(expected);
  throw syntaxFault(json, '');
}

/** Turns the fault that the scanner noted into one of the envelope. */
function syntaxFault(json: JsonWindow, path: string): EnvelopeFault {
  const { fault } = json.scanner;
  if (fault === null) throw new TypeError('no fault was noted');
  const place = `byte ${json.offsetOf(fault.position)} of the body`;
  const slip = fault.code === 'json_invalid' ? slipAt(json.scanner, fault.position) : '';
  const message = `${fault.message} (${place})${slip}`;
  return new EnvelopeFault(fault.code, path, message);
}

/** Reads lines of NDJSON, each with one record, which may have white space around it. */
export class LineReader {
  readonly #scanner = new JsonScanner('');
  readonly #reader: RecordReader;

  constructor(limits: RecordLimits) {
    this.#reader = new RecordReader(this.#scanner, limits);
  }

  read(line: string): RecordReading {
    const scanner = this.#scanner;
    scanner.load(line);
    const reading = this.#reader.read(scanner.skipSpace(0));
    if (reading.end < 0) return explained(reading, lineSlip(scanner, scanner.fault?.position ?? 0));
    const end = scanner.skipSpace(reading.end);
    if (end === scanner.sizeBytes) {
      if (reading.fault?.code !== 'record_invalid') return reading;
      return explained(reading, lineSlip(scanner, 0));
    }
    const message = `expected nothing after the record (byte ${end} of the line)${lineSlip(scanner, end)}`;
    const fault = { code: 'json_invalid' as const, message, field: null, tenant: '' };
    return { record: null, fault, end: -1 };
  }
}

/** Adds to a fault what was probably meant. */
function explained(reading: RecordReading, slip: string): RecordReading {
  const { fault, end } = reading;
  if (fault === null || slip === '') return reading;
  return { record: null, fault: { ...fault, message: `${fault.message}${slip}` }, end };
}

/** Reads a single line as `LineReader` does. */
export function readLine(line: string, limits: RecordLimits): RecordReading {
  return new LineReader(limits).read(line);
}

/** A fault this near to the end of what has arrived may not be one: the rest of a word may be missing. */
const cutBytes = 16;

/** A part of a JSON text that moves forward as it arrives: little is in memory, and others are served meanwhile. */
class JsonWindow {
  readonly scanner = new JsonScanner('');
  readonly #chunks: AsyncIterator<Buffer>;
  readonly #maxValueBytes: number;
  readonly #onBlanks: (bytes: number) => void;
  /** The bytes that came and were not dropped. The scanner has loaded all but an incomplete last character. */
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
      return depth === 0 && (byte === 0x2c || isSpace(byte)) ? 'behind' : 'inside';
    };
    for (let place = 'inside'; place === 'inside'; ) {
      let blanks = 0;
      while (place === 'inside' && this.#position < this.scanner.sizeBytes) {
        const byte = this.#bytes[this.#position] ?? 0;
        if (!isInString && isSpace(byte)) blanks += 1;
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

  /** Drops what was passed, and waits for so many bytes or the end. Throws NotUtf8, and what the body throws. */
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
    if (this.#offset === 0) {
      assertText(this.#bytes);
      if (this.#bytes.subarray(0, 3).equals(byteOrderMark)) {
        this.#bytes = this.#bytes.subarray(3);
        this.#offset = 3;
      }
    }
    const whole = this.#isAll ? this.#bytes : this.#bytes.subarray(0, wholeBytes(this.#bytes));
    if (!isUtf8(whole)) throw new NotUtf8();
    this.scanner.load(whole.toString());
  }
}

const byteOrderMark = Buffer.from('\ufeff');

/** Thrown when the body is not UTF-8. */
class NotUtf8 extends Error {}

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
