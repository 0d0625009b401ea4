import sql from 'sql-template-tag';
import type { Queryable } from '../../platform/postgres/database.ts';
import { wantedTypes } from '../queries.ts';

/** The filters of a tenant's endpoints, and who asks them. */
export type FilterRow = {
  /** By which a statement knows a filter: the MD5 of its text. */
  key: string;
  /** null: these have none, but some of them are ordered. */
  filter: string | null;
  has_order: boolean;
  wants: { types: string[]; stores: string[] | null }[];
};

export async function listFilters(db: Queryable, tenant: string): Promise<FilterRow[]> {
  return db.query<FilterRow>(sql`
    select filter_key::text as key, filter, bool_or(ordered is not null) as has_order,
      json_agg(json_build_object('types', ${wantedTypes}, 'stores', stores)) as wants
    from webhook_endpoints
    where tenant = ${tenant} and deleted_at is null and (filter is not null or ordered is not null)
    group by filter_key, filter order by filter_key`);
}
