import { JsonScanner } from '../../kernel/json-text.ts';
import {
  type IncomingRecord,
  type RecordFault,
  type RecordFaultCode,
  type RecordLimits,
  RecordReader,
  type RecordReading,
} from './record-reader.ts';

export type BatchLimits = RecordLimits & { maxRecords: number };

export type BatchHandlers = {
  /** `index` is the position in `records`, from 0. */
  onRecord: (index: number, record: IncomingRecord) => void;
  onFault: (index: number, fault: RecordFault) => void;
};

/** The envelope is wrong: nothing of it may be stored. `path` is a JSON pointer; '' is the whole. */
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

/**
 * Reads `{"records":[…]}` and tells each element, in order; answers how many there were. Throws
 * EnvelopeFault, also after elements have been told: collect them, and store only once it returns.
 */
export function readBatch(text: string, limits: BatchLimits, handlers: BatchHandlers): number {
  const scanner = new JsonScanner(text);
  const start = scanner.skipSpace(0);
  if (scanner.byteAt(start) !== 0x7b) {
    if (scanner.scanValue(start) < 0) throw syntaxFault(scanner, '');
    throw new EnvelopeFault('field_invalid', '', 'the body must be a JSON object');
  }
  const first = scanner.skipSpace(start + 1);
  if (scanner.byteAt(first) === 0x7d) {
    throw new EnvelopeFault('field_required', '/records', 'records is missing');
  }
  const { count, end } = readRecords(scanner, scanRecordsKey(scanner, first), limits, handlers);

  let position = scanner.skipSpace(end);
  if (scanner.byteAt(position) === 0x2c) {
    // There is only one field: whatever comes is unknown or a duplicate.
    scanRecordsKey(scanner, scanner.skipSpace(position + 1));
    throw new EnvelopeFault('json_duplicate_key', '/records', 'records may appear only once');
  }
  if (scanner.byteAt(position) !== 0x7d) return refuse(scanner, position, 'a comma or }');
  position = scanner.skipSpace(position + 1);
  if (position < scanner.sizeBytes) return refuse(scanner, position, 'nothing after the envelope');
  return count;
}

/** Reads lines of NDJSON, one record each; white space around it is allowed. */
export class LineReader {
  private readonly scanner = new JsonScanner('');
  private readonly reader: RecordReader;

  constructor(limits: RecordLimits) {
    this.reader = new RecordReader(this.scanner, limits);
  }

  read(line: string): RecordReading {
    const { scanner } = this;
    scanner.load(line);
    const reading = this.reader.read(scanner.skipSpace(0));
    if (reading.end < 0) return reading;
    const end = scanner.skipSpace(reading.end);
    if (end === scanner.sizeBytes) return reading;
    const message = `expected nothing after the record (byte ${end} of the line)`;
    return { record: null, fault: { code: 'json_invalid', message }, end: -1 };
  }
}

/** `LineReader` for a single line. */
export function readLine(line: string, limits: RecordLimits): RecordReading {
  return new LineReader(limits).read(line);
}

/** The key `records` and its colon; answers where the value begins. */
function scanRecordsKey(scanner: JsonScanner, start: number): number {
  if (scanner.byteAt(start) !== 0x22) refuse(scanner, start, 'a key in double quotes');
  const end = scanner.scanString(start);
  if (end < 0 || scanner.fault !== null) throw syntaxFault(scanner, '');
  const key = scanner.stringValue(start, end);
  if (key !== 'records') {
    const path = `/${key.slice(0, 64).replaceAll('~', '~0').replaceAll('/', '~1')}`;
    throw new EnvelopeFault('field_unknown', path, 'the envelope has one field, records');
  }
  const value = scanner.scanColon(end);
  if (value < 0) throw syntaxFault(scanner, '');
  return value;
}

function readRecords(
  scanner: JsonScanner,
  start: number,
  limits: BatchLimits,
  handlers: BatchHandlers,
): { count: number; end: number } {
  const most = `records must be an array of 1 to ${limits.maxRecords} records`;
  if (scanner.byteAt(start) !== 0x5b) {
    if (scanner.scanValue(start) < 0) throw syntaxFault(scanner, '/records');
    throw new EnvelopeFault('field_invalid', '/records', most);
  }
  let position = scanner.skipSpace(start + 1);
  if (scanner.byteAt(position) === 0x5d) {
    throw new EnvelopeFault('field_invalid', '/records', most);
  }
  const reader = new RecordReader(scanner, limits);
  for (let index = 0; ; index += 1) {
    if (index === limits.maxRecords) throw new EnvelopeFault('field_invalid', '/records', most);
    const { record, fault, end } = reader.read(position);
    if (end < 0) throw syntaxFault(scanner, `/records/${index}`);
    if (record !== null) handlers.onRecord(index, record);
    else handlers.onFault(index, fault);

    position = scanner.skipSpace(end);
    const next = scanner.byteAt(position);
    if (next === 0x5d) return { count: index + 1, end: position + 1 };
    if (next !== 0x2c) return refuse(scanner, position, 'a comma or ]');
    position = scanner.skipSpace(position + 1);
  }
}

function refuse(scanner: JsonScanner, position: number, expected: string): never {
  scanner.refuse(position, expected);
  throw syntaxFault(scanner, '');
}

/** The scanner's fault as one of the envelope. */
function syntaxFault(scanner: JsonScanner, path: string): EnvelopeFault {
  const { fault } = scanner;
  if (fault === null) throw new TypeError('no fault was noted');
  const message = `${fault.message} (byte ${fault.position} of the body)`;
  return new EnvelopeFault(fault.code, path, message);
}
