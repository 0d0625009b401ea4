import sql, { join, raw, type Sql } from 'sql-template-tag';
import { foldPattern } from '../../kernel/where/like.ts';
import { numberKey } from '../../kernel/where/number-key.ts';
import type { Check, Sign } from '../../kernel/where/where.ts';
import { numberKeySql } from './number-key.ts';
import type { Column, Comparison, Place, Where } from './where.ts';

// This file turns a `where` into a condition on records, which is true or false and never null: `conditionOf` in the SQL
// of any engine, `whereSql` in that of PostgreSQL. Nothing in it throws, whatever a record holds: no part is cast before
// its type is known. DuckDB's engine is in cold-sql.ts.

/** What PostgreSQL and DuckDB say in different ways. What comes from the caller is in the values of each `Sql`, or a literal. */
export type WhereEngine = {
  /** Returns what is null unless there is a value at the path. */
  presence(path: readonly string[]): Sql;
  /** Says whether the value at the path passes a test. */
  valuePasses(path: readonly string[], test: Test): Sql;
  /** Says whether the value at the path is an array of which some element passes a test. */
  someElementPasses(path: readonly string[], test: Test): Sql;
  /** Says whether a value of this type is one of these. */
  isOneOf(value: string, values: readonly string[], type: string): Sql;
  /** Compares a number exactly. */
  compareNumber(value: Value, check: Compared): Sql;
};

/** A value in SQL. All but `presence` is null where it is of another type, too. */
export type Value = Record<'presence' | 'text' | 'number' | 'word', string> & {
  /** A number as it was sent, where `number` may be rounded. */
  readonly spelled?: string;
};

type Test = (value: Value) => Sql;
export type Compared = { readonly sign: Sign; readonly values: readonly string[] };

/** Returns the condition for enrichment_records. */
export function whereSql(where: Where): Sql {
  return conditionOf(where, postgres);
}

/** Returns the condition in the SQL of an engine. */
export function conditionOf(where: Where, engine: WhereEngine): Sql {
  switch (where.op) {
    case 'and':
    case 'or': {
      const terms = where.terms.map((term) => conditionOf(term, engine));
      return sql`(${join(terms, ` ${where.op} `)})`;
    }
    case 'not':
      return sql`(not ${conditionOf(where.term, engine)})`;
    case 'exists': {
      const { of } = where;
      return sql`(${'column' in of ? raw(of.column) : engine.presence(of.path)} is not null)`;
    }
    case 'compare':
      return compareSql(where, engine);
  }
}

function compareSql({ of, isAny, isNegated, checks }: Comparison, engine: WhereEngine): Sql {
  // The value may be null. It passes one of the checks, or is there and passes none.
  const test: Test = (value) => {
    const each = checks.map((check) => checkSql(value, check, engine));
    const either = sql`coalesce(${join(each, ' or ')}, false)`;
    return isNegated ? sql`(${raw(value.presence)} is not null and not ${either})` : either;
  };
  if ('column' in of) return test(columnValue(of.column));
  return isAny ? engine.someElementPasses(of.path, test) : engine.valuePasses(of.path, test);
}

/** A column is compared only with values of its own type, and never with a word. */
function columnValue(column: Column): Value {
  return { presence: column, text: column, number: `${column}::text`, word: 'null' };
}

function checkSql(value: Value, check: Check, engine: WhereEngine): Sql {
  switch (check.type) {
    case 'text':
      return compareText(value.text, check, engine);
    case 'number':
      return engine.compareNumber(value, check);
    case 'word':
      return engine.isOneOf(value.word, check.values, 'text');
    case 'time':
      return compareAs('timestamptz', engine)(value.text, check);
    case 'like': {
      const { folded, from, to } = foldPattern(check.pattern);
      const text = raw(value.text);
      // DuckDB would call the function for each text, also where no character becomes another.
      const lower = from === '' ? text : sql`translate(${text}, ${from}::text, ${to}::text)`;
      return sql`${lower} collate "C" like ${folded}::text escape '\\'`;
    }
  }
}

/** Compares texts, or the keys of numbers, by their bytes. */
export function compareText(text: string, check: Compared, engine: Lists): Sql {
  return compareAs('text', engine)(`${text} collate "C"`, check);
}

type Lists = Pick<WhereEngine, 'isOneOf'>;

function compareAs(type: string, engine: Lists) {
  return (value: string, { sign, values }: Compared): Sql =>
    sign === '='
      ? engine.isOneOf(value, values, type)
      : sql`${raw(`${value} ${sign}`)} ${values[0]}::${raw(type)}`;
}

/** The enrichment stays `json`, because `jsonb` would change numbers. */
const postgres: WhereEngine = {
  presence: at,
  valuePasses: (path, test) =>
    sql`(select ${test(found)} from (select ${at(path)} as value offset 0) found)`,
  someElementPasses: (path, test) => sql`exists (select from json_array_elements(
    case json_typeof(${at(path)}) when 'array' then ${at(path)} else '[]' end) as found(value) where ${test(found)})`,
  // As an array, any number of values is one parameter of the same statement.
  isOneOf: (value, values, type) => sql`${raw(value)} = any(${[...values]}::${raw(type)}[])`,
  compareNumber,
};

const found: Value = {
  presence: 'found.value',
  text: `(case json_typeof(found.value) when 'string' then found.value #>> '{}' end)`,
  number: `case json_typeof(found.value) when 'number' then found.value::text end`,
  word: 'found.value::text',
};

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

function compareNumber({ number }: Value, { sign, values }: Compared): Sql {
  const keys = { sign, values: values.map(numberKey) };
  const exact = compareText(numberKeySql('sent.text'), keys, postgres);
  const sent = raw(`(select ${number} as text offset 0) sent`);
  if (!values.every(isShort)) return sql`(select ${exact} from ${sent})`;
  const short = compareAs('numeric', postgres)('sent.text::numeric', { sign, values });
  // To make the key takes ten times as long as this, which compares as exactly and has room for what it casts.
  return sql`(select case when length(sent.text) > ${shortNumber} or lower(sent.text) like '%e%' then ${exact}
    else ${short} end from ${sent})`;
}

const shortNumber = 40;

/** Whether a number has no exponent that a `numeric` may not hold, and few digits. */
function isShort(value: string): boolean {
  return value.length <= shortNumber && !/e[+-]?\d{4}/i.test(value);
}

/** Returns a text that two records share if a `where` finds their values equal; null for none, objects and arrays. */
export function groupKeySql(of: Place): Sql {
  if ('column' in of) return sql`'"' || ${raw(of.column)}`;
  return sql`(select case json_typeof(found.value)
      when 'string' then '"' || (found.value #>> '{}')
      when 'number' then ${raw(numberKeySql('found.value::text'))}
      when 'boolean' then found.value::text
      when 'null' then 'null' end
    from (select ${at(of.path)} as value offset 0) found)`;
}
