import type { ExportColumn } from '../contract.ts';

/**
 * How rows are written by both tiers, to the byte alike: as machine CSV, or as a JSON object a line,
 * without the members that are NULL.
 */
export type RowForm = {
  readonly kind: 'csv' | 'json';
  readonly columns: readonly ExportColumn[];
};

/**
 * JSON lines go through the databases' CSV writers too: with a quote and a delimiter that JSON never has
 * inside, PostgreSQL quotes nothing; DuckDB, which would quote what has a #, is told so. A key before a
 * line ends with `keyEnd`, which it cannot hold either.
 */
export const jsonDialect = { quote: '\u0003', delimiter: '\u0004', keyEnd: '\u0002' } as const;

/** What stands before the value of a member; `isFirst`: nothing stands before it. */
export function memberPrefix(column: ExportColumn, isFirst: boolean): string {
  return `${isFirst ? '' : ','}${JSON.stringify(column)}:`;
}
