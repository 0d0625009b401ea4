import type { DuckDb } from '../../../platform/parquet/duckdb.ts';
import { digestSumSql } from '../../../records/index.ts';

/** What was read back. The digest is null where the file does not hold what it is made of. */
export type Proved = { rows: number; digest: string | null };

const timeoutMillis = 600_000;

/** Counts rows and digests their content; `rowsSql` has the columns of a record, as a segment has them. */
export async function proveRows(
  duckdb: DuckDb,
  rowsSql: string,
  { hasContent, signal }: { hasContent: boolean; signal: AbortSignal },
): Promise<Proved> {
  const digest = hasContent ? digestSumSql : 'null';
  const [proved] = await duckdb.run<{ rows: string; digest: string | null }>(
    `select count(*) as rows, ${digest} as digest from (${rowsSql})`,
    { signal, timeoutMillis },
  );
  return {
    rows: Number(proved?.rows),
    // Of no rows there is no sum.
    digest: hasContent ? (proved?.digest ?? '0') : null,
  };
}
