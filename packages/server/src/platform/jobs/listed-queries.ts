import sql, { raw, type Sql } from 'sql-template-tag';
import type { Queryable, Row } from '../postgres/database.ts';
import { instantText } from '../postgres/sql-text.ts';
import type { JobState } from './values.ts';

/** Where the jobs of a kind are read for the list of all jobs. In all statements the table is called `j`. */
export type ListedTable = {
  readonly name: string;
  /** The state, as the list names it. */
  readonly state: Sql;
  /** Columns with the times; an index of the time of the request and the id makes pages cheap. */
  readonly requestedAt: string;
  readonly startedAt: string | null;
  readonly finishedAt: string | null;
  readonly requestedBy: Sql;
  readonly done: Sql;
  readonly total: Sql;
  readonly error: Sql;
  /** An object of what the summary needs beside. */
  readonly told: Sql;
  /** Selects the rows that whoever reaches only these tenants may see; null means all tenants. */
  isInReach(reach: readonly string[] | null): Sql;
  /** Selects the rows that are jobs of the kind, where not all of the table are. */
  readonly isListed?: Sql;
};

/** A job as its table tells it. */
export type ListedRow<Told extends object = object> = Row & {
  id: string;
  state: JobState;
  tenant: string | null;
  requested_by: string | null;
  requested_at: string;
  started_at: string | null;
  finished_at: string | null;
  done: number | null;
  total: number | null;
  error: string | null;
  told: Told;
};

/** Selects rows that name a tenant in reach. */
export function isOfTenants(reach: readonly string[] | null): Sql {
  return reach === null ? raw('true') : sql`j.tenant = any(${reach}::text[])`;
}

type ListFilter = {
  reach: readonly string[] | null;
  tenant: string | undefined;
  state: JobState | undefined;
};

/** Lists jobs of a kind, the latest first. */
export async function listOfKind(
  db: Queryable,
  table: ListedTable,
  { reach, tenant, state }: ListFilter,
  page: { after: readonly string[] | null; limit: number },
): Promise<ListedRow[]> {
  const [requestedAt, id] = page.after ?? [];
  const at = raw(`j.${table.requestedAt}`);
  const ofTenant = tenant === undefined ? raw('true') : sql`j.tenant = ${tenant}`;
  const inState = state === undefined ? raw('true') : sql`${table.state} = ${state}`;
  const isAfter =
    page.after === null ? raw('true') : sql`(${at}, j.id) < (${requestedAt}::timestamptz, ${id})`;
  return select(
    db,
    table,
    sql`${table.isInReach(reach)} and ${ofTenant} and ${inState} and ${isAfter}
      order by ${at} desc, j.id desc limit ${page.limit}`,
  );
}

/** Finds a job of a kind; undefined when it is unknown or out of reach. */
export async function findOfKind(
  db: Queryable,
  table: ListedTable,
  { id, reach }: { id: string; reach: readonly string[] | null },
): Promise<ListedRow | undefined> {
  const rows = await select(db, table, sql`j.id = ${id} and ${table.isInReach(reach)}`);
  return rows[0];
}

function select(db: Queryable, table: ListedTable, rest: Sql): Promise<ListedRow[]> {
  const timeOf = (column: string | null) =>
    column === null ? raw('null') : instantText(`j.${column}`);
  return db.query<ListedRow>(sql`
    select j.id, ${table.state} as state, j.tenant, ${table.requestedBy} as requested_by,
      ${timeOf(table.requestedAt)} as requested_at, ${timeOf(table.startedAt)} as started_at,
      ${timeOf(table.finishedAt)} as finished_at, ${table.done} as done, ${table.total} as total,
      ${table.error} as error, ${table.told} as told
    from ${raw(table.name)} j where ${table.isListed ?? raw('true')} and ${rest}`);
}
