/** Rows of a segment's object, counted from 0; both ends are included. */
export type RowRange = readonly [first: number, last: number];

/** Returns the ranges in ascending order; those that begin no further than `reach` behind the end of another are joined. */
export function joinRanges(ranges: readonly RowRange[], reach = 1): RowRange[] {
  const joined: RowRange[] = [];
  for (const range of [...ranges].sort((a, b) => a[0] - b[0])) {
    const before = joined.at(-1);
    if (before !== undefined && range[0] <= before[1] + reach) {
      joined[joined.length - 1] = [before[0], Math.max(before[1], range[1])];
    } else joined.push(range);
  }
  return joined;
}

/** Keeps of the ranges what lies between `first` and `last`. */
export function clip(ranges: readonly RowRange[], [first, last]: RowRange): RowRange[] {
  return ranges
    .filter((range) => range[1] >= first && range[0] <= last)
    .map((range) => [Math.max(range[0], first), Math.min(range[1], last)]);
}

/** DuckDB's condition for rows up to the end of ascending ranges. By it DuckDB chooses the row groups. */
export function spanSql(ranges: readonly RowRange[]): string {
  return `file_row_number between ${ranges[0]?.[0] ?? 0} and ${ranges.at(-1)?.[1] ?? -1}`;
}

/** DuckDB's conditions for the rows in ascending ranges. With these alone it would read all row groups. */
export function rangesSql(ranges: readonly RowRange[]): string[] {
  if (ranges.length < 2) return [spanSql(ranges)];
  const each = ranges.map((range) => spanSql([range]));
  return [spanSql(ranges), `(${each.join(' or ')})`];
}
