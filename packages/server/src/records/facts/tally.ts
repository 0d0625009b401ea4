import { compareText } from '../read/tier.ts';
import { readSegments } from '../segments/segment-sql.ts';
import { coldConditions } from '../slice/cold-sql.ts';
import type { Slice } from '../slice/slice.ts';
import type { Facts } from '../tags.contract.ts';

/** How many records have these three labels. */
export type LabelTally = {
  kind: string | null;
  source: string | null;
  model: string | null;
  count: number;
};

const shownValues = 20;

/** Returns the most frequent values of a label, then null for the records without one. */
export function topValues(
  tallies: readonly LabelTally[],
  label: 'kind' | 'source' | 'model',
): Facts['kinds'] {
  const counts = new Map<string | null, number>();
  for (const tally of tallies) {
    counts.set(tally[label], (counts.get(tally[label]) ?? 0) + tally.count);
  }
  const without = counts.get(null);
  const values = [...counts]
    .flatMap(([value, count]) => (value === null ? [] : [{ value, count }]))
    .sort((a, b) => b.count - a.count || compareText(a.value, b.value))
    .slice(0, shownValues);
  return without === undefined ? values : [...values, { value: null, count: without }];
}

// What follows is DuckDB's SQL for the labels of cold records. Each row is one JSON text, like `recordJson` for pages.

/** Counts the labels of all records of a slice in whole segments. */
export function tallySliceSql(paths: readonly string[], slice: Slice): string {
  const conditions = coldConditions(slice);
  return tallyOf(
    `select kind, source, model from ${readSegments(paths)}
    where ${['true', ...conditions].join(' and ')}`,
  );
}

/** Some rows of a local file, in ascending order. */
export type FileRows = { readonly path: string; readonly rows: readonly number[] };

/** Counts the labels of some rows of segments. */
export function tallyRowsSql(files: readonly FileRows[]): string {
  const each = files.map(
    // DuckDB chooses the row groups by the span, and finds the rows in it in a hash table.
    ({ path, rows }) => `select kind, source, model from ${readSegments([path])}
      where file_row_number between ${rows[0] ?? 0} and ${rows.at(-1) ?? -1}
        and file_row_number in (select unnest([${rows.join(', ')}]::bigint[]))`,
  );
  return tallyOf(each.join(' union all '));
}

function tallyOf(records: string): string {
  return `select to_json({kind: kind, source: source, model: model, count: count(*)})::varchar as tally
    from (${records}) group by kind, source, model`;
}
