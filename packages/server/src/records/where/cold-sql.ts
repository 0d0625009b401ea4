import { literal } from '../../platform/duckdb.ts';
import { foldPattern } from './like.ts';
import { numberKey, numberKeySql } from './number-key.ts';
import { type Check, type Column, type Comparison, columnTypes, type Where } from './where.ts';

// This file turns a `where` into a condition of DuckDB on the rows of segments, which is true or false and never null, as
// queries.ts does for PostgreSQL.

/** Returns the condition. All that comes from the caller goes through `literal`. */
export function coldWhereSql(where: Where): string {
  switch (where.op) {
    case 'and':
    case 'or':
      return `(${where.terms.map(coldWhereSql).join(` ${where.op} `)})`;
    case 'not':
      return `(not ${coldWhereSql(where.term)})`;
    case 'exists':
      return 'column' in where.of
        ? `(${where.of.column} is not null)`
        : `json_exists(enrichment, ${pointer(where.of.path)})`;
    case 'compare':
      return compareSql(where);
  }
}

function compareSql(comparison: Comparison): string {
  const { of, isAny, checks } = comparison;
  if ('column' in of) {
    return fits(comparison, of.column, (check) => columnSql(of.column, check));
  }
  const place = pointer(of.path);
  if (!isAny) return fits(comparison, jsonAt(place), (check) => valueSql(atPath(place), check));
  const all = `json_extract(${jsonAt(place)}, '$[*]')`;
  const spelled = `json_extract_string(json_extract(${spelledSql}, ${place}), '$[*]')`;
  const hasNumbers = checks.some(({ type }) => type === 'number');
  const pairs = hasNumbers ? `list_zip(${all}, ${spelled})` : `list_zip(${all})`;
  const test = fits(comparison, 'element[1]', (check) => valueSql(ofElement, check));
  return `case when json_type(enrichment, ${place}) = 'ARRAY'
    then len(list_filter(${pairs}, lambda element: ${test})) > 0 else false end`;
}

/** Returns whether a value, which may be null, passes one of the checks, or is there and passes none. */
function fits(
  { isNegated, checks }: Comparison,
  value: string,
  toSql: (check: Check) => string,
): string {
  const either = `coalesce(${checks.map(toSql).join(' or ')}, false)`;
  return isNegated ? `(${value} is not null and not ${either})` : either;
}

/** A value of the enrichment, as several pieces of SQL. */
type Value = {
  readonly json: string;
  /** The name that DuckDB has for its type. */
  readonly type: string;
  /** The text itself, if it is one. */
  readonly text: string;
  /** A number as it was sent. DuckDB would spell it as the nearest double. */
  readonly spelled: string;
};

function atPath(place: string): Value {
  return {
    json: jsonAt(place),
    type: `json_type(enrichment, ${place})`,
    text: `json_extract_string(enrichment, ${place})`,
    spelled: `json_extract_string(${spelledSql}, ${place})`,
  };
}

const ofElement: Value = {
  json: 'element[1]',
  type: 'json_type(element[1])',
  text: `json_extract_string(element[1], '$')`,
  spelled: 'element[2]',
};

function jsonAt(place: string): string {
  return `json_extract(enrichment, ${place})`;
}

/** Returns a path as a JSON pointer (RFC 6901), in which a step that is a number means what it means in queries.ts. */
function pointer(path: readonly string[]): string {
  const steps = path.map((step) => step.replaceAll('~', '~0').replaceAll('/', '~1'));
  return literal(`/${steps.join('/')}`);
}

/**
 * The enrichment with its numbers in quotes, and so as they were sent. Each match is what comes before a number, with
 * whole texts in it, and the number. The last match has no number, and its quotes are cut off. It takes 1 s for 115 MB,
 * five times as long as to find a value, so it is made only for numbers that are about equal.
 */
const spelledSql = String.raw`regexp_replace(enrichment::varchar,
  '((?:"(?:[^"\\]|\\.)*"|[^"0-9-])*)(-?[0-9][0-9.eE+-]*)?', '\1"\2"', 'g')[:-3]`;

function valueSql(value: Value, check: Check): string {
  switch (check.type) {
    case 'text':
      return `(${value.type} = 'VARCHAR' and ${textSql(value.text, check)})`;
    case 'number':
      return numberSql(value, check);
    case 'word':
      return `${value.json}::varchar in (${listOf(check.values)})`;
    case 'like':
      return `(${value.type} = 'VARCHAR' and ${likeSql(value.text, check)})`;
    case 'time':
      throw new Error('only a column is a time');
  }
}

function columnSql(column: Column, check: Check): string {
  if (check.type === 'like') return likeSql(column, check);
  if (check.type === 'word') throw new Error('no column is a word');
  switch (columnTypes[column]) {
    case 'text':
      return textSql(column, check);
    case 'number':
      return keysSql(`${column}::varchar`, check);
    case 'time':
      return check.sign === '='
        ? `${column} in (${check.values.map(instant).join(', ')})`
        : `${column} ${check.sign} ${instant(check.values[0])}`;
  }
}

type Ordered = Extract<Check, { sign: string }>;
type Compared = { readonly sign: Ordered['sign']; readonly values: readonly string[] };

function textSql(text: string, { sign, values }: Compared): string {
  return sign === '='
    ? `${text} in (${listOf(values)})`
    : `${text} ${sign} ${literal(values[0] ?? '')}`;
}

/** Rounding keeps the order of numbers, so only those whose doubles are equal are compared exactly. */
function numberSql({ json, type, spelled }: Value, check: Ordered): string {
  const near = `try_cast(${json} as double)`;
  const exact = keysSql(spelled, check);
  const doubles = check.values.map(double);
  const [isLess, isMore] = [check.sign.startsWith('<'), check.sign.startsWith('>')];
  const compared =
    check.sign === '='
      ? `when ${near} not in (${doubles.join(', ')}) then false`
      : `when ${near} < ${doubles[0]} then ${isLess} when ${near} > ${doubles[0]} then ${isMore}`;
  return `case when coalesce(${type}, '') not in ('BIGINT', 'UBIGINT', 'DOUBLE') then false
    ${compared} else ${exact} end`;
}

/** Compares the text of a number, or null. As a variable it is computed once. */
function keysSql(text: string, { sign, values }: Ordered): string {
  const keys = { sign, values: values.map(numberKey) };
  return textSql(`list_transform([${text}], lambda number: ${numberKeySql('number')})[1]`, keys);
}

function double(text: string): string {
  return `${literal(String(Number(text)).replace('Infinity', 'inf'))}::double`;
}

function likeSql(text: string, { pattern }: Extract<Check, { type: 'like' }>): string {
  const { folded, from, to } = foldPattern(pattern);
  const lower = from === '' ? text : `translate(${text}, ${literal(from)}, ${literal(to)})`;
  return `${lower} like ${literal(folded)} escape '\\'`;
}

function instant(text: string): string {
  return `timestamptz ${literal(text)}`;
}

function listOf(texts: readonly string[]): string {
  return texts.map(literal).join(', ');
}
