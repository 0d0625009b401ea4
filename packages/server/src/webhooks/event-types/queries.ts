import sql from 'sql-template-tag';
import type { Queryable } from '../../platform/postgres/database.ts';
import { instantText } from '../../platform/postgres/sql-text.ts';
import type { CatalogueType } from '../contract.ts';

const columns = sql`type, description, schema, sample, deprecated, ${instantText('created_at')} as created_at,
  ${instantText('updated_at')} as updated_at`;

/** Lists the types of the catalogue in their order, beginning after `after`; null begins with the first. */
export function listTypes(
  db: Queryable,
  { after, limit }: { after: readonly string[] | null; limit: number },
): Promise<CatalogueType[]> {
  const [last = null] = after ?? [];
  return db.query<CatalogueType>(sql`
    select ${columns} from event_types where ${last}::text is null or type > ${last}::text
    order by type limit ${limit}`);
}

export async function findType(db: Queryable, type: string): Promise<CatalogueType | undefined> {
  return (
    await db.query<CatalogueType>(sql`select ${columns} from event_types where type = ${type}`)
  )[0];
}

export async function findSampleText(db: Queryable, type: string): Promise<string | null> {
  const rows = await db.query<{ sample: string | null }>(
    sql`select sample::text as sample from event_types where type = ${type}`,
  );
  return rows[0]?.sample ?? null;
}

/** What the catalogue has of a type, with schema and sample as JSON text; null is nothing. */
type TypeToStore = Pick<CatalogueType, 'type' | 'description' | 'deprecated'> & {
  readonly schema: string | null;
  readonly sample: string | null;
};

/** Stores a type, unless it is new and there are `most` already: then it returns nothing. */
export async function putType(
  db: Queryable,
  { type, description, schema, sample, deprecated }: TypeToStore,
  most: number,
): Promise<CatalogueType | undefined> {
  const rows = await db.query<CatalogueType>(sql`
    insert into event_types (type, description, schema, sample, deprecated)
    select ${type}, ${description}, ${schema}::json, ${sample}::json, ${deprecated}
    where (select count(*) from event_types where type <> ${type}) < ${most}
    on conflict (type) do update set description = excluded.description, schema = excluded.schema,
      sample = excluded.sample, deprecated = excluded.deprecated, updated_at = now()
    returning ${columns}`);
  return rows[0];
}

export async function removeType(db: Queryable, type: string): Promise<CatalogueType | undefined> {
  return (
    await db.query<CatalogueType>(
      sql`delete from event_types where type = ${type} returning ${columns}`,
    )
  )[0];
}
