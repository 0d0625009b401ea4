import { JsonScanner } from '../../kernel/json-text.ts';
import { JsonWindow, NotUtf8 } from './json-window.ts';
import {
  type IncomingRecord,
  type RecordFault,
  type RecordFaultCode,
  type RecordLimits,
  RecordReader,
  type RecordReading,
} from './record-reader.ts';

export type BatchLimits = RecordLimits & {
  maxRecords: number;
  /** A longer element is rejected without being held in memory, as is a line of NDJSON. */
  maxRecordBytes: number;
};

export type BatchHandlers = {
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
 * Reads `{"records":[…]}` while it arrives, reports each element in order and returns how many there were. Throws
 * EnvelopeFault, possibly after elements have been reported: collect them, and store them only when it has returned.
 * Elements that are longer than any record may be are not looked into.
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
  if ((await json.peek()) !== openBrace) {
    await readOther(json, '');
    throw new EnvelopeFault('field_invalid', '', 'the body must be a JSON object');
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
    throw new EnvelopeFault('field_unknown', path, 'the envelope has one field, records');
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
  const message = `${fault.message} (byte ${json.offsetOf(fault.position)} of the body)`;
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
    if (reading.end < 0) return reading;
    const end = scanner.skipSpace(reading.end);
    if (end === scanner.sizeBytes) return reading;
    const message = `expected nothing after the record (byte ${end} of the line)`;
    return { record: null, fault: { code: 'json_invalid', message }, end: -1 };
  }
}

/** Reads a single line as `LineReader` does. */
export function readLine(line: string, limits: RecordLimits): RecordReading {
  return new LineReader(limits).read(line);
}
