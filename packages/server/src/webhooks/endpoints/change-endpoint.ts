import type { Static } from 'typebox';
import { AppError } from '../../kernel/errors.ts';
import { newId } from '../../kernel/ids.ts';
import { maskUrl } from '../../kernel/mask-url.ts';
import type { Database } from '../../platform/postgres/database.ts';
import type { endpointChangeSchema } from '../contract.ts';
import {
  cancelBacklogJobs,
  discardOfEndpoint,
  discardThenEnable,
} from '../dead-letters/discard.ts';
import { laneOf } from '../lanes.ts';
import type { WebhookOptions } from '../options.ts';
import { newSecret } from '../secret.ts';
import { type Caller, found, getEndpoint, showEndpoint, toEndpointId } from './endpoints.ts';
import {
  countLiveDeliveries,
  type EndpointSettings,
  insertDiscardJob,
  lockEndpoint,
  markDeleted,
  updateEndpoint,
  updateSecret,
} from './queries.ts';
import { canOpen } from './reseal.ts';
import { findWarnings } from './warnings.ts';

type Change = Static<typeof endpointChangeSchema>;

/**
 * Changes the settings that are named and leaves the others. Disabling makes the endpoint's deliveries wait, also those
 * of later incidents. Enabling closes its breaker and lets them go. Returns the endpoint as it is afterwards. Throws
 * 400 `target_invalid`, `target_blocked`, 404 `endpoint_not_found`.
 */
export async function changeEndpoint(
  db: Database,
  options: Pick<WebhookOptions, 'target' | 'wakeUp' | 'audit'>,
  caller: Caller,
  request: { id: string; change: Change },
) {
  const { change } = request;
  // This looks up names, which may take seconds, so it is done before a row is locked.
  if (change.url !== undefined) await options.target.assertAllowed(change.url, caller.actor);
  const id = toEndpointId(request.id);
  const { before, after } = await db.transaction(async (connection) => {
    const locked = found(await lockEndpoint(connection, id, caller.actor.tenants));
    // Enabling or disabling the endpoint ends a job that discards its backlog.
    const ended = change.enabled === undefined ? [] : await cancelBacklogJobs(connection, [id]);
    const settings = changedSettings(locked, change, caller.actor.name);
    const changed = await updateEndpoint(connection, id, settings, {
      closesBreaker: change.enabled === true,
    });
    const views = { before: showEndpoint(locked), after: showEndpoint(found(changed)) };
    await options.audit(connection, {
      ...caller,
      action: 'endpoint.change',
      target: id,
      tenant: locked.tenant,
      ...views,
      ...ended.map((discarded) => ({ after: { ...views.after, discarded } }))[0],
    });
    return views;
  });
  // Deliveries may be due now, because a breaker was closed or a rate was raised.
  if (before.enabled || after.enabled) options.wakeUp.wake([id]);
  const isNews = change.url !== undefined || change.event_types !== undefined;
  return isNews ? { ...after, warnings: await findWarnings(db, after) } : after;
}

function changedSettings(row: EndpointSettings, change: Change, by: string): EndpointSettings {
  // A null means "back to the default", so only undefined keeps the old value.
  const or = <T>(given: T | undefined, old: T): T => (given === undefined ? old : given);
  return {
    // Who sends back what a list has shown changes nothing of it.
    url: change.url === maskUrl(row.url) ? row.url : or(change.url, row.url),
    description: or(change.description, row.description),
    event_types: or(change.event_types, row.event_types),
    ...switched(row, change.enabled, by),
    max_attempts: or(change.max_attempts, row.max_attempts),
    retry_schedule: or(change.retry_schedule, row.retry_schedule),
    rate_limit: or(change.rate_limit, row.rate_limit),
    disable_after_days: or(change.disable_after_days, row.disable_after_days),
  };
}

/**
 * The columns that say whether the endpoint is enabled. One that is disabled already keeps the time and the name of
 * whoever disabled it.
 */
function switched(
  row: EndpointSettings,
  enabled: boolean | undefined,
  by: string,
): Pick<EndpointSettings, 'enabled' | 'disabled_reason' | 'disabled_by'> {
  if (enabled === true) return { enabled, disabled_reason: null, disabled_by: null };
  if (enabled === false && row.enabled) {
    return { enabled, disabled_reason: 'operator', disabled_by: by };
  }
  const { disabled_reason, disabled_by } = row;
  return { enabled: row.enabled, disabled_reason, disabled_by };
}

/** How many deliveries the call itself discards, which takes about half a second. A job discards the rest. */
const discardedAtOnce = 5000;

/**
 * Deletes an endpoint and discards what was not delivered to it. A delivery that an incident makes at the same moment
 * is discarded by the drainer that finds it. Throws 404 `endpoint_not_found`.
 */
export async function deleteEndpoint(
  db: Database,
  options: Pick<WebhookOptions, 'jobs' | 'audit'>,
  caller: Caller,
  request: { id: string },
): Promise<void> {
  const { actor } = caller;
  const id = toEndpointId(request.id);
  const hasMore = await db.transaction(async (connection) => {
    // The endpoint, its deliveries, their counts: outcomes of attempts are written in the same order, so that the two
    // cannot deadlock.
    const before = showEndpoint(found(await lockEndpoint(connection, id, actor.tenants)));
    await markDeleted(connection, id);
    // What a job had discarded of the backlog by now stands in no other entry.
    const [discarded_before] = await cancelBacklogJobs(connection, [id]);
    const discarded = await discardOfEndpoint(connection, id, discardedAtOnce);
    const left =
      discarded < discardedAtOnce
        ? 0
        : await countLiveDeliveries(connection, { id, lane: laneOf(id), parked: true });
    const job = left === 0 ? undefined : newId('job');
    if (job !== undefined) {
      await insertDiscardJob(connection, {
        ...{ id: job, action: 'discard', endpointId: id, createdBy: actor.name },
        ...{ rows: discarded + left, rowsDone: discarded },
      });
    }
    await options.audit(connection, {
      ...caller,
      action: 'endpoint.delete',
      target: id,
      tenant: before.tenant,
      before,
      after: { discarded_before, discarded, ...(job === undefined ? {} : { job, waiting: left }) },
    });
    return job !== undefined;
  });
  // The job's row is committed by now, so the runner finds it.
  if (hasMore) options.jobs.poke();
}

/**
 * Enables an endpoint after discarding what waits for it at this moment. What is reported later is delivered. A large
 * backlog becomes a job, and the endpoint stays disabled until the job ends, so that nothing of the backlog can be sent
 * meanwhile, even if a process is killed. Enabling or disabling the endpoint ends the job. Returns the endpoint as it is
 * then. Throws 404 `endpoint_not_found`, 409 `endpoint_enabled`.
 */
export async function discardBacklogOf(
  db: Database,
  options: Pick<WebhookOptions, 'jobs' | 'wakeUp' | 'audit'>,
  caller: Caller,
  request: { id: string },
) {
  const { actor } = caller;
  const id = toEndpointId(request.id);
  const after = await db.transaction(async (connection) => {
    const locked = found(await lockEndpoint(connection, id, actor.tenants));
    const before = showEndpoint(locked);
    if (before.enabled) {
      throw new AppError('endpoint_enabled', {
        detail:
          'The endpoint is enabled: what is queued for it is being delivered. Disable it first, or purge single deliveries.',
      });
    }
    if (before.backlog.is_discarding) return before;
    const { discarded, isEnabled } = await discardThenEnable(connection, id, {
      limit: discardedAtOnce,
      until: null,
    });
    const left = isEnabled
      ? 0
      : await countLiveDeliveries(connection, { id, lane: laneOf(id), parked: false });
    const job = isEnabled ? undefined : newId('job');
    if (job !== undefined) {
      await insertDiscardJob(connection, {
        ...{ id: job, action: 'discard_backlog', endpointId: id, createdBy: actor.name },
        ...{ rows: discarded + left, rowsDone: discarded },
      });
    }
    const now = await getEndpoint(connection, actor, id);
    await options.audit(connection, {
      ...caller,
      action: 'endpoint.discard_backlog',
      target: id,
      tenant: locked.tenant,
      before,
      after: { ...now, discarded, ...(job === undefined ? {} : { job, waiting: left }) },
    });
    return now;
  });
  if (after.enabled) options.wakeUp.wake([id]);
  else options.jobs.poke();
  return after;
}

/**
 * Gives an endpoint a new secret, which is shown only in this answer. The old secret also signs for 24 hours. Throws
 * 404 `endpoint_not_found`.
 */
export async function rotateSecret(
  db: Database,
  options: Pick<WebhookOptions, 'secretBox' | 'audit'>,
  caller: Caller,
  request: { id: string },
) {
  const id = toEndpointId(request.id);
  const box = options.secretBox();
  const secret = newSecret();
  const fresh = box.seal(secret, id);
  const rotated = await db.transaction(async (connection) => {
    const locked = found(await lockEndpoint(connection, id, caller.actor.tenants));
    const previous = canOpen(box, locked.secret, id) ? locked.secret : null;
    const after = showEndpoint(found(await updateSecret(connection, id, { fresh, previous })));
    await options.audit(connection, {
      ...caller,
      action: 'endpoint.rotate_secret',
      target: id,
      tenant: locked.tenant,
      after: { previous_secret_until: after.previous_secret_until },
    });
    return after;
  });
  return { ...rotated, secret };
}
