import sql, { empty, join, raw, type Sql } from 'sql-template-tag';
import { dayAfter } from '../../kernel/day.ts';
import { instantText } from '../../platform/postgres/sql-text.ts';
import { datasetNames } from '../values.ts';
import {
  type DayWindow,
  type KeyRange,
  onlyMonth,
  type RecordColumn,
  type Slice,
} from './slice.ts';

// This file expresses a slice as conditions of PostgreSQL on tables with the columns tenant, store and day or
// occurred_at.

/**
 * Returns the conditions for tables that count store-days (leaf_days, segment_days). Labels are left out, because such
 * tables do not know them.
 */
export function dayConditions(slice: Slice): Sql[] {
  return sliceConditions(slice, dayColumn);
}

/**
 * Returns the smallest table of counters that can tell the days of a slice: that of tenants, unless the slice is about
 * stores. It is meant for sums under `dayConditions`.
 */
export function dayTable({ store, range, dataset, tags }: Slice): Sql {
  const isOfStores =
    store !== undefined ||
    range !== undefined ||
    (dataset !== undefined && tags?.[dataset].some((window) => window.store !== null));
  return raw(isOfStores ? 'leaf_days' : 'tenant_days');
}

/** Returns the conditions for enrichment_records, the same for pages and exports. */
export function recordConditions(slice: Slice): Sql[] {
  return [...sliceConditions(slice, timeColumn), ...labelConditions(slice)];
}

/** Returns the conditions on what only a record itself tells. */
export function labelConditions(slice: Slice): Sql[] {
  const { kind, source, eventId, largerThan, recordedBefore, split, shares } = slice;
  const conditions: Sql[] = [];
  if (kind !== undefined) conditions.push(sql`kind = ${kind}`);
  if (source !== undefined) conditions.push(sql`source = ${source}`);
  if (eventId !== undefined) conditions.push(sql`event_id = ${eventId}`);
  if (largerThan !== undefined) conditions.push(sql`bytes > ${largerThan}`);
  if (recordedBefore !== undefined) {
    conditions.push(sql`recorded_at < ${recordedBefore}::timestamptz`);
  }
  if (split !== undefined && shares !== undefined) {
    conditions.push(sql`${splitSql(shares)} = ${split}`);
  }
  return conditions;
}

/**
 * Selects the hot records of a slice, or of a range of it, in the order of their keys. `row` says what is selected of
 * each record; `columnSql` makes it.
 */
export function selectSlice(slice: Slice, row: Sql, range?: KeyRange): Sql {
  const conditions = recordConditions(slice);
  if (range !== undefined) conditions.push(...inRange(slice.tenant, range, timeColumn));
  return sql`select ${row} from enrichment_records ${where(conditions)}
    order by enrichment_records.tenant, enrichment_records.store,
      enrichment_records.occurred_at, enrichment_records.event_id`;
}

/**
 * Returns a column of `selectSlice` as finished text, so that everything that writes it gives the same bytes. Numbers
 * stay numbers.
 */
export function columnSql(column: RecordColumn, slice: Slice): Sql {
  switch (column) {
    case 'month': {
      const month = onlyMonth(slice);
      return month === null
        ? raw(`to_char(occurred_at at time zone 'UTC', 'YYYY-MM')`)
        : sql`${month}::text`;
    }
    case 'occurred_at':
    case 'recorded_at':
      return instantText(column);
    case 'datasets':
      return datasetsSql(slice);
    case 'split':
      return slice.shares === undefined ? raw('null::text') : splitSql(slice.shares);
    case 'tenant':
    case 'store':
    case 'event_id':
    case 'kind':
    case 'source':
    case 'model':
    case 'confidence':
    case 'bytes':
    case 'enrichment':
      return raw(column);
  }
}

function datasetsSql({ tags }: Slice): Sql {
  const tagged = datasetNames.filter((name) => (tags?.[name].length ?? 0) > 0);
  if (tagged.length === 0) return raw('null::text');
  const each = tagged.map(
    (name) =>
      sql`case when ${inWindows(tags?.[name] ?? [], timeColumn)} then ${raw(`'${name}'`)} end`,
  );
  return sql`nullif(concat_ws(';', ${join(each)}), '')`;
}

/** Computes the split of a version in which a record is; `sharesSchema` gives the rule. */
export function splitSql({ train, validation }: NonNullable<Slice['shares']>): Sql {
  return sql`case
    when ${placeSql} < ${raw(String(train))} then 'train'
    when ${placeSql} < ${raw(String(train + validation))} then 'validation' else 'test' end`;
}

const placeSql = raw(`((('x' || left(md5(event_id), 8))::bit(32)::bigint * 100) >> 32)`);

/**
 * Returns the conditions of a tenant and a store. `tenants` are those that the caller may see; only null sets no limit,
 * while an empty list selects nothing.
 */
export function tenantConditions(filter: {
  tenant?: string | undefined;
  store?: string | undefined;
  tenants: readonly string[] | null;
}): Sql[] {
  const conditions: Sql[] = [];
  if (filter.tenant !== undefined) conditions.push(sql`tenant = ${filter.tenant}`);
  if (filter.tenants !== null) conditions.push(sql`tenant = any(${filter.tenants})`);
  if (filter.store !== undefined) conditions.push(sql`store = ${filter.store}`);
  return conditions;
}

/** Joins conditions with `and`. Without any, the result is empty, and the statement selects all rows. */
export function where(conditions: readonly Sql[]): Sql {
  return conditions.length === 0 ? empty : sql`where ${join([...conditions], ' and ')}`;
}

/** The column that tells the day, and how the beginning of a day is written as its value. */
type DayColumn = { readonly name: Sql; start(day: string): Sql };

const dayColumn: DayColumn = { name: raw('day'), start: (day) => sql`${day}::date` };
const timeColumn: DayColumn = {
  name: raw('occurred_at'),
  start: (day) => sql`${`${day}T00:00:00Z`}::timestamptz`,
};

function sliceConditions(slice: Slice, column: DayColumn): Sql[] {
  const { tenant, from, until, range, dataset, tags } = slice;
  const conditions = tenantConditions(slice);
  if (from !== undefined) conditions.push(sql`${column.name} >= ${column.start(from)}`);
  if (until !== undefined) conditions.push(sql`${column.name} < ${column.start(until)}`);
  if (range !== undefined) conditions.push(...inRange(tenant, range, column));
  if (dataset !== undefined) {
    if (tags === undefined) throw new Error('a slice of a dataset is read without its tags');
    conditions.push(inWindows(tags[dataset], column));
  }
  return conditions;
}

function inRange(
  tenant: string | undefined,
  { first, last, minDay, maxDay }: KeyRange,
  column: DayColumn,
): Sql[] {
  const start = column.start(first.day);
  const end = column.start(dayAfter(last.day));
  const { name } = column;
  if (first.store === last.store) {
    return [sql`store = ${first.store}`, sql`${name} >= ${start}`, sql`${name} < ${end}`];
  }
  return [
    sql`(tenant, store, ${name}) >= (${tenant}, ${first.store}, ${start})`,
    sql`(tenant, store, ${name}) < (${tenant}, ${last.store}, ${end})`,
    // These conditions follow from the others, but with them PostgreSQL can leave out whole months.
    sql`${name} >= ${column.start(minDay)}`,
    sql`${name} < ${column.start(dayAfter(maxDay))}`,
  ];
}

/** Returns one condition for all windows. A tenant has tens of them and rarely more, so no join is needed. */
function inWindows(windows: readonly DayWindow[], column: DayColumn): Sql {
  if (windows.length === 0) return raw('false');
  const each = windows.map(({ store, from, until }) => {
    const days = sql`${column.name} >= ${column.start(from)} and ${column.name} < ${column.start(until)}`;
    return store === null ? sql`(${days})` : sql`(store = ${store} and ${days})`;
  });
  return sql`(${join(each, ' or ')})`;
}
