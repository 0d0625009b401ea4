import { type Actor, mayTouchTenant } from '../../kernel/actor.ts';
import { AppError } from '../../kernel/errors.ts';
import type { AuditEntry } from '../../platform/audit.ts';
import type { Database, Queryable } from '../../platform/postgres/database.ts';
import { laneOfDelivery } from '../lanes.ts';
import type { WakeUp } from '../wake-up.ts';
import * as queries from './queries.ts';
import { type DeliveryRow, findDelivery } from './read-queries.ts';

/**
 * Re-arms one delivery: due at once, past an open breaker, with a fresh budget of attempts. Changes
 * nothing when it is queued, in flight, or re-armed by someone else meanwhile. Answers the row as it is now.
 * Throws 404 `delivery_not_found`, 409 `delivery_finished`, `endpoint_disabled`.
 */
export async function retryDeadLetter(
  db: Database,
  id: string,
  options: { act: Act; wakeUp: WakeUp; maxAttempts: number },
): Promise<DeliveryRow> {
  const { act, wakeUp, maxAttempts } = options;
  const lane = laneOrNotFound(id);
  const was = await findRearmable(db, lane, id, act);
  if (was.status !== 'queued' && !was.is_in_flight) {
    const budget = was.endpoint_max_attempts ?? maxAttempts;
    const isArmed = await db.transaction(async (connection) => {
      const row = { lane, id, version: was.version, budget };
      if (!(await queries.rearm(connection, row))) return false;
      await act.note(connection, {
        action: 'delivery.retry',
        target: id,
        tenant: was.tenant,
        before: { status: was.status, attempts: was.attempts },
        after: { status: 'queued', max_attempts: was.attempts + budget },
      });
      return true;
    });
    if (isArmed) wakeUp.wake([was.endpoint_id]);
    // Another came first: a retry leaves nothing to do, a purge is told.
    else await findRearmable(db, lane, id, act);
  }
  const row = await findDelivery(db, lane, id);
  if (row === undefined) throw deliveryNotFound();
  return row;
}

async function findRearmable(
  db: Queryable,
  lane: number,
  id: string,
  { actor }: Act,
): Promise<queries.DeliveryState> {
  const state = await queries.findState(db, lane, id);
  if (state === undefined || !mayTouchTenant(actor, state.tenant)) throw deliveryNotFound();
  if (state.status === 'delivered' || state.status === 'discarded') {
    throw new AppError('delivery_finished', {
      detail: `The delivery is ${state.status}: it cannot be sent again. Report the incident anew if the receiver needs it.`,
    });
  }
  if (!state.is_endpoint_open) {
    throw new AppError('endpoint_disabled', {
      detail: `The endpoint ${state.endpoint_id} is disabled or deleted. Enable it, then retry.`,
    });
  }
  return state;
}

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

/** Who acts, and how the act is put on record. */
export type Act = {
  readonly actor: Actor;
  /** Writes an audit entry inside the transaction that does what it tells. */
  note(db: Queryable, entry: Omit<AuditEntry, 'actor' | 'request'>): Promise<void>;
};

/** The lane of a delivery's id. Throws 404 `delivery_not_found` when the text is none. */
export function laneOrNotFound(id: string): number {
  const lane = laneOfDelivery(id);
  if (lane === null) throw deliveryNotFound();
  return lane;
}

export function deliveryNotFound(): AppError {
  return new AppError('delivery_not_found', {
    detail: 'There is no delivery with this id, or no longer. Look it up in /webhook/deliveries.',
  });
}
