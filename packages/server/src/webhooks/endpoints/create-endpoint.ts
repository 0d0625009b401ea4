import type { Static } from 'typebox';
import { assertReach } from '../../kernel/actor.ts';
import { AppError, invalidInput } from '../../kernel/errors.ts';
import { newId } from '../../kernel/ids.ts';
import { formatCount } from '../../kernel/values.ts';
import type { Database, Queryable } from '../../platform/postgres/database.ts';
import { refuseHiddenNames } from '../../platform/postgres/known-names.ts';
import type { newEndpointSchema } from '../contract.ts';
import { changeHeaders, sealHeaders } from '../custom-headers.ts';
import { changeDelivery, refuseSameHeader } from '../delivery-settings.ts';
import type { WebhookOptions } from '../options.ts';
import { readWallSeconds } from '../queries.ts';
import { newSecret, secretBytes } from '../secret.ts';
import { parseFilter } from '../subscription.ts';
import { pollUrl } from '../values.ts';
import { changedSettings } from './change-endpoint.ts';
import { type Caller, findWarnings, found, refuseNamesake } from './endpoints.ts';
import { refuseUnpolled } from './polled-settings.ts';
import { countEndpointsOf, type EndpointSettings, insertEndpoint } from './queries.ts';

/** The settings of an endpoint of which nothing is said. */
const defaults: Omit<EndpointSettings, 'url'> = {
  description: null,
  uid: null,
  name: null,
  labels: {},
  event_types: ['*'],
  stores: null,
  where: null,
  enabled: true,
  disabled_reason: null,
  disabled_by: null,
  max_attempts: null,
  retry_schedule: null,
  rate_limit: null,
  disable_after_days: null,
  ordered: 'none',
  when_stuck: 'block',
};

/**
 * Registers an endpoint. The secret is shown only here. Throws 400 `request_invalid`, `target_invalid`,
 * `target_blocked`, 409 `endpoint_uid_taken`, `endpoint_quota`.
 */
export async function createEndpoint(
  db: Database,
  options: Pick<WebhookOptions, 'secretBox' | 'target' | 'audit' | 'tenantEndpoints'>,
  { actor, request, body }: Caller & { readonly body: Static<typeof newEndpointSchema> },
) {
  const { type: _type, tenant, secret = newSecret(), headers: named, delivery, ...settings } = body;
  const headers = changeHeaders({}, named ?? {});
  assertReach(actor, tenant);
  if (body.where != null) parseFilter(body.where);
  await refuseHiddenNames(db, '/tenant', [{ tenant }]);
  // Throws when the caller's secret has a wrong form.
  secretBytes(secret);
  const url = urlOf(body);
  if (url !== pollUrl) await options.target.assertAllowed(url, actor);
  const id = newId('ep');
  const none = { delivery: null, delivery_keys: null };
  const sending = changeDelivery(
    options.secretBox(),
    { id, nowSeconds: await readWallSeconds(db) },
    none,
    delivery ?? null,
  );
  refuseSameHeader(sending, Object.keys(headers));
  const endpoint = {
    ...changedSettings({ ...defaults, url }, settings, actor.name),
    id,
    tenant,
    ...sending,
    ...sealHeaders(options.secretBox(), id, headers),
    secret: options.secretBox().seal(secret, id),
  };
  const made = await db.transaction(async (connection) => {
    await refuseBeyondQuota(connection, tenant, options.tenantEndpoints);
    await refuseNamesake(connection, endpoint);
    const row = found(await insertEndpoint(connection, endpoint));
    const entry = { actor, request, action: 'endpoint.create', target: id, tenant, after: row };
    await options.audit(connection, entry);
    return row;
  });
  return { ...made, secret, warnings: await findWarnings(db, made) };
}

/** The URL of a new endpoint. Throws 400 `request_invalid` where it does not go with its type. */
function urlOf({ type = 'push', url, ...settings }: Static<typeof newEndpointSchema>): string {
  if (type === 'pull') {
    if (url !== undefined) throw invalidInput('/url', 'goes with the type push alone');
    refuseUnpolled({ ordered: 'none', ...settings });
    return pollUrl;
  }
  if (url === undefined) throw invalidInput('/url', 'is missing', 'field_required');
  return url;
}

/** Throws 409 `endpoint_quota` when the tenant has as many endpoints as it may have; `most` of 0 is any number. */
async function refuseBeyondQuota(db: Queryable, tenant: string, most: number): Promise<void> {
  if (most === 0 || (await countEndpointsOf(db, tenant, most)) < most) return;
  throw new AppError('endpoint_quota', {
    detail: `The tenant has ${formatCount(most)} endpoints, and may have no more. Delete one, or ask an administrator of the service.`,
  });
}
