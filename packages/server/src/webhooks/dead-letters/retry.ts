import { mayTouchTenant } from '../../kernel/actor.ts';
import { AppError } from '../../kernel/errors.ts';
import { type Act, noteAct } from '../../platform/audit.ts';
import type { Database, Queryable } from '../../platform/postgres/database.ts';
import type { DeliveryRow } from '../contract.ts';
import { laneOfDelivery } from '../lanes.ts';
import type { WebhookOptions } from '../options.ts';
import { lockIncidents } from '../queries.ts';
import type { WakeUp } from '../wake-up.ts';
import { eraseOf } from './purge-rows.ts';
import * as queries from './queries.ts';
import { findDelivery } from './read-queries.ts';

/**
 * Queues one delivery again: it is due at once, passes an open breaker, and has a fresh budget of attempts. Nothing
 * changes when it is queued or in flight already, or when somebody else retries it meanwhile. Returns the delivery as
 * it is then. Throws 404 `delivery_not_found`, 409 `delivery_finished`, `endpoint_disabled`.
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
      await noteAct(connection, act, {
        action: 'delivery.retry',
        target: id,
        tenant: was.tenant,
        before: { status: was.status, attempts: was.attempts },
        after: { status: 'queued', max_attempts: was.attempts + budget },
      });
      return true;
    });
    if (isArmed) wakeUp.wake([was.endpoint_id]);
    // Somebody else came first. If that was a retry, there is nothing left to do; if it was a purge, this throws.
    else await findRearmable(db, lane, id, act);
  }
  const row = await findDelivery(db, lane, id);
  if (row === undefined) throw deliveryNotFound();
  return row;
}

/** What decides whether a delivery can be retried or discarded. Throws 404 `delivery_not_found`. */
async function findState(
  db: Queryable,
  lane: number,
  id: string,
  { actor }: Act,
): Promise<queries.DeliveryState> {
  const state = await queries.findState(db, lane, id);
  if (state === undefined || !mayTouchTenant(actor, state.tenant)) throw deliveryNotFound();
  return state;
}

async function findRearmable(...of: Parameters<typeof findState>): Promise<queries.DeliveryState> {
  const state = await findState(...of);
  if (state.status === 'delivered' || state.status === 'discarded') {
    throw new AppError('delivery_finished', {
      detail: `The delivery is ${state.status}: it is not re-armed. Send it again as a new one: svcctl endpoints replay ${state.endpoint_id} --incident ${state.incident_id} --only all`,
    });
  }
  if (state.failure_class === 'erased') {
    throw new AppError('delivery_finished', {
      detail:
        'Its payload was erased: it cannot be sent again. Purge it once nobody needs to see it.',
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
 * Discards one delivery that is queued, pending or abandoned. An attempt that is under way changes nothing any more. The
 * answers of its attempts are removed, and the payload unless another delivery of its incident may still be sent; so
 * they are of a delivery that is discarded already. Throws 404 `delivery_not_found`, 409 `delivery_finished` or
 * `tenant_on_hold`.
 */
export async function purgeDeadLetter(
  db: Database,
  id: string,
  { act, refuseHold }: { act: Act } & Pick<WebhookOptions, 'refuseHold'>,
): Promise<void> {
  const lane = laneOrNotFound(id);
  const state = await findPurgeable(db, lane, id, act);
  const isPurged = await db.transaction(async (connection) => {
    const row = { lane, id, incident_id: state.incident_id };
    await refuseHold(connection, state.tenant);
    await lockIncidents(connection, [row.incident_id]);
    const [was] = await queries.discardAll(connection, [row], { failedUntil: null });
    if (was === undefined && state.status !== 'discarded') return false;
    await eraseOf(connection, [row]);
    if (was === undefined) return true;
    await noteAct(connection, act, {
      action: 'delivery.purge',
      target: id,
      tenant: state.tenant,
      before: { status: was.status, attempts: was.attempts },
      after: { status: 'discarded' },
    });
    return true;
  });
  // The delivery has ended in between. If it was discarded, nothing is left to do; if it was delivered, this throws.
  if (!isPurged) await findPurgeable(db, lane, id, act);
}

async function findPurgeable(...of: Parameters<typeof findState>): Promise<queries.DeliveryState> {
  const state = await findState(...of);
  if (state.status !== 'delivered') return state;
  throw new AppError('delivery_finished', {
    detail: 'The delivery is delivered: there is nothing left to discard.',
  });
}

/** The lane in a delivery's id. Throws 404 `delivery_not_found` when the text has not the form of such an id. */
export function laneOrNotFound(id: string): number {
  const lane = laneOfDelivery(id);
  if (lane === null) throw deliveryNotFound();
  return lane;
}

/** The error for a delivery that is unknown, forgotten, or of a tenant out of reach: nobody learns which. */
export function deliveryNotFound(): AppError {
  return new AppError('delivery_not_found', {
    detail:
      'There is no delivery with this id, or no longer. Look for it: svcctl deliveries ls, or GET /webhook/deliveries.',
  });
}
