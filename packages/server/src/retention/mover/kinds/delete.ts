import { scopeOfDays } from '../../erase/scope.ts';
import { findDueDays } from '../../plan/due-days.ts';
import type { KindSteps } from '../kinds.ts';
import { eraseSteps } from './erase-steps.ts';

/** Whole days leave for good by policy. */
export const deleteKind: KindSteps = {
  ...eraseSteps(({ tenant, first_day, last_day }) => scopeOfDays(tenant, first_day, last_day)),

  async refuse(connection, { tenant, last_day }) {
    const { lastDeleteDay } = await findDueDays(connection, tenant);
    if (lastDeleteDay !== null && last_day <= lastDeleteDay) return null;
    return {
      code: 'not_due',
      message: `The policy keeps days ${lastDeleteDay === null ? 'for ever' : `after ${lastDeleteDay}`} by now. Nothing was deleted.`,
    };
  },
};
