import type { Static } from 'typebox';
import { assertReach } from '../../kernel/actor.ts';
import { newId } from '../../kernel/ids.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { refuseHiddenNames } from '../../platform/postgres/known-names.ts';
import type { newEndpointSchema } from '../contract.ts';
import { laneOf } from '../lanes.ts';
import type { WebhookOptions } from '../options.ts';
import { newSecret, secretBytes } from '../secret.ts';
import { type Caller, found, showEndpoint } from './endpoints.ts';
import { insertEndpoint } from './queries.ts';
import { findWarnings } from './warnings.ts';

/**
 * Registers an endpoint. The returned secret is shown only here. Throws 400 `request_invalid` (also for a tenant that
 * the token does not reach), `target_invalid`, `target_blocked`.
 */
export async function createEndpoint(
  db: Database,
  options: Pick<WebhookOptions, 'secretBox' | 'target' | 'audit'>,
  caller: Caller,
  request: Static<typeof newEndpointSchema>,
) {
  const { tenant, secret = newSecret(), enabled = true } = request;
  assertReach(caller.actor, tenant);
  await refuseHiddenNames(db, '/tenant', [{ tenant }]);
  // Throws when the caller's secret has a wrong form.
  secretBytes(secret);
  await options.target.assertAllowed(request.url, caller.actor);
  const id = newId('ep');
  const endpoint = {
    id,
    lane: laneOf(id),
    tenant,
    url: request.url,
    description: request.description ?? null,
    event_types: request.event_types ?? ['*'],
    enabled,
    disabled_reason: enabled ? null : ('operator' as const),
    disabled_by: enabled ? null : caller.actor.name,
    max_attempts: request.max_attempts ?? null,
    retry_schedule: request.retry_schedule ?? null,
    rate_limit: request.rate_limit ?? null,
    disable_after_days: request.disable_after_days ?? null,
    secret: options.secretBox().seal(secret, id),
  };
  const made = await db.transaction(async (connection) => {
    const row = showEndpoint(found(await insertEndpoint(connection, endpoint)));
    await options.audit(connection, {
      ...caller,
      action: 'endpoint.create',
      target: id,
      tenant,
      after: row,
    });
    return row;
  });
  return { ...made, secret, warnings: await findWarnings(db, made) };
}
