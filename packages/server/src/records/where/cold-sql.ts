import sql, { join, raw, type Sql } from 'sql-template-tag';
import { numberKey } from '../../kernel/where/number-key.ts';
import { literal } from '../../platform/duckdb.ts';
import { inlineSql } from '../../platform/postgres/sql-text.ts';
import { coldNumberKeySql } from './number-key.ts';
import {
  type Compared,
  compareText,
  conditionOf,
  type Value,
  type WhereEngine,
} from './queries.ts';
import type { Place, Where } from './where.ts';

// This file turns a `where` into a condition of DuckDB on the rows of segments, as queries.ts does for PostgreSQL.

/**
 * Returns the condition, with the caller's values as literals. All paths are read at once, as `found`: by functions of
 * their own, each with what it parsed, twenty comparisons took 256 MiB.
 */
export function coldWhereSql(where: Where): string {
  const places: string[] = [];
  const placeOf = (path: readonly string[]) => {
    const place = pointer(path);
    if (!places.includes(place)) places.push(place);
    return { place, at: places.indexOf(place) + 1 };
  };
  const condition = inlineSql(conditionOf(where, engineOf(placeOf)), literal);
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

function engineOf(placeOf: PlaceOf): WhereEngine {
  return {
    presence: (path) => raw(`found.type[${placeOf(path).at}]`),
    valuePasses(path, test) {
      const { place, at } = placeOf(path);
      const spelled = `json_extract_string(${spelledSql}, ${place})`;
      return test(jsonValue({ type: `found.type[${at}]`, text: `found.text[${at}]`, spelled }));
    },
    someElementPasses(path, test) {
      const { at } = placeOf(path);
      const [type, text, spelled] = ['element[1]', 'element[2]', 'element[3]'] as const;
      const passes = test(jsonValue({ type, text, spelled }));
      const json = `found.json[${at}]`;
      const lists = [`json_type(${json}, '$[*]')`, `json_extract_string(${json}, '$[*]')`];
      if (passes.sql.includes(spelled)) {
        lists.push(`json_extract_string(found.sent[${at}], '$[*]')`);
      }
      return sql`case when ${raw(`found.type[${at}]`)} = 'ARRAY' then len(list_filter(
        list_zip(${raw(lists.join(', '))}), lambda element: ${passes})) > 0 else false end`;
    },
    isOneOf,
    compareNumber,
  };
}

/** In a lambda DuckDB knows no `any`. */
const isOneOf: WhereEngine['isOneOf'] = (value, values, type) =>
  sql`${raw(value)} in (${join(values.map((one) => sql`${one}::${raw(type)}`))})`;

/** Takes DuckDB's name of a value's type, its text, and a number as sent: its text is the nearest double's. */
function jsonValue({ type, text, spelled }: Record<'type' | 'text' | 'spelled', string>): Value {
  return {
    presence: type,
    text: `(case when ${type} = 'VARCHAR' then ${text} end)`,
    number: `case when ${type} in ('BIGINT', 'UBIGINT', 'DOUBLE') then ${text} end`,
    // The text of a null is null.
    word: `case when ${type} in ('BOOLEAN', 'NULL') then coalesce(${text}, 'null') end`,
    spelled,
  };
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

/** Rounding keeps the order of numbers, so only those whose doubles are equal are compared exactly. */
function compareNumber({ number, spelled = number }: Value, { sign, values }: Compared): Sql {
  const near = raw(`try_cast(${number} as double)`);
  const keys = { sign, values: values.map(numberKey) };
  const exact = compareText(coldNumberKeySql(spelled), keys, { isOneOf });
  const doubles = values.map(
    (value) => sql`${String(Number(value)).replace('Infinity', 'inf')}::double`,
  );
  const [isLess, isMore] = ['<', '>'].map((first) => raw(String(sign.startsWith(first))));
  const compared =
    sign === '='
      ? sql`when ${near} not in (${join(doubles)}) then false`
      : sql`when ${near} < ${doubles[0]} then ${isLess} when ${near} > ${doubles[0]} then ${isMore}`;
  return sql`case when ${raw(`${number} is null then false`)} ${compared} else ${exact} end`;
}
