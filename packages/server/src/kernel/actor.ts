import { AppError, invalidInput } from './errors.ts';
import type { Scope } from './values.ts';

/** Who calls. `tenants` null = all; otherwise nothing of any other tenant may show. */
export type Actor = {
  readonly tokenId: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly tenants: readonly string[] | null;
  readonly expiresAt: string | null;
  /** Present when a console session calls, rather than the token itself. */
  readonly session?: ConsoleSession;
};

/** `confirmedUntil`: how long it need not give its access token again; null = it must. */
export type ConsoleSession = { readonly confirmedUntil: string | null };

export function hasScope(actor: Actor, scope: Scope): boolean {
  return actor.scopes.includes('admin') || actor.scopes.includes(scope);
}

export function requireScope(actor: Actor, scope: Scope): void {
  if (hasScope(actor, scope)) return;
  throw new AppError('scope_missing', {
    detail: `This token lacks the scope ${scope}. It is "${actor.name}" with ${actor.scopes.join(', ')}. Ask an admin for a token with ${scope}.`,
  });
}

/** For what is destructive: throws 403 `step_up_required` to a console session that must confirm first. */
export function requireConfirmation({ session }: Actor): void {
  if (session === undefined || session.confirmedUntil !== null) return;
  throw new AppError('step_up_required', {
    detail: 'Confirm with your access token: POST /session/confirm.',
  });
}

export function mayTouchTenant(actor: Actor, tenant: string): boolean {
  return actor.tenants === null || actor.tenants.includes(tenant);
}

/**
 * Throws 400 `request_invalid` at /tenant when what is to be made belongs to a tenant that the actor does
 * not reach: in the same words for every such tenant, so that they tell nothing of whether it exists.
 */
export function assertReach(actor: Actor, tenant: string): void {
  if (mayTouchTenant(actor, tenant)) return;
  throw invalidInput('/tenant', 'is not one that this token reaches; GET /me lists those');
}
