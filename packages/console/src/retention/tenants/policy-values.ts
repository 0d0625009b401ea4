import type { PolicyChange, RetentionPolicy } from '../../api/types.ts';

/** The fields of the form, as typed; '' where there is nothing. */
export type PolicyValues = {
  readonly hotDays: number | '';
  readonly deleteDays: number | '';
  readonly hold: boolean;
};

type Kept = Pick<RetentionPolicy, 'hot_days' | 'delete_days' | 'hold'>;

export function valuesOf({ hot_days, delete_days, hold }: Kept): PolicyValues {
  return { hotDays: hot_days, deleteDays: delete_days ?? '', hold };
}

/** What is sent; undefined while the form cannot be sent. */
export function changeOf({ hotDays, deleteDays, hold }: PolicyValues): PolicyChange | undefined {
  if (hotDays === '') return undefined;
  return { hot_days: hotDays, delete_days: deleteDays === '' ? null : deleteDays, hold };
}

export function isChanged(before: Kept, values: PolicyValues): boolean {
  return JSON.stringify(valuesOf(before)) !== JSON.stringify(values);
}

/** Whether records may go for good that would have stayed: that is asked, not only done. */
export function isGraver(before: Kept, values: PolicyValues): boolean {
  const { deleteDays, hold } = values;
  if (deleteDays === '' || hold) return false;
  return before.hold || before.delete_days === null || deleteDays < before.delete_days;
}

/** The first day that stays when whole days older than this many are deleted. */
export function firstDayKept(deleteDays: number, now: number): string {
  const today = Math.floor(now / 86_400_000);
  const day = Math.max(0, today - deleteDays);
  return new Date(day * 86_400_000).toISOString().slice(0, 10);
}

/** Records of a month on days before one: `days` counts from its 1st. */
export function countBefore(month: string, days: readonly number[], firstKept: string): number {
  const end = month < firstKept.slice(0, 7) ? days.length : Number(firstKept.slice(8)) - 1;
  if (month > firstKept.slice(0, 7)) return 0;
  return days.slice(0, end).reduce((sum, count) => sum + count, 0);
}
