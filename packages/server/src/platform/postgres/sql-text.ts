import pg from 'pg';
import sql, { join, raw, type Sql } from 'sql-template-tag';
import { foldPattern } from '../../kernel/where/like.ts';

/** SQL that spells a time as RFC 3339, UTC, six fraction digits. `column` is code, never input: it is not escaped. */
export function instantText(column: string): Sql {
  return raw(`to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`);
}

/** Makes SQL for a URL as `maskUrl` shows it; the rows have none with credentials. `column` must be code. */
export function maskedUrl(column: string): Sql {
  return raw(`regexp_replace(${column}, '[?].*$', '?…')`);
}

/**
 * Whether a text holds another one, in any case: the same letters everywhere, whatever language the server folds by. Those
 * of ASCII are folded by `lower`, because `translate` takes seven to thirty times as long.
 */
export function holdsText(text: Sql, sought: string): Sql {
  const lower = sought.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
  const { folded } = foldPattern(lower);
  const { from, to } = foldPattern(lower.replaceAll(/[ -~]/g, ''));
  const ascii = sql`lower(${text} collate "C")`;
  const both = from === '' ? ascii : sql`translate(${ascii}, ${from}::text, ${to}::text)`;
  return sql`strpos(${both}, ${folded}::text) > 0`;
}

/** SQL for rows as a table `name`. `types` has each field's type in SQL; `delaySeconds` is the column delay_seconds. */
export function givenRows<Row extends object>(
  name: string,
  rows: readonly Row[],
  types: { readonly [Field in keyof Row & string]?: string },
): Sql {
  const fields = Object.keys(types) as (keyof Row & string)[];
  const arrays = fields.map((field) => {
    const values = rows.map((row) => row[field]);
    return sql`${values}::${raw(types[field] ?? '')}[]`;
  });
  const columns = fields.map((field) =>
    field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
  );
  return sql`unnest(${join(arrays)}) as ${raw(`${name} (${columns.join(', ')})`)}`;
}

/**
 * SQL for an array whose elements the planner does not see. It would plan a statement for few of them each time, because it
 * expects ten of any other array, and planning takes longer than what is done by a key.
 */
export function unseen(values: readonly unknown[], type: string): Sql {
  const array = raw(`${type}[]`);
  return sql`(select ${values}::${array})::${array}`;
}

/**
 * Returns a statement with its values written into the text. COPY needs this, because it takes no parameters, and so does
 * DuckDB, which quotes text in another way.
 */
export function inlineSql(
  statement: Sql,
  quote: (text: string) => string = pg.escapeLiteral,
): string {
  return statement.strings.reduce(
    (text, part, i) => text + literal(statement.values[i - 1], quote) + part,
  );
}

function literal(value: unknown, quote: (text: string) => string): string {
  if (value === null) return 'null';
  if (typeof value === 'number' && Number.isFinite(value)) return String(value);
  if (typeof value === 'string') return quote(value);
  if (Array.isArray(value)) {
    return `array[${value.map((one) => literal(one, quote)).join(', ')}]::text[]`;
  }
  throw new TypeError(`no literal for a ${typeof value}`);
}
