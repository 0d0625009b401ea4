import { mayTouchTenant } from '../../kernel/actor.ts';
import { AppError } from '../../kernel/errors.ts';
import type { Database } from '../../platform/postgres/database.ts';
import type { Act } from './act.ts';
import { deliveryNotFound, laneOrNotFound } from './not-found.ts';
import * as queries from './queries.ts';

/**
 * Discards one delivery that is queued, pending or abandoned; an attempt under way changes nothing any
 * more. One that is discarded stays so. Throws 404 `delivery_not_found`, 409 `delivery_finished`.
 */
export async function purgeDeadLetter(db: Database, id: string, act: Act): Promise<void> {
  const lane = laneOrNotFound(id);
  const state = await findPurgeable(db, lane, id, act);
  if (state.status === 'discarded') return;
  const isPurged = await db.transaction(async (connection) => {
    const was = await queries.discard(connection, lane, id);
    if (was === undefined) return false;
    await act.note(connection, {
      action: 'delivery.purge',
      target: id,
      tenant: state.tenant,
      before: was,
      after: { status: 'discarded' },
    });
    return true;
  });
  // It ended in between: discarded is as good, delivered is told.
  if (!isPurged) await findPurgeable(db, lane, id, act);
}

async function findPurgeable(
  db: Database,
  lane: number,
  id: string,
  { actor }: Act,
): Promise<queries.DeliveryState> {
  const state = await queries.findState(db, lane, id);
  if (state === undefined || !mayTouchTenant(actor, state.tenant)) throw deliveryNotFound();
  if (state.status !== 'delivered') return state;
  throw new AppError('delivery_finished', {
    detail: 'The delivery is delivered: there is nothing left to discard.',
  });
}
