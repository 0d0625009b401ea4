import { foldPattern } from '../../kernel/where/like.ts';
import { numberKey } from '../../kernel/where/number-key.ts';
import type { Check } from '../../kernel/where/where.ts';
import { literal } from '../../platform/duckdb.ts';
import { coldNumberKeySql } from './number-key.ts';
import { type Column, type Comparison, columnTypes, type Place, type Where } from './where.ts';

// This file turns a `where` into a condition of DuckDB on the rows of segments, which is true or false and never null, as
// queries.ts does for PostgreSQL.

/**
 * Returns the condition; what comes from the caller goes through `literal`. All paths are read at once, as `found`: by
 * functions of their own, each with what it parsed, twenty comparisons took 256 MiB.
 */
export function coldWhereSql(where: Where): string {
  const places: string[] = [];
  const placeOf = (path: readonly string[]) => {
    const place = pointer(path);
    if (!places.includes(place)) places.push(place);
    return { place, at: places.indexOf(place) + 1 };
  };
  const condition = conditionOf(where, placeOf);
  if (places.length === 0) return condition;
  const all = `enrichment, [${places.join(', ')}]`;
  const lists = [`type: json_type(${all})`, `text: json_extract_string(${all})`];
  if (condition.includes('found.json[')) lists.push(`json: json_extract(${all})`);
  if (condition.includes('found.sent[')) {
    lists.push(`sent: json_extract(${spelledSql}, [${places.join(', ')}])`);
  }
  return `list_transform([{${lists.join(', ')}}], lambda found: ${condition})[1]`;
}

/** Returns the same text as `groupKeySql` of queries.ts. */
export function coldGroupKeySql(of: Place): string {
  if ('column' in of) return `'"' || ${of.column}`;
  const place = pointer(of.path);
  const type = `json_type(enrichment, ${place})`;
  const text = `json_extract_string(enrichment, ${place})`;
  // The text of a whole number of up to 64 bits is its own; that of any other is the nearest double's.
  const spelled = `json_extract_string(${spelledSql}, ${place})`;
  return `(case ${type} when 'VARCHAR' then '"' || ${text}
    when 'BIGINT' then ${coldNumberKeySql(text)} when 'UBIGINT' then ${coldNumberKeySql(text)}
    when 'DOUBLE' then ${coldNumberKeySql(spelled)}
    when 'BOOLEAN' then ${text} when 'NULL' then 'null' end)`;
}

/** Returns a path as a literal, and where it stands among all paths. */
type PlaceOf = (path: readonly string[]) => { readonly place: string; readonly at: number };

function conditionOf(where: Where, placeOf: PlaceOf): string {
  switch (where.op) {
    case 'and':
    case 'or':
      return `(${where.terms.map((term) => conditionOf(term, placeOf)).join(` ${where.op} `)})`;
    case 'not':
      return `(not ${conditionOf(where.term, placeOf)})`;
    case 'exists': {
      const { of } = where;
      return `(${'column' in of ? of.column : `found.type[${placeOf(of.path).at}]`} is not null)`;
    }
    case 'compare':
      return compareSql(where, placeOf);
  }
}

function compareSql(comparison: Comparison, placeOf: PlaceOf): string {
  const { of, isAny, checks } = comparison;
  if ('column' in of) {
    return fits(comparison, of.column, (check) => columnSql(of.column, check));
  }
  const { place, at } = placeOf(of.path);
  const [type, text] = [`found.type[${at}]`, `found.text[${at}]`];
  if (!isAny) {
    const spelled = `json_extract_string(${spelledSql}, ${place})`;
    return fits(comparison, type, (check) => valueSql({ type, text, spelled }, check));
  }
  const json = `found.json[${at}]`;
  const spelled = checks.some((check) => check.type === 'number')
    ? `, json_extract_string(found.sent[${at}], '$[*]')`
    : '';
  const element = { type: 'element[1]', text: 'element[2]', spelled: 'element[3]' };
  const test = fits(comparison, element.type, (check) => valueSql(element, check));
  return `case when ${type} = 'ARRAY' then len(list_filter(
    list_zip(json_type(${json}, '$[*]'), json_extract_string(${json}, '$[*]')${spelled}),
    lambda element: ${test})) > 0 else false end`;
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

/** A value as SQL: DuckDB's name of its type, its text, and a number as sent: its text is the nearest double's. */
type Value = { readonly type: string; readonly text: string; readonly spelled: string };

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
  const { type, text } = value;
  switch (check.type) {
    case 'text':
      return `(${type} = 'VARCHAR' and ${textSql(text, check)})`;
    case 'number':
      return numberSql(value, check);
    case 'word':
      // The text of a null is null.
      return `(${type} in ('BOOLEAN', 'NULL') and coalesce(${text}, 'null') in (${listOf(check.values)}))`;
    case 'like':
      return `(${type} = 'VARCHAR' and ${likeSql(text, check)})`;
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
function numberSql({ type, text, spelled }: Value, check: Ordered): string {
  const near = `try_cast(${text} as double)`;
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

/** Compares the text of a number, or null. */
function keysSql(text: string, { sign, values }: Ordered): string {
  const keys = { sign, values: values.map(numberKey) };
  return textSql(coldNumberKeySql(text), keys);
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
