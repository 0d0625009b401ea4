import pg from 'pg';
import { raw, type Sql } from 'sql-template-tag';

/** SQL for the contract's form of a time: RFC 3339, UTC, six fraction digits. `column` is code, not input. */
export function instantText(column: string): Sql {
  return raw(`to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`);
}

/** A statement with its values written into it, for COPY, which takes no parameters. */
export function inlineSql(statement: Sql): string {
  return statement.strings.reduce(
    (text, part, i) => text + literal(statement.values[i - 1]) + part,
  );
}

function literal(value: unknown): string {
  if (value === null) return 'null';
  if (typeof value === 'number' && Number.isFinite(value)) return String(value);
  if (typeof value === 'string') return pg.escapeLiteral(value);
  if (Array.isArray(value)) return `array[${value.map(literal).join(', ')}]::text[]`;
  throw new TypeError(`no literal for a ${typeof value}`);
}
