import { formatMicros, instantFault, parseInstant } from '../../kernel/instant.ts';
import type { JsonFault, JsonScanner } from '../../kernel/json-text.ts';
import { isReservedName } from '../../kernel/names.ts';

/** A record as it was sent, after all checks (SPEC §2). */
export type IncomingRecord = {
  tenant: string;
  store: string;
  eventId: string;
  /** Microseconds since 1970, as a safe integer. */
  occurredAtMicros: number;
  kind: string | null;
  source: string | null;
  model: string | null;
  /** The decimal text as it was sent: `0.10` stays `0.10`. */
  confidence: string | null;
  /** The JSON object as it was sent, without white space between tokens. */
  enrichment: string;
  /** The UTF-8 length of the record as one line of NDJSON, without its line feed. */
  bytes: number;
};

export type RecordFaultCode =
  | 'record_invalid'
  | 'record_too_large'
  | 'field_unknown'
  | 'field_required'
  | 'field_invalid'
  | 'enrichment_too_large'
  | JsonFault['code'];

export type RecordFault = {
  code: RecordFaultCode;
  message: string;
  /** The field that is wrong; null where it is none, or not one alone. */
  field: Field | null;
  /** The tenant, if it was read before the fault; '' otherwise. */
  tenant: string;
};

/** A record or its fault. `end` is the byte after it, or -1 when the text is not JSON from some point on. */
export type RecordReading =
  | { record: IncomingRecord; fault: null; end: number }
  | { record: null; fault: RecordFault; end: number };

export type RecordLimits = {
  /** `occurred_at` may be at most a day later than this. */
  nowMicros: number;
  /** The largest `enrichment`, in UTF-8 bytes of its compact form. */
  maxEnrichmentBytes: number;
};

const microsPerDay = 86_400_000_000;
const instantBytes = '"YYYY-MM-DDTHH:MM:SS.ffffffZ"'.length;
const maxConfidenceLength = 40;

/** One bit for each field, to note which fields were seen. */
const fields = {
  tenant: 1,
  store: 2,
  event_id: 4,
  occurred_at: 8,
  kind: 16,
  source: 32,
  model: 64,
  confidence: 128,
  enrichment: 256,
} as const;
type Field = keyof typeof fields;

const requiredFields = ['tenant', 'store', 'event_id', 'occurred_at', 'enrichment'] as const;
const allRequired = requiredFields.reduce((bits, field) => bits | fields[field], 0);

const nameRule =
  'of 1 to 128 characters without control characters and "/", other than "*", "." and ".."';

const rules: Record<Field, string> = {
  tenant: `tenant must be a string ${nameRule}`,
  store: `store must be a string ${nameRule}`,
  event_id: 'event_id must be a string of 1 to 200 characters without control characters',
  occurred_at:
    'occurred_at must be an RFC 3339 instant such as 2001-03-01T00:05:00.123456Z, in double quotes',
  kind: 'kind must be a string of at most 200 characters without U+0001 and U+001F, or absent',
  source: 'source must be a string of at most 200 characters without U+0001 and U+001F, or absent',
  model: 'model must be a string of at most 200 characters without U+0001 and U+001F, or absent',
  confidence: `confidence must be a number from 0 to 1 of at most ${maxConfidenceLength} characters, or absent`,
  enrichment: 'enrichment must be a JSON object',
};

/** Reads records from a scanner, and tells the first fault. `end` is -1 after one of the grammar. */
export class RecordReader {
  readonly #scanner: JsonScanner;
  readonly #latestMicros: number;
  readonly #maxEnrichmentBytes: number;
  #record: IncomingRecord = emptyRecord();
  #fault: RecordFault | null = null;
  /** The bits of the fields that were seen. */
  #seen = 0;
  #start = 0;

  constructor(scanner: JsonScanner, limits: RecordLimits) {
    this.#scanner = scanner;
    this.#latestMicros = limits.nowMicros + microsPerDay;
    this.#maxEnrichmentBytes = limits.maxEnrichmentBytes;
  }

  /** Reads the record that begins at this offset. */
  read(start: number): RecordReading {
    const scanner = this.#scanner;
    this.#record = emptyRecord();
    this.#fault = null;
    this.#seen = 0;
    this.#start = start;
    if (scanner.byteAt(start) !== 0x7b) {
      const end = scanner.scanValue(start);
      this.#refuse('record_invalid', 'a record must be a JSON object');
      return this.#finish(end);
    }
    let position = scanner.skipSpace(start + 1);
    if (scanner.byteAt(position) === 0x7d) return this.#finish(position + 1);
    for (;;) {
      position = this.#readMember(position);
      if (position < 0) return this.#finish(-1);
      position = scanner.skipSpace(position);
      const next = scanner.byteAt(position);
      if (next === 0x7d) return this.#finish(position + 1);
      if (next !== 0x2c) return this.#finish(scanner.refuse(position, 'a comma or }'));
      position = scanner.skipSpace(position + 1);
    }
  }

  #finish(end: number): RecordReading {
    const scanner = this.#scanner;
    const record = this.#record;
    if (end < 0 && scanner.fault !== null) {
      const fault = this.#describe(scanner.fault, 'the record');
      return { record: null, fault: { ...fault, tenant: record.tenant }, end };
    }
    scanner.fault = null;
    if (this.#fault === null && (this.#seen & allRequired) !== allRequired) {
      const missing = requiredFields.find((field) => (this.#seen & fields[field]) === 0);
      this.#refuse('field_required', `${missing} is missing`, missing);
    }
    if (this.#fault !== null) {
      return { record: null, fault: { ...this.#fault, tenant: record.tenant }, end };
    }
    return { record, fault: null, end };
  }

  /** Reads one field and its value. Returns the offset after it, or -1 when the text is not JSON. */
  #readMember(start: number): number {
    const scanner = this.#scanner;
    if (scanner.byteAt(start) !== 0x22) return scanner.refuse(start, 'a key in double quotes');
    const keyEnd = scanner.scanString(start);
    if (keyEnd < 0) return -1;
    const name = scanner.hasEscape
      ? fieldNamed(scanner.stringValue(start, keyEnd))
      : fieldAt(scanner, start, keyEnd);
    if (scanner.fault !== null) this.#takeFault('a field name');
    if (name === null) {
      // Many unknown names may follow one another, and only the first one is worth decoding.
      const shown = this.#fault === null ? shorten(scanner.stringValue(start, keyEnd)) : '';
      const batch =
        shown === '"records"' ? '; a batch is one JSON document, sent as application/json' : '';
      this.#refuse('field_unknown', `${shown} is not a field of a record${batch}`);
    } else if ((this.#seen & fields[name]) !== 0) {
      this.#refuse('json_duplicate_key', `${name} may appear only once`, name);
    }
    const valueStart = scanner.scanColon(keyEnd);
    if (valueStart < 0) return -1;
    const end = name === null ? scanner.scanValue(valueStart) : this.#readField(name, valueStart);
    if (end >= 0 && scanner.fault !== null) this.#takeFault(name ?? 'an unknown field', name);
    return end;
  }

  #readField(name: Field, start: number): number {
    const scanner = this.#scanner;
    this.#seen |= fields[name];
    scanner.beginValue();
    const first = scanner.byteAt(start);
    if (name === 'enrichment') {
      if (first === 0x7b) return this.#readEnrichment(start);
    } else if (name === 'confidence') {
      if (first === 0x2d || (first >= 0x30 && first <= 0x39)) return this.#readConfidence(start);
    } else if (first === 0x22) {
      return this.#readText(name, start);
    }
    const end = scanner.scanValue(start);
    const isAbsent = first === 0x6e && (fields[name] & allRequired) === 0;
    if (!isAbsent) this.#refuse('field_invalid', `${rules[name]}${otherType(name, first)}`, name);
    return end;
  }

  #readEnrichment(start: number): number {
    const scanner = this.#scanner;
    const record = this.#record;
    const end = scanner.scanValue(start);
    if (end < 0 || scanner.fault !== null) return end;
    const sizeBytes = scanner.compactBytes(start, end);
    if (sizeBytes > this.#maxEnrichmentBytes) {
      this.#refuse(
        'enrichment_too_large',
        `enrichment has ${sizeBytes} bytes; at most ${this.#maxEnrichmentBytes} are allowed`,
        'enrichment',
      );
      return end;
    }
    record.enrichment = scanner.compact(start, end);
    record.bytes += memberBytes('enrichment', sizeBytes);
    return end;
  }

  #readConfidence(start: number): number {
    const end = this.#scanner.scanNumber(start);
    if (end < 0) return -1;
    const spelled = this.#scanner.numberText(start, end);
    if (spelled.length > maxConfidenceLength || !isFromZeroToOne(spelled)) {
      this.#refuse('field_invalid', rules.confidence, 'confidence');
    }
    this.#record.confidence = spelled;
    this.#record.bytes += memberBytes('confidence', spelled.length);
    return end;
  }

  #readText(name: Exclude<Field, 'confidence' | 'enrichment'>, start: number): number {
    const scanner = this.#scanner;
    const record = this.#record;
    const end = scanner.scanString(start);
    if (end < 0 || scanner.fault !== null) return end;
    if (name === 'occurred_at') {
      this.#readInstant(start, end);
      return end;
    }
    const { hasEscape } = scanner;
    const value = scanner.stringValue(start, end);
    let isAllowed: boolean;
    switch (name) {
      case 'tenant':
        record.tenant = value;
        isAllowed = this.#isName(value, 128) && !value.includes('/') && !isReservedName(value);
        break;
      case 'store':
        record.store = value;
        isAllowed = this.#isName(value, 128) && !value.includes('/') && !isReservedName(value);
        break;
      case 'event_id':
        record.eventId = value;
        isAllowed = this.#isName(value, 200);
        break;
      case 'kind':
      case 'source':
      case 'model':
        record[name] = value;
        // JSON has no bare control characters, so these two can only have come as escapes.
        isAllowed = isAtMost(value, 200) && !(hasEscape && hasSeparator(value));
        break;
    }
    if (!isAllowed) this.#refuse('field_invalid', rules[name], name);
    const valueBytes = hasEscape ? Buffer.byteLength(JSON.stringify(value)) : end - start;
    record.bytes += memberBytes(name, valueBytes);
    return end;
  }

  #readInstant(start: number, end: number): void {
    const scanner = this.#scanner;
    const record = this.#record;
    const text = scanner.stringValue(start, end);
    const micros = parseInstant(text);
    if (micros === null) {
      const rule = 'occurred_at must be an RFC 3339 instant such as 2001-03-01T00:05:00.123456Z';
      this.#refuse('field_invalid', `${rule}: ${instantFault(text)}`, 'occurred_at');
      return;
    }
    if (micros < 0 || micros > this.#latestMicros) {
      const latest = formatMicros(this.#latestMicros);
      const rule = 'occurred_at must be from 1970 until one day from now';
      const message = `${rule}, which is ${latest}: it is ${shorten(text)}`;
      this.#refuse('field_invalid', message, 'occurred_at');
      return;
    }
    record.occurredAtMicros = micros;
    record.bytes += memberBytes('occurred_at', instantBytes);
  }

  /** Returns whether the string that was scanned last has 1 to `max` characters and no control character. */
  #isName(value: string, max: number): boolean {
    if (value === '' || !isAtMost(value, max) || this.#scanner.hasControl) return false;
    return !(this.#scanner.hasEscape && /\p{Cc}/u.test(value));
  }

  /** Takes over what the scanner noted in a field: something that JSON allows and svcctl refuses. */
  #takeFault(where: string, field: Field | null = null): void {
    const { fault } = this.#scanner;
    this.#scanner.fault = null;
    if (fault !== null) this.#fault ??= this.#describe(fault, where, field);
  }

  #describe(fault: JsonFault, where: string, field: Field | null = null): RecordFault {
    return {
      field,
      tenant: '',
      code: fault.code,
      message: `${where}: ${fault.message} (byte ${fault.position - this.#start} of the record)`,
    };
  }

  /** Notes a fault. Only the first one of a record is kept. */
  #refuse(code: RecordFaultCode, message: string, field: Field | null = null): void {
    this.#fault ??= { code, message, field, tenant: '' };
    // What is no name of a tenant is not told on as one.
    if (field === 'tenant') this.#record.tenant = '';
  }
}

function emptyRecord(): IncomingRecord {
  return {
    tenant: '',
    store: '',
    eventId: '',
    occurredAtMicros: 0,
    kind: null,
    source: null,
    model: null,
    confidence: null,
    enrichment: '',
    // The closing brace counts here. Each field adds its own comma or the opening brace.
    bytes: 1,
  };
}

/** Returns the bytes of one field in the NDJSON line: comma or brace, name in quotes, colon and value. */
function memberBytes(name: Field, valueBytes: number): number {
  return name.length + 4 + valueBytes;
}

/** Says what to do about a value of another type, by its first byte; '' where the rule says enough. */
function otherType(name: Field, first: number): string {
  if (name === 'enrichment' && first === 0x22) {
    return ': it is a string; send the object itself, not its text in quotes';
  }
  const isNumber = first === 0x2d || (first >= 0x30 && first <= 0x39);
  return name === 'occurred_at' && isNumber ? ': it is a number of seconds or the like' : '';
}

/** Returns the field whose name is the string that was just scanned, which has no escape; null when there is none. */
function fieldAt(scanner: JsonScanner, start: number, end: number): Field | null {
  const field = fieldLike(scanner.byteAt(start + 1), end - start - 2);
  return field !== null && scanner.isString(start, field) ? field : null;
}

/** Returns the only field that has this length and may begin with this character. */
function fieldLike(first: number, length: number): Field | null {
  switch (length) {
    case 4:
      return 'kind';
    case 5:
      return first === 0x73 ? 'store' : 'model';
    case 6:
      return first === 0x74 ? 'tenant' : 'source';
    case 8:
      return 'event_id';
    case 10:
      return first === 0x63 ? 'confidence' : 'enrichment';
    case 11:
      return 'occurred_at';
    default:
      return null;
  }
}

function fieldNamed(name: string): Field | null {
  return Object.hasOwn(fields, name) ? (name as Field) : null;
}

/** Returns whether a text has at most `max` characters, counted as code points. */
function isAtMost(value: string, max: number): boolean {
  if (value.length <= max) return true;
  if (value.length > 2 * max) return false;
  let count = 0;
  for (const _ of value) count += 1;
  return count <= max;
}

/** Returns whether the text holds one of the two characters that separate fields in the digest and mark absent ones. */
function hasSeparator(value: string): boolean {
  return value.includes('\u0001') || value.includes('\u001f');
}

/** Whether a JSON number is 0 to 1, exactly: rounded to a double, others may be 1 or -0, as databases would see. */
function isFromZeroToOne(spelled: string): boolean {
  const value = Number(spelled);
  if (value < 0 || value > 1) return false;
  if (value > 0 && value < 1) return true;
  const [mantissa = '', exponent = '0'] = spelled.split(/e/i);
  const [whole = '', fraction = ''] = mantissa.split('.');
  if (value === 0) return !spelled.startsWith('-') || /^-0*$/.test(whole + fraction);
  // Here 0.5 < value < 2. The number is taken as 0.ddd × 10^power, where the first digit is not 0.
  const digits = (whole + fraction).replace(/^0+/, '');
  const power = whole.length + Number(exponent) - (whole.length + fraction.length - digits.length);
  return power < 1 || /^10*$/.test(digits);
}

/** Returns a name from outside, made short enough for a message. */
function shorten(name: string): string {
  return JSON.stringify(name.length <= 64 ? name : `${name.slice(0, 64)}…`);
}
