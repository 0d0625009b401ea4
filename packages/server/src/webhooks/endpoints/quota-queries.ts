import sql from 'sql-template-tag';
import type { Queryable } from '../../platform/postgres/database.ts';
import { advisoryLocks } from '../../platform/postgres/locks.ts';

/** How many endpoints a tenant has, `most` at most. No other is made for it before the transaction ends. */
export async function countEndpointsOf(
  db: Queryable,
  tenant: string,
  most: number,
): Promise<number> {
  await db.query(
    sql`select pg_advisory_xact_lock(${advisoryLocks.endpointNames}, hashtext(${tenant}))`,
  );
  const rows = await db.query<{ count: number }>(sql`
    select count(*) as count from (
      select from webhook_endpoints where tenant = ${tenant} and deleted_at is null limit ${most}
    ) found`);
  return rows[0]?.count ?? 0;
}
