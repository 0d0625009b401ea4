import type { PolicyChange, RetentionPolicy } from '../../api/types.ts';

/** The fields of the form as typed; '' where a field is empty. */
export type PolicyValues = {
  readonly hotDays: number | '';
  readonly deleteDays: number | '';
  readonly hold: boolean;
};

type Kept = Pick<RetentionPolicy, 'hot_days' | 'delete_days' | 'hold'>;

/** A policy as fields of the form. */
export function valuesOf({ hot_days, delete_days, hold }: Kept): PolicyValues {
  return { hotDays: hot_days, deleteDays: delete_days ?? '', hold };
}

/** The change to send; undefined while the form cannot be sent. */
export function changeOf({ hotDays, deleteDays, hold }: PolicyValues): PolicyChange | undefined {
  if (hotDays === '') return undefined;
  return { hot_days: hotDays, delete_days: deleteDays === '' ? null : deleteDays, hold };
}

/** Whether the form differs from the policy with which it began. */
export function isChanged(before: Kept, values: PolicyValues): boolean {
  return JSON.stringify(valuesOf(before)) !== JSON.stringify(values);
}

/** Whether the change may delete records that would otherwise have stayed. Then the form asks first. */
export function isGraver(before: Kept, values: PolicyValues): boolean {
  const { deleteDays, hold } = values;
  if (deleteDays === '' || hold) return false;
  return before.hold || before.delete_days === null || deleteDays < before.delete_days;
}

/** The first day that is kept when whole days older than `deleteDays` are deleted. */
export function firstDayKept(deleteDays: number, now: number): string {
  const today = Math.floor(now / 86_400_000);
  const day = Math.max(0, today - deleteDays);
  return new Date(day * 86_400_000).toISOString().slice(0, 10);
}

/** Number of records of a month on days before `firstKept`. `days` has the counts from the 1st on. */
export function countBefore(month: string, days: readonly number[], firstKept: string): number {
  const end = month < firstKept.slice(0, 7) ? days.length : Number(firstKept.slice(8)) - 1;
  if (month > firstKept.slice(0, 7)) return 0;
  return days.slice(0, end).reduce((sum, count) => sum + count, 0);
}
