import type { DatasetRow } from '../../api/types.ts';

export type MonthCount = { name: string; count: number };

/** Leaves summed per month, with the months between the first and the last that hold nothing. */
export function sumByMonth(rows: readonly DatasetRow[]): MonthCount[] {
  const counts = new Map<string, number>();
  for (const { month, count } of rows) {
    if (month !== null) counts.set(month, (counts.get(month) ?? 0) + count);
  }
  const months = [...counts.keys()].sort();
  const last = months.at(-1);
  const series: MonthCount[] = [];
  // Bounded: the earliest month is 1970-01, but a chart of a thousand bars says nothing anyway.
  for (let month = months[0]; month !== undefined && last !== undefined; month = nextMonth(month)) {
    if (month > last || series.length >= 1200) break;
    series.push({ name: month, count: counts.get(month) ?? 0 });
  }
  return series;
}

export function nextMonth(month: string): string {
  const year = Number(month.slice(0, 4));
  const next = Number(month.slice(5)) + 1;
  return next > 12 ? `${year + 1}-01` : `${month.slice(0, 4)}-${String(next).padStart(2, '0')}`;
}
