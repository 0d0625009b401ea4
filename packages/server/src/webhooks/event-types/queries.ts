import sql, { type Sql } from 'sql-template-tag';
import type { Queryable } from '../../platform/postgres/database.ts';
import { instantText } from '../../platform/postgres/sql-text.ts';
import type { CatalogueType } from '../contract.ts';

const columns = sql`type, description, schema, sample, deprecated, ${instantText('created_at')} as created_at,
  ${instantText('updated_at')} as updated_at`;

/** A type with schema and sample as JSON text, in which numbers are as they were spelled; null is nothing. */
export type TypeText = Omit<CatalogueType, 'schema' | 'sample'> & {
  readonly schema: string | null;
  readonly sample: string | null;
};
const textColumns = sql`type, description, schema::text as schema, sample::text as sample, deprecated,
  ${instantText('created_at')} as created_at, ${instantText('updated_at')} as updated_at`;

type Keyset = { after: readonly string[] | null; limit: number };

/** Lists the types of the catalogue in their order, beginning after `after`; null begins with the first. */
export function listTypes(db: Queryable, keyset: Keyset): Promise<CatalogueType[]> {
  return db.query<CatalogueType>(pageOf(columns, keyset));
}

export function listTypeTexts(db: Queryable, keyset: Keyset): Promise<TypeText[]> {
  return db.query<TypeText>(pageOf(textColumns, keyset));
}

function pageOf(selected: Sql, { after, limit }: Keyset): Sql {
  const [last = null] = after ?? [];
  return sql`
    select ${selected} from event_types where ${last}::text is null or type > ${last}::text
    order by type limit ${limit}`;
}

export async function findType(db: Queryable, type: string): Promise<CatalogueType | undefined> {
  return (
    await db.query<CatalogueType>(sql`select ${columns} from event_types where type = ${type}`)
  )[0];
}

export async function findTypeText(db: Queryable, type: string): Promise<TypeText | undefined> {
  return (
    await db.query<TypeText>(sql`select ${textColumns} from event_types where type = ${type}`)
  )[0];
}

/** Stores a type, unless it is new and there are `most` already: then it returns nothing. */
export async function putType(
  db: Queryable,
  { type, description, schema, sample, deprecated }: Omit<TypeText, 'created_at' | 'updated_at'>,
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
