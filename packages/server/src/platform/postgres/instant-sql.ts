import { raw, type Sql } from 'sql-template-tag';

/** SQL for the contract's form of a time: RFC 3339, UTC, six fraction digits. `column` is code, not input. */
export function instantText(column: string): Sql {
  return raw(`to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`);
}
