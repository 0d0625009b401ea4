import type { DuckDb } from '../../platform/parquet/duckdb.ts';
import type { HotKeys } from './replace/remove-hot-rows.ts';
import { instantSql, readSegments } from './segment-sql.ts';

const pageRows = 10_000;

export type KeysOptions = {
  /** The segment as a local file. */
  readonly path: string;
  readonly first_row: number;
  readonly count: number;
  readonly signal?: AbortSignal | undefined;
};

/** Reads the times and event ids of rows that stand together in a segment, some at a time. */
export async function* readSegmentKeys(
  duckdb: DuckDb,
  { path, first_row, count, signal }: KeysOptions,
): AsyncGenerator<HotKeys> {
  for (let row = first_row; row < first_row + count; row += pageRows) {
    const last = Math.min(row + pageRows, first_row + count) - 1;
    const rows = await duckdb.run<{ occurred_at: string; event_id: string }>(
      `select ${instantSql('occurred_at')} as occurred_at, to_json(event_id)::varchar as event_id
       from ${readSegments([path])} where file_row_number between ${row} and ${last}`,
      signal === undefined ? {} : { signal },
    );
    yield {
      occurredAt: rows.map((key) => key.occurred_at),
      eventIds: rows.map((key) => String(JSON.parse(key.event_id))),
    };
  }
}
