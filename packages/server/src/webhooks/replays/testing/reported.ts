import sql from 'sql-template-tag';
import { newId } from '../../../kernel/ids.ts';
import type { Queryable } from '../../../platform/postgres/database.ts';

/** Reports so many incidents, a second apart, the last one a minute ago; answers their ids in this order. */
export async function reportOf(db: Queryable, count: number, tenant = 'T'): Promise<string[]> {
  const ids = Array.from({ length: count }, () => newId('inc'));
  await db.query(sql`
    insert into incidents (id, tenant, type, occurred_at, body, created_at)
    select id, ${tenant}, 'incident.created', now(), '{"data":1}',
      now() - interval '60 seconds' - (${count} - n) * interval '1 second'
    from unnest(${ids}::text[]) with ordinality as given (id, n)`);
  return ids;
}

/** Gives each of these incidents the data that is made of its place. */
export async function putData(db: Queryable, ids: readonly string[], of: (n: number) => string) {
  const bodies = ids.map((_, n) => `{"data":${of(n)}}`);
  await db.query(sql`
    update incidents i set body = given.body
    from unnest(${ids}::text[], ${bodies}::text[]) as given (id, body) where i.id = given.id`);
}

/** Has an endpoint take only what this holds for. */
export async function filterBy(db: Queryable, { id }: { id: string }, where: string) {
  await db.query(sql`
    update webhook_endpoints set filter = ${where}, filter_key = md5(${where})::uuid where id = ${id}`);
}

/** All that was ever reported. */
export const allOf = ({ id }: { id: string }) => ({
  tenant: 'T',
  endpointId: id,
  from: '2000-01-01T00:00:00Z',
  until: new Date().toISOString(),
  incidentId: null,
  eventTypes: null,
  ignoresFilters: false,
});
