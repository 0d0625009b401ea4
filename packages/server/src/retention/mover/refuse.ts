import type { Queryable } from '../../platform/postgres/database.ts';
import { findDueDays } from '../plan/due-days.ts';
import { MoveFault } from './fail.ts';
import type { Move } from './move.ts';

/** Throws MoveFault while the tenant is under legal hold. */
export async function refuseHold(db: Queryable, move: Move): Promise<void> {
  const { hold } = await findDueDays(db, move.tenant);
  if (!hold) return;
  throw new MoveFault('tenant_on_hold', 'The tenant is under legal hold. Nothing was changed.');
}
