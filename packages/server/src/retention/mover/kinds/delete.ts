import type { Connection } from '../../../platform/postgres/database.ts';
import { scopeOfDays } from '../../erase/scope.ts';
import { findDueDays } from '../../plan/due-days.ts';
import type { KindSteps, Refusal } from '../kinds.ts';
import type { Move } from '../move.ts';
import { listKeepers } from '../queries.ts';
import { eraseSteps } from './erase-steps.ts';

/** Whole days leave for good by policy. */
export const deleteKind: KindSteps = {
  ...eraseSteps(({ tenant, first_day, last_day }) => scopeOfDays(tenant, first_day, last_day)),

  async refuse(connection, move) {
    const { tenant, last_day } = move;
    const { lastDeleteDay } = await findDueDays(connection, tenant);
    if (lastDeleteDay === null || last_day > lastDeleteDay) {
      return {
        code: 'not_due',
        message: `The policy keeps days ${lastDeleteDay === null ? 'for ever' : `after ${lastDeleteDay}`} by now. Nothing was deleted.`,
      };
    }
    return refuseVersioned(connection, move);
  },
};

/** A version may have been frozen since the days were planned; none can be until this is committed. */
async function refuseVersioned(connection: Connection, move: Move): Promise<Refusal | null> {
  if (isTold(move)) return null;
  const { tenant, first_day: firstDay, last_day: lastDay } = move;
  const names = await listKeepers(connection, { tenant, firstDay, lastDay });
  if (names.length === 0) return null;
  return {
    code: 'kept_by_version',
    message: `The dataset version ${names.join(', ')} has days from ${firstDay} to ${lastDay} by now. Nothing was deleted; the next run leaves out its days.`,
  };
}

/** How the journal tells that days of versions go too (moves.request). */
export type DeleteRequest = { readonly delete_versioned: true };

function isTold({ request }: Move): boolean {
  return typeof request === 'object' && request !== null && 'delete_versioned' in request;
}
