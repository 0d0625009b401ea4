import sql, { join, raw, type Sql } from 'sql-template-tag';
import { isOfStores } from '../../kernel/actor.ts';
import type { Queryable, Row } from '../postgres/database.ts';
import { instantText } from '../postgres/sql-text.ts';
import type { JobState } from './values.ts';

/** Where the jobs of a kind are read. In all statements the table is called `j`. */
export type JobSource = {
  readonly name: string;
  /** The column with the time of the request; an index of it and the id makes pages cheap. */
  readonly requestedAt: string;
  /** Selects the rows that whoever reaches only these tenants may see; null means all tenants. */
  isInReach(reach: Reach): Sql;
  /** Selects the rows that are jobs of the kind, where not all of the table are. */
  readonly isListed?: Sql;
};

/** The tenants that whoever asks reaches; null means all. */
type Reach = readonly string[] | null;

/** What the list of all jobs tells of those of a kind. */
export type ListedTable = JobSource & {
  /** The state, as the list names it. */
  readonly state: Sql;
  readonly startedAt: string | null;
  readonly finishedAt: string | null;
  readonly requestedBy: Sql;
  readonly done: Sql;
  readonly total: Sql;
  readonly error: Sql;
  /** An object of what the summary needs beside. */
  readonly told: Sql;
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

/** The same of jobs that may be of one store, as their request says: who is limited to stores sees those of theirs. */
export function isOfTenantsOrStores(reach: readonly string[] | null): Sql {
  if (!isOfStores(reach)) return isOfTenants(reach);
  return sql`j.tenant || '/' || (j.request ->> 'store') = any(${[...reach]}::text[])`;
}

/** Lists jobs of a kind that meet some conditions, the latest first, beginning after `page.after`. */
export async function listJobRows<Shown extends Row>(
  db: Queryable,
  source: JobSource,
  columns: Sql,
  { reach, conditions = [] }: { reach: Reach; conditions?: readonly Sql[] },
  page: { after: readonly string[] | null; limit: number },
): Promise<Shown[]> {
  const [requestedAt, id] = page.after ?? [];
  const at = raw(`j.${source.requestedAt}`);
  const isAfter =
    page.after === null ? raw('true') : sql`(${at}, j.id) < (${requestedAt}::timestamptz, ${id})`;
  return db.query<Shown>(sql`
    ${selectJobs(source, columns, reach)} and ${join([...conditions, isAfter], ' and ')}
    order by ${at} desc, j.id desc limit ${page.limit}`);
}

/** Finds a job of a kind; undefined when the id is none, or the job is unknown or out of reach. */
export async function findJobRow<Shown extends Row>(
  db: Queryable,
  source: JobSource,
  columns: Sql,
  { id, reach }: { id: string; reach: Reach },
): Promise<Shown | undefined> {
  if (!/^\w{1,100}$/.test(id)) return undefined;
  const rows = await db.query<Shown>(sql`${selectJobs(source, columns, reach)} and j.id = ${id}`);
  return rows[0];
}

/** The jobs of a kind that are in reach; conditions may follow. */
export function selectJobs(source: JobSource, columns: Sql, reach: Reach): Sql {
  return sql`select ${columns} from ${raw(source.name)} j
    where ${source.isListed ?? raw('true')} and ${source.isInReach(reach)}`;
}

type ListFilter = { reach: Reach; tenant: string | undefined; state: JobState | undefined };

/** Lists jobs of a kind for the list of all jobs, the latest first. */
export async function listOfKind(
  db: Queryable,
  table: ListedTable,
  { reach, tenant, state }: ListFilter,
  page: { after: readonly string[] | null; limit: number },
): Promise<ListedRow[]> {
  const conditions: Sql[] = [];
  if (tenant !== undefined) conditions.push(sql`j.tenant = ${tenant}`);
  if (state !== undefined) conditions.push(sql`${table.state} = ${state}`);
  return listJobRows<ListedRow>(db, table, listedColumns(table), { reach, conditions }, page);
}

/** Finds a job of a kind for the list of all jobs; undefined when it is unknown or out of reach. */
export async function findOfKind(
  db: Queryable,
  table: ListedTable,
  of: { id: string; reach: Reach },
): Promise<ListedRow | undefined> {
  return findJobRow<ListedRow>(db, table, listedColumns(table), of);
}

function listedColumns(table: ListedTable): Sql {
  const timeOf = (column: string | null) =>
    column === null ? raw('null') : instantText(`j.${column}`);
  return sql`j.id, ${table.state} as state, j.tenant, ${table.requestedBy} as requested_by,
      ${timeOf(table.requestedAt)} as requested_at, ${timeOf(table.startedAt)} as started_at,
      ${timeOf(table.finishedAt)} as finished_at, ${table.done} as done, ${table.total} as total,
      ${table.error} as error, ${table.told} as told`;
}
