import { elementsOf, membersOf } from '../../../kernel/json-slices.ts';
import { compareText } from '../../../kernel/names.ts';
import type { RecordRow } from '../../queries.ts';
import { numberKey } from '../number-key.ts';
import { type Check, columnTypes, type Sign, type Where } from '../where.ts';

/**
 * Says whether a record fits: what docs/where.md says, written once more and without SQL. Numbers are compared as whole
 * numbers of any length.
 */
export function evaluate(where: Where, record: RecordRow): boolean {
  switch (where.op) {
    case 'and':
      return where.terms.every((term) => evaluate(term, record));
    case 'or':
      return where.terms.some((term) => evaluate(term, record));
    case 'not':
      return !evaluate(where.term, record);
    case 'exists':
      return 'column' in where.of
        ? record[where.of.column] !== null
        : find(record.enrichment, where.of.path) !== undefined;
    case 'compare': {
      const { of, isAny, isNegated, checks } = where;
      const value =
        'column' in of ? columnJson(record, of.column) : find(record.enrichment, of.path);
      const fits = (json: string) => checks.some((check) => passes(check, json)) !== isNegated;
      if (value === undefined) return false;
      if (!isAny) return fits(value);
      return value.startsWith('[') && elementsOf(value).some(fits);
    }
  }
}

/** A column as JSON text; undefined where the record has none. */
function columnJson(record: RecordRow, column: keyof typeof columnTypes): string | undefined {
  const value = record[column];
  if (value === null) return undefined;
  return columnTypes[column] === 'number' ? String(value) : JSON.stringify(value);
}

/** The text of the value at a path, as it was sent. */
function find(json: string, path: readonly string[]): string | undefined {
  let at: string | undefined = json;
  for (const step of path) {
    if (at.startsWith('{')) at = membersOf(at).get(step);
    else if (at.startsWith('[')) {
      const elements = elementsOf(at);
      at = elements.find((_, index) => String(index) === step);
    } else return undefined;
    if (at === undefined) return undefined;
  }
  return at;
}

function passes(check: Check, json: string): boolean {
  if (check.type === 'word') return check.values.includes(json);
  const isText = json.startsWith('"');
  if (check.type === 'like') return isText && like(JSON.parse(json) as string, check.pattern);
  if (check.type === 'number') {
    return /^[-0-9]/.test(json) && holds(check, (value) => compareNumbers(json, value));
  }
  return isText && holds(check, (value) => compareText(JSON.parse(json) as string, value));
}

function holds(
  { sign, values }: { sign: Sign; values: readonly string[] },
  compare: (value: string) => number,
): boolean {
  return values.some((value) => {
    const order = compare(value);
    if (sign === '=') return order === 0;
    if (order === 0) return sign.endsWith('=');
    return order < 0 === sign.startsWith('<');
  });
}

function compareNumbers(a: string, b: string): number {
  const [x, y] = [parts(a), parts(b)];
  const difference = x.exponent - y.exponent;
  if (x.digits === 0n || y.digits === 0n) return signOf(x.digits - y.digits);
  // Neither has a million digits, so beyond this the larger exponent decides.
  if (difference > 1_000_000n) return signOf(x.digits);
  if (difference < -1_000_000n) return -signOf(y.digits);
  const [up, down] = difference > 0n ? [difference, 0n] : [0n, -difference];
  return signOf(x.digits * 10n ** up - y.digits * 10n ** down);
}

function signOf(number: bigint): number {
  return number === 0n ? 0 : number < 0n ? -1 : 1;
}

/** A number as digits × 10^exponent. */
function parts(text: string): { digits: bigint; exponent: bigint } {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]\+?(-?\d+))?$/.exec(text) ?? [];
  const digits = BigInt(whole + fraction);
  return {
    digits: sign === '-' ? -digits : digits,
    exponent: BigInt(exponent) - BigInt(fraction.length),
  };
}

/** The semantics of `ilike`, character by character. */
function like(text: string, pattern: string): boolean {
  const source = [...pattern.matchAll(/\\(.)|(.)/gsu)]
    .map(([, escaped, plain]) => {
      if (plain === '%') return '.*';
      if (plain === '_') return '.';
      const lower = single((escaped ?? plain ?? '').toLowerCase()) ?? escaped ?? plain ?? '';
      const forms = [escaped ?? plain ?? '', lower, single(lower.toUpperCase()) ?? lower];
      return `(?:${forms.map((form) => form.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')).join('|')})`;
    })
    .join('');
  return new RegExp(`^${source}$`, 'su').test(text);
}

function single(text: string): string | undefined {
  return [...text].length === 1 ? text : undefined;
}

/**
 * The text by which records are grouped that have this value, JSON text as it was sent; null for one that is a group by
 * itself. The engines take ten digits of an exponent.
 */
export function groupKey(record: RecordRow, path: readonly string[]): string | null {
  const json = find(record.enrichment, path) ?? '{}';
  if (json.startsWith('"')) return `"${JSON.parse(json) as string}`;
  if (/^[-0-9]/.test(json)) return numberKey(json.replace(/(e[+-]?)0*(\d{10})\d*/i, '$1$2'));
  return /^[tfn]/.test(json) ? json : null;
}
