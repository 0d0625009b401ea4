import { formatNumberOf, formatRelative } from '../format.ts';
import type { RouteAnswer } from '../routes.ts';
import type { Column } from '../table.ts';

export type Policy = RouteAnswer<'GET /retention/policies/:tenant'>;

export const policyFields = [
  'tenant',
  'hot_days',
  'delete_days',
  'hold',
  'from_default',
  'updated_at',
  'updated_by',
] as const satisfies readonly (keyof Policy)[];

export function policyColumns(nowMs: number): readonly Column<Policy>[] {
  return [
    { title: 'TENANT', isElastic: true, value: (policy) => policy.tenant },
    {
      title: 'HOT',
      align: 'right',
      value: (policy) => policy.hot_days,
      shown: (policy) => formatNumberOf(policy.hot_days, 'day'),
    },
    {
      title: 'DELETED AFTER',
      align: 'right',
      value: (policy) => policy.delete_days ?? 'never',
      shown: (policy) => deleteText(policy.delete_days),
    },
    {
      title: 'HOLD',
      value: (policy) => (policy.hold ? 'hold' : ''),
      shown: (policy) => (policy.hold ? 'legal hold' : '–'),
    },
    {
      title: 'CHANGED',
      value: (policy) => policy.updated_at,
      shown: (policy) => formatRelative(policy.updated_at, nowMs),
    },
    { title: 'BY', isElastic: true, value: (policy) => policy.updated_by },
  ];
}

/** `name  value` rows of one policy. */
export function policyRows(policy: Policy, nowMs: number): [string, string | null][] {
  const { tenant, from_default: isDefault, hold, updated_by: by } = policy;
  return [
    ['tenant', tenant === '*' ? '* (the default of all without one of their own)' : tenant],
    ...(isDefault && tenant !== '*' ? [['policy', 'the default (*)'] as [string, string]] : []),
    ['hot', formatNumberOf(policy.hot_days, 'day')],
    ['deleted after', deleteText(policy.delete_days)],
    ['legal hold', hold ? 'yes: nothing is moved, deleted or erased' : 'no'],
    ['changed', `${formatRelative(policy.updated_at, nowMs)}${by === null ? '' : ` by ${by}`}`],
  ];
}

export function deleteText(days: number | null): string {
  return days === null ? 'never' : formatNumberOf(days, 'day');
}
