import { tenantFilter } from '../../kernel/view.ts';
import { jobKinds, jobStates } from './values.ts';

export const jobFilters = {
  kind: { choices: jobKinds, help: 'only of this kind', isUsual: true },
  state: { choices: jobStates, help: 'only in this state', isUsual: true },
  tenant: tenantFilter,
} as const;
