import type { Actor } from '../../../kernel/actor.ts';
import type { Queryable } from '../../../platform/postgres/database.ts';
import { findTenantOfEndpoint } from './queries.ts';

/** Where a list looks: in these tenants (null = all), or at one endpoint. */
export type Reach = {
  readonly tenants: readonly string[] | null;
  readonly endpointId?: string;
};

/** What of a filter an actor reaches; null = nothing. */
export async function findReach(
  db: Queryable,
  actor: Pick<Actor, 'tenants'>,
  filter: { tenant?: string | null | undefined; endpoint_id?: string | null | undefined },
): Promise<Reach | null> {
  const tenants = tenantsOf(actor, filter.tenant ?? undefined);
  if (tenants?.length === 0) return null;
  if (!filter.endpoint_id) return { tenants };
  if (tenants === null) return { tenants: null, endpointId: filter.endpoint_id };
  // An endpoint has one tenant. Asked for first: the rows of another would all be read and dropped.
  const tenant = await findTenantOfEndpoint(db, filter.endpoint_id);
  const isReached = tenant !== undefined && tenants.includes(tenant);
  return isReached ? { tenants: null, endpointId: filter.endpoint_id } : null;
}

function tenantsOf(
  actor: Pick<Actor, 'tenants'>,
  tenant: string | undefined,
): readonly string[] | null {
  if (tenant === undefined) return actor.tenants;
  return actor.tenants === null || actor.tenants.includes(tenant) ? [tenant] : [];
}
