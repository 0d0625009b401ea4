import { coldConditions, coldLabelConditions } from '../conditions/cold-sql.ts';
import { readSegments } from '../segments/segment-sql.ts';
import type { Slice } from '../slice.ts';
import { type FilePart, rowsOf } from '../tiers/scan-sql.ts';

// DuckDB's SQL of which labels cold records have. As one JSON text, as `recordJson` of a page.

/** Of all records of a slice in whole segments. */
export function tallySliceSql(paths: readonly string[], slice: Slice): string {
  const conditions = coldConditions(slice);
  return tallyOf(
    `select kind, source, model from ${readSegments(paths)}
    where ${['true', ...conditions].join(' and ')}`,
  );
}

/** Of some rows. */
export function tallyRowsSql(parts: readonly FilePart[], slice: Slice): string {
  const labels = coldLabelConditions(slice);
  const each = parts.map((part) => `select kind, source, model from ${rowsOf(part, labels)}`);
  return tallyOf(each.join(' union all '));
}

function tallyOf(records: string): string {
  return `select to_json({kind: kind, source: source, model: model, count: count(*)})::varchar as tally
    from (${records}) group by kind, source, model`;
}
