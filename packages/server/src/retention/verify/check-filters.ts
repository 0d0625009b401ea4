import { formatCount } from '../../kernel/values.ts';
import type { DuckDb } from '../../platform/duckdb.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { isFilter, missesSql } from '../../records/segments.ts';
import type { VerifyProblem } from '../schemas.contract.ts';
import type { LiveSegment } from './queries.ts';
import * as queries from './queries.ts';
import { segmentProblem } from './report.ts';

type Held = { readonly segment: LiveSegment; readonly path: string };

/** Finds the segments with an event, read from its file, of which the segment's filter knows nothing. */
export async function findWrongFilters(
  { db, duckdb }: { db: Queryable; duckdb: DuckDb },
  held: readonly Held[],
  signal: AbortSignal,
): Promise<Set<LiveSegment>> {
  const rows = await queries.readFilters(
    db,
    held.map(({ segment }) => segment),
  );
  const filters = rows.flatMap(({ place, filter }) => {
    const file = held[place];
    return file === undefined ? [] : [{ ...file, filter }];
  });
  const asked = filters.filter(({ filter }) => isFilter(filter));
  const missing =
    asked.length === 0
      ? []
      : await duckdb.run<{ path: string }>(missesSql(asked), { timeoutMillis: 600_000, signal });
  const paths = new Set(missing.map(({ path }) => path));
  const wrong = filters.filter(({ filter, path }) => !isFilter(filter) || paths.has(path));
  return new Set(wrong.map(({ segment }) => segment));
}

/** Takes a wrong filter away, so that its segment is searched again, and tells of it. */
export async function dropFilter(db: Queryable, segment: LiveSegment): Promise<VerifyProblem> {
  await queries.dropFilter(db, segment);
  const message = `The filter of its event ids did not know all of its ${formatCount(segment.count)} records: some were not found by their id, and could be stored a second time if they were sent again. It is gone now, so that the segment is searched until it is merged.`;
  return segmentProblem('filter_mismatch', segment, message);
}
