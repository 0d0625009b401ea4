import type { DayRow } from '../../api/types.ts';
import type { Bar } from '../../ui/chart/bar-picture.tsx';
import { daysOfMonth } from '../../ui/month-days.ts';
import type { CalendarSpan } from './calendar-layout.ts';

/** Sums over days. `days` and `cold` count days, the others records; `most` is the busiest day, or null. */
export type DaysSum = {
  readonly days: number;
  readonly count: number;
  readonly covered: number;
  readonly most: DayRow | null;
  readonly cold: number;
};

/** The sums of all days, or of those from `from` to `to`. */
export function sumDays(rows: readonly DayRow[], from = '', to = '9999'): DaysSum {
  let [days, count, covered, cold] = [0, 0, 0, 0];
  let most: DayRow | null = null;
  for (const row of rows) {
    if (row.day < from || row.day > to || row.count === 0) continue;
    days += 1;
    count += row.count;
    covered += row.covered;
    if (row.tier === 'cold') cold += 1;
    if (row.count > (most?.count ?? 0)) most = row;
  }
  return { days, count, covered, most, cold };
}

/** One entry for each day of the span, also for days without records. A chart over time needs them all. */
export function seriesOf(span: CalendarSpan, rows: ReadonlyMap<string, DayRow>): Bar[] {
  return span.months.flatMap((month) =>
    daysOfMonth(month).map((day) => ({ name: day, parts: [rows.get(day)?.count ?? 0] })),
  );
}
