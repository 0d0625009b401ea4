import { coldConditions, coldSplitSql } from '../../conditions/cold-sql.ts';
import { digestSql, digestSumOf, readSegments } from '../../segments/segment-sql.ts';
import type { Slice } from '../../slice.ts';

/** Records of a slice in segments, computed from content, by split; without shares the split is empty. */
export function sumContentSql(paths: readonly string[], slice: Slice): string {
  const split = slice.shares === undefined ? `''` : coldSplitSql(slice.shares);
  const conditions = coldConditions({ ...slice, split: undefined });
  return `
    select split, count(*)::varchar as count, sum(bytes)::varchar as bytes,
      ${digestSumOf('digest')} as digest
    from (
      select ${split} as split, bytes, ${digestSql} as digest
      from ${readSegments(paths)} where ${conditions.join(' and ')}
    ) group by split`;
}
