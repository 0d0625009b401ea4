import type { Actor } from '../kernel/actor.ts';
import type { Queryable } from '../platform/postgres/database.ts';
import { findTenantOfEndpoint } from './queries.ts';

/** Where a list looks: in these tenants (null means all), or at one endpoint. */
type Reach = { readonly tenants: readonly string[] | null; readonly endpointId?: string };

/** The part of a filter that the actor may read; null means that there is nothing. */
export async function findReach(
  db: Queryable,
  actor: Pick<Actor, 'tenants'>,
  filter: { tenant?: string | null | undefined; endpoint_id?: string | null | undefined },
): Promise<Reach | null> {
  const tenants = tenantsOf(actor, filter.tenant ?? undefined);
  if (tenants?.length === 0) return null;
  if (!filter.endpoint_id) return { tenants };
  if (tenants === null) return { tenants: null, endpointId: filter.endpoint_id };
  // An endpoint has one tenant, which is looked up first: otherwise all rows of an endpoint out of reach would be read
  // and dropped.
  const tenant = await findTenantOfEndpoint(db, filter.endpoint_id);
  const isReached = tenant !== undefined && tenants.includes(tenant);
  return isReached ? { tenants: null, endpointId: filter.endpoint_id } : null;
}

/** The tenants to read, within the caller's reach; null means all. */
function tenantsOf(
  actor: Pick<Actor, 'tenants'>,
  tenant: string | undefined,
): readonly string[] | null {
  if (tenant === undefined) return actor.tenants;
  return actor.tenants === null || actor.tenants.includes(tenant) ? [tenant] : [];
}
