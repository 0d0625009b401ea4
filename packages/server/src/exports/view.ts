import { tenantFilter } from '../kernel/view.ts';
import { exportStates } from './values.ts';

export const exportFilters = {
  tenant: tenantFilter,
  state: { choices: exportStates, help: 'only in this state', isUsual: true },
  schedule: { value: 'id', help: 'only runs of this schedule', label: 'Schedule, by its id' },
} as const;

export const scheduleFilters = { tenant: tenantFilter } as const;
