import type { Actor } from '../src/kernel/actor.ts';

/** A caller who may do everything. */
export const testActor: Actor = {
  tokenId: 'tok_test',
  name: 'test',
  scopes: ['admin'],
  tenants: null,
  expiresAt: null,
};
