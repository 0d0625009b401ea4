import { joinRanges, type RowRange, spanSql } from '../segments/row-ranges.ts';
import { readSegments, segmentOrder } from '../segments/segment-sql.ts';
import { coldLabelConditions } from '../slice/cold-sql.ts';
import type { Slice } from '../slice/slice.ts';
import { coldWhereSql } from '../where/cold-sql.ts';
import { parseWhere } from '../where/parse.ts';
import type { Chunk, RowRun } from './cut-steps.ts';

/** What is needed to select the rows of a chunk. */
export type ChunkRows = {
  readonly slice: Slice;
  /** The local file of a segment. */
  readonly pathOf: (segmentId: string) => string;
};

/**
 * Selects the rows of a chunk by one scan a segment, sorted unless they are one stretch (`order` is null): a scan takes
 * 8 ms a run, sorting 61,440 rows 70 ms.
 */
export function chunkRows(
  chunk: Chunk,
  { slice, pathOf }: ChunkRows,
): { rows: string; order: string | null } {
  const labels = coldLabelConditions({ ...slice, where: undefined });
  const ranges = [...rangesOf(chunk.runs)];
  const scans = ranges.map(([segmentId, own]) => {
    const conditions = [...rangeConditions(own), ...labels];
    return `select * from ${readSegments([pathOf(segmentId)])} where ${conditions.join(' and ')}`;
  });
  const [first] = ranges;
  const all = scans.join(' union all ');
  // A `where` may be long, and stands once above all scans.
  const fitting = slice.where && `where ${coldWhereSql(parseWhere(slice.where))}`;
  const rows = fitting ? `(select * from (${all}) ${fitting}) r` : `(${all}) r`;
  if (ranges.length === 1 && first?.[1].length === 1) return { rows, order: null };
  const order = segmentOrder.split(', ').map((column) => `r.${column}`);
  return { rows, order: order.join(', ') };
}

/** Returns the rows of each segment, in ascending stretches that are as long as possible. */
function rangesOf(runs: readonly RowRun[]): Map<string, RowRange[]> {
  const bySegment = new Map<string, RowRange[]>();
  for (const { segmentId, firstRow, count } of runs) {
    const ranges = bySegment.get(segmentId) ?? [];
    ranges.push([firstRow, firstRow + count - 1]);
    bySegment.set(segmentId, ranges);
  }
  return new Map([...bySegment].map(([id, ranges]) => [id, joinRanges(ranges)]));
}

/** A chunk may have a thousand ranges, which are joined as rows. */
function rangeConditions(ranges: readonly RowRange[]): string[] {
  if (ranges.length === 1) return [spanSql(ranges)];
  const values = ranges.map(([first, last]) => `(${first}, ${last + 1})`).join(', ');
  return [
    spanSql(ranges),
    `file_row_number in (select unnest(range(v.first, v.beyond)) from (values ${values}) v(first, beyond))`,
  ];
}
