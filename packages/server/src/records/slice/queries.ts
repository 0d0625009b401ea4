import sql, { empty, join, raw, type Sql } from 'sql-template-tag';
import { dayAfter } from '../../kernel/day.ts';
import { instantText } from '../../platform/postgres/sql-text.ts';
import { datasetNames } from '../values.ts';
import { parseGroup, parseWhere } from '../where/parse.ts';
import { groupKeySql, whereSql } from '../where/queries.ts';
import type { Place, Where } from '../where/where.ts';
import {
  type Beside,
  type DayWindow,
  fewWindows,
  firstDay,
  isSplit,
  type KeyRange,
  onlyMonth,
  type RecordColumn,
  type Slice,
  type SplitSlice,
  taggedWindows,
} from './slice.ts';

// This file expresses a slice as conditions of PostgreSQL on tables with the columns tenant, store and day or
// occurred_at. What is given a `SliceEngine` says the same in the SQL of DuckDB, whose engine is in cold-sql.ts.

/** What PostgreSQL and DuckDB say in different ways. */
export type SliceEngine = {
  where(where: Where): Sql;
  groupKey(of: Place): Sql;
  /** Computes what is said of `place`, a number from 0 to 99 that a text always gets. */
  withPlace(hashed: Sql, said: Sql): Sql;
  /** Compares the key of a row with another. */
  compareKey(key: RowKey, sign: '>=' | '<', column: DayColumn): Sql;
  inWindows(windows: readonly DayWindow[], column: DayColumn): Sql;
  /** The month of a record, as text. */
  readonly month: Sql;
  /** Returns a column of the table as finished text, or as a number. */
  column(column: StoredColumn): Sql;
};

/** A tenant, a store, and the beginning of a day as a column has it. */
type RowKey = { readonly tenant: string | undefined; readonly store: string; readonly at: Sql };

type StoredColumn = Exclude<RecordColumn, 'month' | 'datasets' | 'split'>;

/** The conditions for tables that count store-days, which know no labels, without a dataset; `fromDays` is for all. */
export function dayConditions(slice: Slice): Sql[] {
  return placeConditions(slice, dayColumn);
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
  return [...placeConditions(slice, timeColumn), ...labelConditions(slice)];
}

/** Returns the conditions on the tenant, the store and the day. */
export function placeConditions(slice: Slice, column: DayColumn, engine = postgres): Sql[] {
  return [...sliceConditions(slice, column, engine), ...windowConditions(slice, column, engine)];
}

/** Returns the conditions on what only a record itself tells. */
export function labelConditions(slice: Slice, engine = postgres): Sql[] {
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
    conditions.push(sql`${splitSql({ ...slice, shares }, engine)} = ${split}`);
  }
  if (own !== undefined) conditions.push(engine.where(parseWhere(own)));
  if (slice.beside !== undefined) conditions.push(besideSql(slice, slice.beside, engine));
  return conditions;
}

/** Without other terms `recorded_at` is compared alone, so that DuckDB passes over row groups that are older. */
function besideSql(slice: Slice, beside: Beside, engine: SliceEngine): Sql {
  const { windows, recordedBefore, where: own } = beside.unlike;
  const alike: Sql[] = [];
  if (windows !== undefined) alike.push(engine.inWindows(windows, timeColumn));
  if (recordedBefore !== undefined) {
    alike.push(sql`recorded_at < ${recordedBefore}::timestamptz`);
  }
  if (own !== undefined) alike.push(engine.where(parseWhere(own)));
  const all = alike.length === 0 ? raw('true') : join(alike, ' and ');
  if (beside.op === 'outside') return sql`not (${all})`;
  if (!isSplit(slice)) throw new Error('the slice has no splits');
  return sql`${all} and ${splitSql(slice, engine)} <> ${splitSql(beside.of, engine)}`;
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
export function columnSql(column: RecordColumn, slice: Slice, engine = postgres): Sql {
  if (column === 'month') {
    const month = onlyMonth(slice);
    return month === null ? engine.month : sql`${month}::text`;
  }
  if (column === 'datasets') return datasetsSql(slice, engine);
  if (column === 'split') return isSplit(slice) ? splitSql(slice, engine) : raw('null::text');
  return engine.column(column);
}

function datasetsSql(slice: Slice, engine: SliceEngine): Sql {
  const each = datasetNames.flatMap((dataset) => {
    if (slice.tags === undefined) return [];
    const windows = taggedWindows({ ...slice, dataset }, slice.range);
    if (windows.length === 0) return [];
    const isIn = engine.inWindows(windows, timeColumn);
    return [sql`case when ${isIn} then ${raw(`'${dataset}'`)} end`];
  });
  return each.length === 0 ? raw('null::text') : sql`nullif(concat_ws(';', ${join(each)}), '')`;
}

/** Computes the split of a version in which a record is; `sharesSchema` gives the rule. */
export function splitSql(
  { shares: { train, validation }, groupBy }: SplitSlice,
  engine = postgres,
): Sql {
  const hashed = sql`coalesce(${ownGroupSql({ groupBy }, engine)}, event_id)`;
  const split = raw(`case when place < ${train} then 'train'
    when place < ${train + validation} then 'validation' else 'test' end`);
  return engine.withPlace(hashed, split);
}

/** The text that the records of a group share; null for one that is a group of its own. */
export function ownGroupSql({ groupBy }: Pick<Slice, 'groupBy'>, engine = postgres): Sql {
  return groupBy === undefined ? raw('null::text') : engine.groupKey(parseGroup(groupBy));
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
export const timeColumn: DayColumn = {
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
  const conditions = [...sliceConditions(slice, column, postgres), ...more];
  const windows = slice.dataset === undefined ? [] : taggedWindows(slice, slice.range);
  const ofStores = windows.filter(({ store }) => store !== null);
  const [own, day] = [raw(table), column.name];
  if (ofStores.length <= fewWindows) {
    const all = [...conditions, ...windowConditions(slice, column, postgres)];
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
  const others = [...conditions, postgres.inWindows(ofAll, column)];
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

function windowConditions(slice: Slice, column: DayColumn, engine: SliceEngine): Sql[] {
  if (slice.dataset === undefined) return [];
  return [engine.inWindows(taggedWindows(slice, slice.range), column)];
}

function sliceConditions(slice: Slice, column: DayColumn, engine: SliceEngine): Sql[] {
  const { from, until, range } = slice;
  const conditions = tenantConditions(slice);
  if (from !== undefined) conditions.push(sql`${column.name} >= ${column.start(from)}`);
  if (until !== undefined) conditions.push(sql`${column.name} < ${column.start(until)}`);
  if (range !== undefined) conditions.push(...inRange({ ...slice, range }, column, engine));
  return conditions;
}

function inRange(
  { tenant, range }: Slice & { range: KeyRange },
  column: DayColumn,
  engine: SliceEngine,
): Sql[] {
  const { first, last, minDay, maxDay } = range;
  const start = column.start(first.day);
  const end = column.start(dayAfter(last.day));
  const { name } = column;
  if (first.store === last.store) {
    return [sql`store = ${first.store}`, sql`${name} >= ${start}`, sql`${name} < ${end}`];
  }
  return [
    engine.compareKey({ tenant, store: first.store, at: start }, '>=', column),
    engine.compareKey({ tenant, store: last.store, at: end }, '<', column),
    // A range of what came lately has days of one month alone. By these whole months, and row groups, are left out.
    sql`${name} >= ${column.start(minDay)}`,
    sql`${name} < ${column.start(dayAfter(maxDay))}`,
  ];
}

/**
 * Returns a condition for many windows of all stores, in which a day is sought by halves. As an operator PostgreSQL would
 * take it to fit a thousandth of the rows, and sort a whole tenant for a page; a function it takes to fit a third.
 */
function inSpans(windows: readonly DayWindow[], column: DayColumn): Sql {
  const { name, type } = column;
  const spans = windows.map(
    ({ from, until }) => `[${midnight(from, type)},${midnight(until, type)})`,
  );
  const first = windows.map(({ from }) => from).sort()[0] ?? firstDay;
  const beyond =
    windows
      .map(({ until }) => until)
      .sort()
      .at(-1) ?? firstDay;
  const many = raw(type === 'date' ? 'datemultirange' : 'tstzmultirange');
  // Selected, it is read once; as a mere argument it would be read for each row.
  const all = sql`(select ${`{${spans.join(',')}}`}::${many})`;
  return sql`(${name} >= ${column.start(first)} and ${name} < ${column.start(beyond)} and multirange_contains_elem(${all}, ${name}))`;
}

/** Returns one condition for all windows, with which each row is compared. */
export function inWindows(windows: readonly DayWindow[], column: DayColumn): Sql {
  if (windows.length === 0) return raw('false');
  const each = windows.map(({ store, from, until }) => {
    const days = sql`${column.name} >= ${column.start(from)} and ${column.name} < ${column.start(until)}`;
    return store === null ? sql`(${days})` : sql`(store = ${store} and ${days})`;
  });
  return sql`(${join(each, ' or ')})`;
}

const postgres: SliceEngine = {
  where: whereSql,
  groupKey: groupKeySql,
  withPlace: (hashed, said) => sql`(select ${said} from (
    select (('x' || left(md5(${hashed}), 8))::bit(32)::bigint * 100) >> 32 as place offset 0) hashed)`,
  compareKey: ({ tenant, store, at }, sign, { name }) =>
    sql`(tenant, store, ${name}) ${raw(sign)} (${tenant}, ${store}, ${at})`,
  inWindows(windows, column) {
    const ofAll = windows.filter(({ store }) => store === null);
    if (ofAll.length <= fewWindows) return inWindows(windows, column);
    const ofStores = windows.filter(({ store }) => store !== null);
    const all = inSpans(ofAll, column);
    return ofStores.length === 0 ? all : sql`(${all} or ${inWindows(ofStores, column)})`;
  },
  month: raw(`to_char(occurred_at at time zone 'UTC', 'YYYY-MM')`),
  column: (column) =>
    column === 'occurred_at' || column === 'recorded_at' ? instantText(column) : raw(column),
};
