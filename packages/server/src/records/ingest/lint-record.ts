import { JsonScanner } from '../../kernel/json-text.ts';
import type { warningCodes } from '../contract.ts';
import type { IncomingRecord } from './record-reader.ts';

export type WarningCode = keyof typeof warningCodes;

/** What other readers choke on in a record that is stored all the same. */
type Warning = {
  code: WarningCode;
  /** A JSON pointer into the record, such as `/enrichment/legs/0/id`. It is cut when it is very long. */
  path: string;
  message: string;
};

/** Jackson refuses longer numbers, Python from 4,300 digits on. */
const mostNumberLength = 1000;
/** .NET's System.Text.Json refuses what is nested deeper. */
const mostNesting = 64;
/** A decimal of so many digits comes back from a double as it was. */
const exactDigits = 15;
const mostPathLength = 400;

/** Finds what other readers choke on in records that were read without a fault. */
export class RecordLinter {
  readonly #scanner = new JsonScanner('');
  readonly #path: (string | number)[] = [];
  /** The first place of each code in the record, and how many more there are. */
  readonly #found = new Map<WarningCode, { path: string; what: string; more: number }>();

  /** Returns one warning for each code, with the path of its first place. */
  lint({ confidence, enrichment }: IncomingRecord): Warning[] {
    this.#path.length = 0;
    if (confidence !== null) this.#lintNumber(confidence, ['confidence']);
    this.#path.push('enrichment');
    this.#scanner.load(enrichment);
    this.#passValue(0);
    const warnings = Array.from(this.#found, ([code, { path, what, more }]) => ({
      code,
      path,
      message: `${what}: ${consequences[code]}${more === 0 ? '' : ` (and ${more} more in this record)`}`,
    }));
    this.#found.clear();
    return warnings;
  }

  /** The text is known to be JSON, compact and nested at most 100 deep. Returns the offset after the value. */
  #passValue(start: number): number {
    const scanner = this.#scanner;
    const first = scanner.byteAt(start);
    if (first === 0x7b || first === 0x5b) return this.#passContainer(start, first === 0x7b);
    if (first === 0x22) return scanner.scanString(start);
    if (first !== 0x2d && (first < 0x30 || first > 0x39)) return scanner.scanValue(start);
    const end = scanner.scanNumber(start);
    this.#lintNumber(scanner.numberText(start, end));
    return end;
  }

  #passContainer(start: number, isObject: boolean): number {
    const scanner = this.#scanner;
    const path = this.#path;
    // The record itself is the first level, and each step of the path leads to one more.
    if (path.length === mostNesting) this.#note('nesting_deep', `${mostNesting + 1} levels`);
    let position = start + 1;
    const isEmpty = scanner.byteAt(position) === (isObject ? 0x7d : 0x5d);
    for (let index = 0; !isEmpty; index += 1) {
      if (isObject) {
        const keyEnd = scanner.scanString(position);
        const key = scanner.stringValue(position, keyEnd);
        path.push(key);
        if (key.includes('.')) this.#note('key_dotted', `the key ${shorten(key)}`);
        position = keyEnd + 1;
      } else path.push(index);
      position = this.#passValue(position);
      path.pop();
      if (scanner.byteAt(position) !== 0x2c) break;
      position += 1;
    }
    return position + 1;
  }

  #lintNumber(spelled: string, path?: string[]): void {
    const code = numberWarning(spelled);
    if (code !== null) this.#note(code, shortenNumber(spelled), path);
  }

  #note(code: WarningCode, what: string, path: readonly (string | number)[] = this.#path): void {
    const found = this.#found.get(code);
    if (found !== undefined) found.more += 1;
    else this.#found.set(code, { path: pointer(path), what, more: 0 });
  }
}

const consequences: Record<WarningCode, string> = {
  number_long: 'many readers refuse so long a number',
  number_beyond_double: 'a double makes infinity or 0 of it, and some readers refuse it',
  integer_unsafe:
    'JavaScript, jq and all that read a double change its last digits; send it as a string',
  number_inexact: 'a double cannot hold all its digits; round it, or send it as a string',
  key_dotted: 'a path such as enrichment.a.b cannot name it, in exports and in other readers',
  nesting_deep: 'some readers refuse such deep nesting',
};

/** Returns the gravest that other readers do to a number, by its spelling; null when a double keeps it. */
export function numberWarning(spelled: string): WarningCode | null {
  if (spelled.length <= exactDigits && !/e/i.test(spelled)) return null;
  if (spelled.length > mostNumberLength) return 'number_long';
  const value = Number(spelled);
  const given = decimalOf(spelled);
  if (!Number.isFinite(value) || (value === 0 && given !== '0')) return 'number_beyond_double';
  if (/^-?\d+$/.test(spelled)) return Number.isSafeInteger(value) ? null : 'integer_unsafe';
  return decimalOf(String(value)) === given ? null : 'number_inexact';
}

/** Returns one spelling for all spellings of the same number: its digits without outer zeros, and their exponent. */
export function decimalOf(spelled: string): string {
  const [mantissa = '', exponent = '0'] = spelled.toLowerCase().split('e');
  const [whole = '', fraction = ''] = mantissa.replace('-', '').split('.');
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  const significant = digits.replace(/0+$/, '');
  if (significant === '') return '0';
  const power = BigInt(exponent) - BigInt(fraction.length - (digits.length - significant.length));
  return `${mantissa.startsWith('-') ? '-' : ''}${significant}e${power}`;
}

function pointer(path: readonly (string | number)[]): string {
  let text = '';
  for (const step of path) {
    text += `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`;
    if (text.length > mostPathLength) return `${text.slice(0, mostPathLength)}…`;
  }
  return text;
}

function shorten(key: string): string {
  return JSON.stringify(key.length <= 64 ? key : `${key.slice(0, 64)}…`);
}

function shortenNumber(spelled: string): string {
  if (spelled.length <= 40) return spelled;
  return `${spelled.slice(0, 32)}… (${spelled.length} characters)`;
}
