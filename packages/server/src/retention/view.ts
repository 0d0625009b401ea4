import { tenantFilter } from '../kernel/view.ts';
import { moveKinds, moveStates } from './values.ts';

export const moveFilters = {
  tenant: tenantFilter,
  kind: { choices: moveKinds, help: 'only of this kind' },
  state: { choices: moveStates, help: 'only in this state' },
  run: { param: 'run_id', value: 'id', help: 'only of this run' },
} as const;
