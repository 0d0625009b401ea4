import { formatMicros } from '../../kernel/instant.ts';
import { JsonScanner } from '../../kernel/json-text.ts';
import type { RecordField } from '../values.ts';

/** What a number counts that stands for a time, since 1970: seconds, milliseconds, microseconds or nanoseconds. */
export type TimeUnit = 's' | 'ms' | 'us' | 'ns';

/** A number of JSON, for JavaScript and for DuckDB. */
const numberPattern = '-?(?:0|[1-9][0-9]*)(?:\\.[0-9]+)?(?:[eE][+-]?[0-9]+)?';
const number = new RegExp(`^${numberPattern}$`);
/** Behind a value that is no number: no JSON has it, so the service rejects the row. */
const noNumber = ' is no number';
/** As databases print times: a blank for the T, no zone for UTC, and hours alone as an offset. */
const printedTime =
  /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d(?:\.\d+)?)(Z|[+-]\d\d(?=$)|[+-]\d\d:?\d\d)?$/;

/** Returns what spells a value, given as JSON, for a record. What cannot be meant stays: the service says why. */
export function createSpelling(
  timeUnit: TimeUnit | undefined,
): (field: RecordField, json: string) => string {
  const scanner = new JsonScanner('');
  /** JSON that came as text is put in as such, if it is one value. White space goes, and so do its line breaks. */
  const unwrap = (json: string): string => {
    const text = JSON.parse(json) as string;
    scanner.load(text);
    const start = scanner.skipSpace(0);
    scanner.beginValue();
    const end = scanner.scanValue(start);
    if (end < 0) return json;
    const isWhole = /^[ \t\r\n]*$/.test(scanner.bytes.toString('utf8', end, scanner.sizeBytes));
    return isWhole ? scanner.compact(start, end) : json;
  };
  return (field, json) => {
    const isText = json.startsWith('"');
    switch (field) {
      case 'enrichment':
        return isText ? unwrap(json) : json;
      case 'confidence':
        return isText && number.test(json.slice(1, -1)) ? json.slice(1, -1) : json;
      case 'occurred_at':
        return isText ? spellTime(json) : (countedTime(json, timeUnit) ?? json);
      case 'tenant':
      case 'store':
      case 'event_id':
      case 'kind':
      case 'source':
      case 'model':
        // Ids are often numbers.
        return !isText && (number.test(json) || json === 'true' || json === 'false')
          ? `"${json}"`
          : json;
    }
  };
}

/** Spells a value, given as JSON, as the number that it is or that its text is; one of neither has its row rejected. */
export function spellNumber(json: string): string {
  const text = json.replace(/^"|"$/g, '');
  return number.test(text) ? text : json === 'null' ? json : json + noNumber;
}

/** The same in SQL, where `json` is NULL for no value. */
export function numberSql(json: string): string {
  const text = `trim(${json}, '"')`;
  return `case when regexp_full_match(${text}, '${numberPattern}') then ${text} else ${json} || '${noNumber}' end`;
}

/** SQL that says whether all of some text are numbers, of which there is one. */
export function areNumbersSql(text: string): string {
  return `coalesce(bool_and(regexp_full_match(${text}, '${numberPattern}')), false)`;
}

function spellTime(json: string): string {
  if (json.length >= 22 && json.charCodeAt(11) === 0x54 && json.endsWith('Z"')) return json;
  const found = printedTime.exec(json.slice(1, -1));
  if (found === null) return json;
  const [, day, time, zone = 'Z'] = found;
  const offset =
    zone === 'Z' ? zone : `${zone.slice(0, 3)}:${zone.slice(3).replace(':', '') || '00'}`;
  return `"${day}T${time}${offset}"`;
}

const digits = { s: 6, ms: 3, us: 0, ns: -3 } as const;

/** The time that a number of units spells; null when it is no whole number of microseconds that a record may have. */
function countedTime(json: string, unit: TimeUnit | undefined): string | null {
  const found = /^(-?\d{1,19})(?:\.(\d{0,9}?)0*)?$/.exec(json);
  if (unit === undefined || found === null) return null;
  const [, whole = '', fraction = ''] = found;
  // The number without its point counts units of the last digit of the fraction.
  const power = digits[unit] - fraction.length;
  const count = BigInt(whole + fraction);
  const scale = 10n ** BigInt(Math.abs(power));
  if (power < 0 && count % scale !== 0n) return null;
  const micros = Number(power < 0 ? count / scale : count * scale);
  return micros >= 0 && micros < 253_402_300_800_000_000 && Number.isSafeInteger(micros)
    ? `"${formatMicros(micros)}"`
    : null;
}
