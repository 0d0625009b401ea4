import type { Database } from '../../platform/postgres/database.ts';
import type { WebhookOptions } from '../options.ts';
import { newSecret } from '../secret.ts';
import { type Caller, found, showEndpoint, toEndpointId } from './endpoints.ts';
import { lockEndpoint, updateSecret } from './queries.ts';
import { canOpen } from './reseal.ts';

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
