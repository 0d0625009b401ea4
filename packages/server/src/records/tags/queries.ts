import sql, { raw, type Sql } from 'sql-template-tag';
import type { Connection, Queryable } from '../../platform/postgres/database.ts';
import { advisoryLocks } from '../../platform/postgres/locks.ts';
import { givenRows, instantText, unseen } from '../../platform/postgres/sql-text.ts';
import { where } from '../slice/queries.ts';
import { beyondLastDay, type DayWindow, firstDay, type Slice, type Span } from '../slice/slice.ts';
import type { DayRow, Tag } from '../tags.contract.ts';
import type { DatasetName } from '../values.ts';
import type { CounterRun, CounterScope, CounterSpan, SpanTable, Weight } from './counters.ts';

/** Returns the windows of these tenants' tags, the oldest tags first: at most a thousand for each tenant. */
export async function listTaggedDays(
  db: Queryable,
  tenants: readonly string[],
): Promise<(DayWindow & { tenant: string; dataset: DatasetName })[]> {
  return db.query(sql`
    select tenant, dataset, store, coalesce(first_day, ${firstDay}::date)::text as "from",
      coalesce(last_day + 1, ${beyondLastDay}::date)::text as until
    from tags where tenant = any(${unseen(tenants, 'text')}) order by created_at, id`);
}

/** A tag as it is stored. */
export type StoredTag = Omit<Tag, 'count' | 'bytes'>;

export type TagWindow = Pick<StoredTag, 'tenant' | 'store' | 'from' | 'to' | 'dataset'>;

// Citus evaluates only immutable functions in `returning`, and `to_char` is none: the statements that change a tag return
// the row, and make its text outside.
const columns = sql`tenant, id, store, first_day::text as "from", last_day::text as "to", dataset, note,
  ${instantText('created_at')} as created_at, created_by`;

/** Lets one transaction at a time make tags of a tenant. What it counts stays true until its commit. */
export async function lockTags(connection: Connection, tenant: string): Promise<void> {
  await connection.query(
    sql`select pg_advisory_xact_lock(${advisoryLocks.tags}, hashtext(${tenant}))`,
  );
}

export async function countTags(db: Queryable, tenant: string): Promise<number> {
  const rows = await db.query<{ count: number }>(
    sql`select count(*) as count from tags where tenant = ${tenant}`,
  );
  return rows[0]?.count ?? 0;
}

/** Returns the tag with exactly this window and this dataset; undefined when there is none. */
export async function findTagOfWindow(
  db: Queryable,
  window: TagWindow,
): Promise<StoredTag | undefined> {
  const rows = await db.query<StoredTag>(sql`
    select ${columns} from tags
    where tenant = ${window.tenant} and dataset = ${window.dataset}
      and store is not distinct from ${window.store}
      and first_day is not distinct from ${window.from}::date
      and last_day is not distinct from ${window.to}::date`);
  return rows[0];
}

export async function insertTag(
  db: Queryable,
  tag: Omit<StoredTag, 'created_at'>,
): Promise<StoredTag | undefined> {
  const rows = await db.query<StoredTag>(sql`
    with tags as (
      insert into tags (tenant, id, store, first_day, last_day, dataset, note, created_by)
      values (${tag.tenant}, ${tag.id}, ${tag.store}, ${tag.from}::date, ${tag.to}::date, ${tag.dataset},
        ${tag.note}, ${tag.created_by})
      returning *
    ) select ${columns} from tags`);
  return rows[0];
}

/** Returns the time when the transaction began, which is the time a tag made in it would get. */
export async function readTime(db: Queryable): Promise<string> {
  const rows = await db.query<{ at: string }>(sql`select ${instantText('now()')} as at`);
  return rows[0]?.at ?? '';
}

/** Deletes a tag of one of these tenants (null means of any). Returns what it was; undefined when there was none. */
export async function deleteTag(
  db: Queryable,
  id: string,
  tenants: readonly string[] | null,
): Promise<StoredTag | undefined> {
  const rows = await db.query<StoredTag>(sql`
    with tags as (
      delete from tags where id = ${id} and (${tenants}::text[] is null or tenant = any(${tenants}::text[]))
      returning *
    ) select ${columns} from tags`);
  return rows[0];
}

/** Returns the tags that touch a slice, the latest first. `after` is the time and the id of the last one seen. */
export async function listTags(
  db: Queryable,
  filter: Pick<Slice, 'tenant' | 'store' | 'from' | 'until' | 'dataset' | 'tenants'>,
  page: { after: readonly string[] | null; limit: number },
): Promise<StoredTag[]> {
  const { tenant, store, from, until, dataset, tenants } = filter;
  const conditions: Sql[] = [];
  if (tenant !== undefined) conditions.push(sql`tenant = ${tenant}`);
  if (tenants !== null) conditions.push(sql`tenant = any(${[...tenants]}::text[])`);
  if (store !== undefined) conditions.push(sql`(store is null or store = ${store})`);
  if (from !== undefined) {
    conditions.push(sql`(last_day is null or last_day >= ${from}::date)`);
  }
  if (until !== undefined) {
    conditions.push(sql`(first_day is null or first_day < ${until}::date)`);
  }
  if (dataset !== undefined) conditions.push(sql`dataset = ${dataset}`);
  if (page.after !== null) {
    const [createdAt, id] = page.after;
    conditions.push(sql`(tags.created_at, id) < (${createdAt}::timestamptz, ${id})`);
  }
  return db.query<StoredTag>(sql`
    select ${columns} from tags ${where(conditions)}
    order by tags.created_at desc, id desc limit ${page.limit}`);
}

export type CounterSum = { count: number; bytes: number };

/**
 * Returns the sums of the runs that have any counters. The runs are numbered from 0 in their order. It groups by tenant,
 * because a cluster hands on a lateral join only if a worker can answer it alone.
 */
export async function sumCounters(
  db: Queryable,
  table: SpanTable,
  runs: readonly CounterRun[],
): Promise<(CounterSum & { number: number })[]> {
  const { column, type } = timeOf(table);
  const given = runs.map((run, number) => ({ number, ...run, ...boundsOf(table, run) }));
  const types = { number: 'int', tenant: 'text', store: 'text', first: type, until: type };
  const ofStore = raw(table.startsWith('leaf') ? 'and c.store = run.store' : '');
  return db.query(sql`
    select run.number, counted.count, counted.bytes from ${givenRows('run', given, types)}
    cross join lateral (
      select sum(c.count)::bigint as count, sum(c.bytes)::bigint as bytes from ${raw(table)} c
      where c.tenant = run.tenant ${ofStore} and c.${column} >= run.first and c.${column} < run.until
      group by c.tenant
    ) counted`);
}

/** By what the counters of a table follow one another. */
function timeOf(table: SpanTable): { column: Sql; type: string } {
  const isByMonth = table === 'leaf_months' || table === 'tenant_months';
  return isByMonth ? { column: raw('month'), type: 'text' } : { column: raw('day'), type: 'date' };
}

function boundsOf(table: SpanTable, { from, until }: Span): { first: string; until: string } {
  const length = timeOf(table).type === 'date' ? 'YYYY-MM-DD'.length : 'YYYY-MM'.length;
  return { first: from.slice(0, length), until: until.slice(0, length) };
}

/** Sums a run of counters in one pass, by the names of these stores of a tenant, or of these tenants. */
export async function sumByName(
  db: Queryable,
  scopes: readonly CounterScope[],
  { table, ...span }: CounterSpan,
): Promise<Map<string, number>> {
  const { column, type } = timeOf(table);
  const { first, until } = boundsOf(table, span);
  const stores = [...new Set(scopes.flatMap(({ store }) => store ?? []))];
  const conditions = [
    sql`tenant = any(${[...new Set(scopes.map(({ tenant }) => tenant))]}::text[])`,
    sql`${column} >= ${first}::${raw(type)} and ${column} < ${until}::${raw(type)}`,
  ];
  if (stores.length > 0) conditions.push(sql`store = any(${stores}::text[])`);
  // This is true for every day. With it PostgreSQL can use the two partial indexes by tenant and day.
  if (table === 'leaf_days') conditions.push(raw('(has_hot or not has_hot)'));
  const rows = await db.query<{ name: string; count: number }>(sql`
    select ${raw(stores.length > 0 ? 'store' : 'tenant')} as name, sum(count)::bigint as count
    from ${raw(table)} ${where(conditions)} group by 1`);
  return new Map(rows.map(({ name, count }) => [name, count]));
}

/** The counters of one day. */
export type DayCounters = Pick<DayRow, 'day' | 'count' | 'bytes'> & { cold_count: number };

/** Returns the days of a tenant, or of one of its stores, that have records, in order. */
export async function listCountedDays(
  db: Queryable,
  filter: Pick<Slice, 'store' | 'from' | 'until'> & { tenant: string },
  page: { after: readonly string[] | null; limit: number },
): Promise<DayCounters[]> {
  const { tenant, store, from, until } = filter;
  const conditions = [sql`tenant = ${tenant}`];
  if (store !== undefined) conditions.push(sql`store = ${store}`);
  if (from !== undefined) conditions.push(sql`counter.day >= ${from}::date`);
  if (until !== undefined) conditions.push(sql`counter.day < ${until}::date`);
  if (page.after !== null) conditions.push(sql`counter.day > ${page.after[0]}::date`);
  return db.query<DayCounters>(sql`
    select day::text as day, count, bytes, cold_count
    from ${raw(store === undefined ? 'tenant_days' : 'leaf_days')} counter ${where(conditions)}
    order by counter.day limit ${page.limit}`);
}

/** Sums runs of a tenant's leaf_days by day, multiplied by the weight of each run. */
export async function sumRunsByDay(
  db: Queryable,
  tenant: string,
  runs: readonly (Span & { store: string; weight: Weight })[],
): Promise<(Weight & { day: string })[]> {
  const given = runs.map(({ store, from, until, weight }) => ({
    store,
    first: from,
    until,
    ...weight,
  }));
  const types = { store: 'text', first: 'date', until: 'date' };
  const weights = { covered: 'int', training: 'int', fine_tuning: 'int' };
  return db.query(sql`
    select c.day::text as day, sum(c.count * run.covered)::bigint as covered,
      sum(c.count * run.training)::bigint as training,
      sum(c.count * run.fine_tuning)::bigint as fine_tuning
    from ${givenRows('run', given, { ...types, ...weights })}
    cross join lateral (
      select day, count from leaf_days c where c.tenant = ${tenant} and c.store = run.store
        and c.day >= run.first and c.day < run.until offset 0
    ) c
    group by c.day`);
}
