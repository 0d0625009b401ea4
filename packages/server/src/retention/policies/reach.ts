import { type Actor, mayTouchTenant } from '../../kernel/actor.ts';
import { invalidInput } from '../../kernel/errors.ts';

/**
 * Throws 400 `request_invalid` at /tenant when something is to be done to a tenant that the caller does not
 * reach: in the same words for every such tenant, so that they tell nothing of whether it exists.
 */
export function assertReach(actor: Actor, tenant: string): void {
  if (mayTouchTenant(actor, tenant)) return;
  throw invalidInput('/tenant', 'is not one that this token reaches; GET /me lists those');
}
