import sql, { join, raw, type Sql } from 'sql-template-tag';
import { foldPattern } from '../../kernel/where/like.ts';
import { numberKey } from '../../kernel/where/number-key.ts';
import type { Check } from '../../kernel/where/where.ts';
import { numberKeySql } from './number-key.ts';
import { type Column, type Comparison, columnTypes, type Place, type Where } from './where.ts';

// This file turns a `where` into a condition of PostgreSQL on enrichment_records, which is true or false and never null.
// Nothing in it throws, whatever a record holds: no part is cast before its type is known. The enrichment stays `json`,
// because `jsonb` would change numbers.

/** Returns the condition. All that comes from the caller is in its values. */
export function whereSql(where: Where): Sql {
  switch (where.op) {
    case 'and':
    case 'or':
      return sql`(${join(where.terms.map(whereSql), ` ${where.op} `)})`;
    case 'not':
      return sql`(not ${whereSql(where.term)})`;
    case 'exists':
      return 'column' in where.of
        ? sql`(${raw(where.of.column)} is not null)`
        : sql`(${at(where.of.path)} is not null)`;
    case 'compare':
      return compareSql(where);
  }
}

/** Returns a text that two records share if a `where` finds their values equal; null for none, objects and arrays. */
export function groupKeySql(of: Place): Sql {
  if ('column' in of) return sql`'"' || ${raw(of.column)}`;
  return sql`(select case json_typeof(found.value)
      when 'string' then '"' || (found.value #>> '{}')
      when 'number' then ${numberKeySql(raw('found.value::text'))}
      when 'boolean' then found.value::text
      when 'null' then 'null' end
    from (select ${at(of.path)} as value offset 0) found)`;
}

function compareSql(comparison: Comparison): Sql {
  const { of, isAny } = comparison;
  if ('column' in of)
    return fits(comparison, raw(of.column), (check) => columnSql(of.column, check));
  const value = at(of.path);
  const test = fits(comparison, raw('found.value'), valueSql);
  if (!isAny) return sql`(select ${test} from (select ${value} as value offset 0) found)`;
  return sql`exists (select from json_array_elements(
    case json_typeof(${value}) when 'array' then ${value} else '[]' end) as found(value) where ${test})`;
}

/** Returns whether a value, which may be null, passes one of the checks, or is there and passes none. */
function fits({ isNegated, checks }: Comparison, value: Sql, toSql: (check: Check) => Sql): Sql {
  const either = sql`coalesce(${join(checks.map(toSql), ' or ')}, false)`;
  return isNegated ? sql`(${value} is not null and not ${either})` : either;
}

/** Returns the value at a path, where a number is an element or a key. `#>` would take -1 and 01 for elements, too. */
function at(path: readonly string[]): Sql {
  const isKey = (step: string) => /^\s*[+-]?\d+$/.test(step) && !/^(0|[1-9]\d*)$/.test(step);
  if (!path.some(isKey)) return sql`enrichment #> ${[...path]}::text[]`;
  return path.reduce(
    (value, step) =>
      isKey(step) ? sql`${value} -> ${step}::text` : sql`${value} #> ${[step]}::text[]`,
    raw('enrichment'),
  );
}

function valueSql(check: Check): Sql {
  const text = sql`(found.value #>> '{}')`;
  switch (check.type) {
    case 'text':
      return sql`(json_typeof(found.value) = 'string' and ${textSql(text, check)})`;
    case 'number':
      return numberSql(
        sql`case json_typeof(found.value) when 'number' then found.value::text end`,
        check,
      );
    case 'word':
      return sql`found.value::text = any(${[...check.values]}::text[])`;
    case 'like':
      return sql`(json_typeof(found.value) = 'string' and ${likeSql(text, check)})`;
    case 'time':
      throw new Error('only a column is a time');
  }
}

function columnSql(column: Column, check: Check): Sql {
  const value = raw(column);
  if (check.type === 'like') return likeSql(value, check);
  if (check.type === 'word') throw new Error('no column is a word');
  switch (columnTypes[column]) {
    case 'text':
      return textSql(value, check);
    case 'number':
      return numberSql(sql`${value}::text`, check);
    case 'time':
      return sql`${value} ${raw(check.sign)} ${oneOf(check, 'timestamptz')}`;
  }
}

type Ordered = Extract<Check, { sign: string }>;
type Compared = { readonly sign: Ordered['sign']; readonly values: readonly string[] };

function textSql(text: Sql, check: Ordered): Sql {
  return sql`${text} collate "C" ${raw(check.sign)} ${oneOf(check, 'text')}`;
}

/** `text` is that of a number, or null. */
function numberSql(text: Sql, { sign, values }: Compared): Sql {
  const keys = { sign, values: values.map(numberKey) };
  const exact = sql`${numberKeySql(raw('sent.text'))} collate "C" ${raw(sign)} ${oneOf(keys, 'text')}`;
  if (!values.every(isShort))
    return sql`(select ${exact} from (select ${text} as text offset 0) sent)`;
  // To make the key takes ten times as long as this, which compares as exactly and has room for what it casts.
  return sql`(select case when length(sent.text) > ${shortNumber} or lower(sent.text) like '%e%' then ${exact}
      else sent.text::numeric ${raw(sign)} ${oneOf({ sign, values }, 'numeric')} end
    from (select ${text} as text offset 0) sent)`;
}

const shortNumber = 40;

/** Whether a number has no exponent that a `numeric` may not hold, and few digits. */
function isShort(value: string): boolean {
  return value.length <= shortNumber && !/e[+-]?\d{4}/i.test(value);
}

function oneOf({ sign, values }: Compared, type: string): Sql {
  if (sign === '=') return sql`any(${[...values]}::${raw(type)}[])`;
  return sql`${values[0]}::${raw(type)}`;
}

function likeSql(text: Sql, { pattern }: Extract<Check, { type: 'like' }>): Sql {
  const { folded, from, to } = foldPattern(pattern);
  const lower = sql`translate(${text}, ${from}::text, ${to}::text)`;
  return sql`${lower} collate "C" like ${folded}::text escape '\\'`;
}
