import sql, { empty, join, raw, type Sql } from 'sql-template-tag';
import { dayAfter } from '../../kernel/day.ts';
import { instantText } from '../../platform/postgres/sql-text.ts';
import { datasetNames } from '../values.ts';
import { parseGroup, parseWhere } from '../where/parse.ts';
import { groupKeySql, whereSql } from '../where/queries.ts';
import {
  type Beside,
  type DayWindow,
  fewWindows,
  isSplit,
  type KeyRange,
  onlyMonth,
  type RecordColumn,
  type Slice,
  type SplitSlice,
  taggedWindows,
} from './slice.ts';

// This file expresses a slice as conditions of PostgreSQL on tables with the columns tenant, store and day or
// occurred_at.

/** The conditions for tables that count store-days, which know no labels, without a dataset; `fromDays` is for all. */
export function dayConditions(slice: Slice): Sql[] {
  return [...sliceConditions(slice, dayColumn), ...windowConditions(slice, dayColumn)];
}

type DayTable = 'leaf_days' | 'tenant_days' | 'segment_days';

/** Returns the smallest table that counts the days of a slice: that of tenants, unless it is of stores. */
export function dayTable({ store, range, dataset, tags }: Slice): DayTable {
  const isOfStores =
    store !== undefined ||
    range !== undefined ||
    (dataset !== undefined && tags?.[dataset].some((window) => window.store !== null));
  return isOfStores ? 'leaf_days' : 'tenant_days';
}

/** Makes the `KeyRange` of store-days that are grouped, out of their columns store and day. */
export const rangeOfDays = sql`json_build_object(
  'first', (array_agg(json_build_object('store', store, 'day', day) order by store, day))[1],
  'last', (array_agg(json_build_object('store', store, 'day', day) order by store desc, day desc))[1],
  'minDay', min(day), 'maxDay', max(day))`;

/** Returns `from … where …` for the days of a slice in a table of counters, and conditions of the caller's own. */
export function fromDays(table: DayTable, slice: Slice, more: readonly Sql[] = []): Sql {
  return findRows(table, dayColumn, slice, more).rows;
}

/** Returns `from … where …` for the hot records of a slice. */
export function fromRecords(slice: Slice): Sql {
  return findRows('enrichment_records', timeColumn, slice, labelConditions(slice)).rows;
}

/**
 * Returns the conditions for enrichment_records, for a slice without a dataset; `fromRecords` is for all.
 */
export function recordConditions(slice: Slice): Sql[] {
  return [
    ...sliceConditions(slice, timeColumn),
    ...windowConditions(slice, timeColumn),
    ...labelConditions(slice),
  ];
}

/** Returns the conditions on what only a record itself tells. */
export function labelConditions(slice: Slice): Sql[] {
  const { kind, source, eventId, where: own, largerThan, recordedBefore, recordedFrom } = slice;
  const { split, shares } = slice;
  const conditions: Sql[] = [];
  if (kind !== undefined) conditions.push(sql`kind = ${kind}`);
  if (source !== undefined) conditions.push(sql`source = ${source}`);
  if (eventId !== undefined) conditions.push(sql`event_id = ${eventId}`);
  if (largerThan !== undefined) conditions.push(sql`bytes > ${largerThan}`);
  if (recordedBefore !== undefined) {
    conditions.push(sql`recorded_at < ${recordedBefore}::timestamptz`);
  }
  if (recordedFrom !== undefined) conditions.push(sql`recorded_at >= ${recordedFrom}::timestamptz`);
  if (split !== undefined && shares !== undefined) {
    conditions.push(sql`${splitSql({ ...slice, shares })} = ${split}`);
  }
  if (own !== undefined) conditions.push(whereSql(parseWhere(own)));
  if (slice.beside !== undefined) conditions.push(besideSql(slice, slice.beside));
  return conditions;
}

function besideSql(slice: Slice, beside: Beside): Sql {
  const { windows, recordedBefore, where: own } = beside.unlike;
  const alike = [raw('true')];
  if (windows !== undefined) alike.push(inWindows(windows, timeColumn));
  if (recordedBefore !== undefined) {
    alike.push(sql`recorded_at < ${recordedBefore}::timestamptz`);
  }
  if (own !== undefined) alike.push(whereSql(parseWhere(own)));
  if (beside.op === 'outside') return sql`not (${join(alike, ' and ')})`;
  if (!isSplit(slice)) throw new Error('the slice has no splits');
  return sql`${join(alike, ' and ')} and ${splitSql(slice)} <> ${splitSql(beside.of)}`;
}

/** Selects hot records in the order of their keys. `row` says what of each; `columnSql` makes it. */
export function selectSlice(slice: Slice, row: Sql): Sql {
  const { rows, isPlaced } = findRows(
    'enrichment_records',
    timeColumn,
    slice,
    labelConditions(slice),
  );
  // Windows follow one another in the order of the keys, so only the records of each need sorting.
  const place = isPlaced ? sql`enrichment_records.place, ` : empty;
  return sql`select ${row} ${rows}
    order by ${place}enrichment_records.tenant, enrichment_records.store,
      enrichment_records.occurred_at, enrichment_records.event_id`;
}

/** Returns a column as finished text, so that all who write it give the same bytes. Numbers stay numbers. */
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
      return isSplit(slice) ? splitSql(slice) : raw('null::text');
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

function datasetsSql(slice: Slice): Sql {
  const each = datasetNames.flatMap((dataset) => {
    if (slice.tags === undefined) return [];
    const windows = taggedWindows({ ...slice, dataset }, slice.range);
    if (windows.length === 0) return [];
    return [sql`case when ${inWindows(windows, timeColumn)} then ${raw(`'${dataset}'`)} end`];
  });
  return each.length === 0 ? raw('null::text') : sql`nullif(concat_ws(';', ${join(each)}), '')`;
}

/** Computes the split of a version in which a record is; `sharesSchema` gives the rule. */
export function splitSql({ shares: { train, validation }, groupBy }: SplitSlice): Sql {
  const hashed = sql`coalesce(${ownGroupSql({ groupBy })}, event_id)`;
  return sql`(select case
      when hashed.place < ${raw(String(train))} then 'train'
      when hashed.place < ${raw(String(train + validation))} then 'validation' else 'test' end
    from (select (('x' || left(md5(${hashed}), 8))::bit(32)::bigint * 100) >> 32 as place offset 0) hashed)`;
}

/** The text that the records of a group share; null for one that is a group of its own. */
export function ownGroupSql({ groupBy }: Pick<Slice, 'groupBy'>): Sql {
  return groupBy === undefined ? raw('null::text') : groupKeySql(parseGroup(groupBy));
}

/** The conditions of a tenant and a store. `tenants` null sets no limit, while an empty list selects nothing. */
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

/** The column that tells the day, its type, and how the beginning of a day is written as its value. */
type DayColumn = {
  readonly name: Sql;
  readonly type: 'date' | 'timestamptz';
  start(day: string): Sql;
};

const dayColumn: DayColumn = { name: raw('day'), type: 'date', start: (day) => sql`${day}::date` };
const timeColumn: DayColumn = {
  name: raw('occurred_at'),
  type: 'timestamptz',
  start: (day) => sql`${midnight(day, 'timestamptz')}::timestamptz`,
};

function midnight(day: string, type: DayColumn['type']): string {
  return type === 'date' ? day : `${day}T00:00:00Z`;
}

/**
 * Returns `from … where …` for the rows of a slice. Of many windows each is looked up by itself, numbered as `place` if
 * all are of stores: 717 of them as conditions took 270 ms to plan, and were compared with each row.
 */
function findRows(
  table: string,
  column: DayColumn,
  slice: Slice,
  more: readonly Sql[],
): { rows: Sql; isPlaced: boolean } {
  const conditions = [...sliceConditions(slice, column), ...more];
  const windows = slice.dataset === undefined ? [] : taggedWindows(slice, slice.range);
  const ofStores = windows.filter(({ store }) => store !== null);
  const [own, day] = [raw(table), column.name];
  if (ofStores.length <= fewWindows) {
    const all = [...conditions, ...windowConditions(slice, column)];
    return { rows: sql`from ${own} ${where(all)}`, isPlaced: false };
  }
  const ofWindow = [
    sql`${own}.store = tagged.store`,
    sql`${day} >= tagged.first_day and ${day} < tagged.until`,
  ];
  const looked = sql`from (
      select * from ${unnestWindows(ofStores, column.type)} with ordinality
        as given(store, first_day, until, place) order by place
    ) tagged cross join lateral (
      select * from ${own} ${where([...conditions, ...ofWindow])} offset 0
    ) own`;
  const ofAll = windows.filter(({ store }) => store === null);
  if (ofAll.length === 0) {
    return { rows: sql`from (select tagged.place, own.* ${looked}) ${own}`, isPlaced: true };
  }
  const others = [...conditions, inWindows(ofAll, column)];
  const both = sql`select own.* ${looked} union all select * from ${own} ${where(others)}`;
  return { rows: sql`from (${both}) ${own}`, isPlaced: false };
}

/** Returns windows as rows of (store, first day, until), in their order. */
export function unnestWindows(
  windows: readonly DayWindow[],
  type: DayColumn['type'] = 'date',
): Sql {
  const of = (name: 'from' | 'until') =>
    sql`${windows.map((window) => midnight(window[name], type))}::${raw(type)}[]`;
  return sql`unnest(${windows.map(({ store }) => store)}::text[], ${of('from')}, ${of('until')})`;
}

function windowConditions(slice: Slice, column: DayColumn): Sql[] {
  if (slice.dataset === undefined) return [];
  return [inWindows(taggedWindows(slice, slice.range), column)];
}

function sliceConditions(slice: Slice, column: DayColumn): Sql[] {
  const { tenant, from, until, range } = slice;
  const conditions = tenantConditions(slice);
  if (from !== undefined) conditions.push(sql`${column.name} >= ${column.start(from)}`);
  if (until !== undefined) conditions.push(sql`${column.name} < ${column.start(until)}`);
  if (range !== undefined) conditions.push(...inRange(tenant, range, column));
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
    // A range of what came lately has days of one month alone. By these PostgreSQL also leaves out whole months.
    sql`${name} >= ${column.start(minDay)}`,
    sql`${name} < ${column.start(dayAfter(maxDay))}`,
  ];
}

/** Returns one condition for all windows. */
function inWindows(windows: readonly DayWindow[], column: DayColumn): Sql {
  if (windows.length === 0) return raw('false');
  const each = windows.map(({ store, from, until }) => {
    const days = sql`${column.name} >= ${column.start(from)} and ${column.name} < ${column.start(until)}`;
    return store === null ? sql`(${days})` : sql`(store = ${store} and ${days})`;
  });
  return sql`(${join(each, ' or ')})`;
}
