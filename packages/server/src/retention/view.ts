import { tenantFilter } from '../kernel/view.ts';
import { moveKinds, moveStates } from './values.ts';

export const moveFilters = {
  tenant: tenantFilter,
  kind: { choices: moveKinds, help: 'only of this kind', isUsual: true },
  state: { choices: moveStates, help: 'only in this state', isUsual: true },
  month: { value: 'month', help: 'only of days of this month, as 2001-03' },
  run: { param: 'run_id', value: 'id', help: 'only of this run', isLinked: true },
} as const;

/** Reads FIELD=VALUE; a key that holds a "=" is in quotes, as in where=. Null for what is not spelled so. */
export function readSubject(text: string): { field: string; value: string } | null {
  const [, field, value] = /^((?:"(?:[^"\\]|\\.)*"|[^"=])+)=(.+)$/s.exec(text) ?? [];
  return field === undefined || value === undefined ? null : { field, value };
}
