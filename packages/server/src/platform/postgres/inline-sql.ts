import pg from 'pg';
import type { Sql } from 'sql-template-tag';

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
