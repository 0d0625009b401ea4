import { literal } from '../../platform/duckdb.ts';
import { instantSql } from '../segments/segment-sql.ts';
import { datasetNames } from '../values.ts';
import { coldGroupKeySql, coldWhereSql } from '../where/cold-sql.ts';
import { parseGroup, parseWhere } from '../where/parse.ts';
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

// This file expresses a slice as conditions of DuckDB on the rows of segments of its tenant.

/** Returns all conditions of a slice. Those who read rows that the catalogue has picked need only the labels. */
export function coldConditions(slice: Slice): string[] {
  return [...coldLabelConditions(slice), ...coldPlaceConditions(slice)];
}

/** Returns the conditions on the store and the day of a record. */
export function coldPlaceConditions(slice: Slice): string[] {
  const { store, from, until, range, dataset } = slice;
  const conditions: string[] = [];
  if (store !== undefined) conditions.push(`store = ${literal(store)}`);
  if (from !== undefined) conditions.push(`occurred_at >= ${midnight(from)}`);
  if (until !== undefined) conditions.push(`occurred_at < ${midnight(until)}`);
  if (range !== undefined) conditions.push(inRange(range));
  if (dataset !== undefined) conditions.push(windowsSql(taggedWindows(slice, range)));
  return conditions;
}

/** Returns the conditions on what only a record itself tells. */
export function coldLabelConditions(slice: Slice): string[] {
  const { kind, source, eventId, where, largerThan, recordedBefore, recordedFrom } = slice;
  const { split, shares } = slice;
  const conditions: string[] = [];
  if (kind !== undefined) conditions.push(`kind = ${literal(kind)}`);
  if (source !== undefined) conditions.push(`source = ${literal(source)}`);
  if (eventId !== undefined) conditions.push(`event_id = ${literal(eventId)}`);
  if (largerThan !== undefined) conditions.push(`bytes > ${largerThan}`);
  if (recordedBefore !== undefined) {
    conditions.push(`recorded_at < timestamptz ${literal(recordedBefore)}`);
  }
  if (recordedFrom !== undefined) {
    conditions.push(`recorded_at >= timestamptz ${literal(recordedFrom)}`);
  }
  if (split !== undefined && shares !== undefined) {
    conditions.push(`${coldSplitSql({ ...slice, shares })} = ${literal(split)}`);
  }
  if (where !== undefined) conditions.push(coldWhereSql(parseWhere(where)));
  if (slice.beside !== undefined) conditions.push(besideSql(slice, slice.beside));
  return conditions;
}

/** Without other terms `recorded_at` is compared alone, so that DuckDB passes over row groups that are older. */
function besideSql(slice: Slice, beside: Beside): string {
  const { windows, recordedBefore, where } = beside.unlike;
  const alike: string[] = [];
  if (windows !== undefined) alike.push(windowsSql(windows));
  if (recordedBefore !== undefined) {
    alike.push(`recorded_at < timestamptz ${literal(recordedBefore)}`);
  }
  if (where !== undefined) alike.push(coldWhereSql(parseWhere(where)));
  const all = alike.length === 0 ? 'true' : alike.join(' and ');
  if (beside.op === 'outside') return `not (${all})`;
  if (!isSplit(slice)) throw new Error('the slice has no splits');
  return `${all} and ${coldSplitSql(slice)} <> ${coldSplitSql(beside.of)}`;
}

/** Computes the split of a version in which a record is; `sharesSchema` gives the rule. */
export function coldSplitSql({ shares: { train, validation }, groupBy }: SplitSlice): string {
  const hashed = `coalesce(${coldOwnGroupSql({ groupBy })}, event_id)`;
  return `list_transform([(('0x' || left(md5(${hashed}), 8))::ubigint * 100) >> 32],
    lambda place: case when place < ${train} then 'train'
    when place < ${train + validation} then 'validation' else 'test' end)[1]`;
}

/** The text that the records of a group share; null for one that is a group of its own. */
export function coldOwnGroupSql({ groupBy }: Pick<Slice, 'groupBy'>): string {
  return groupBy === undefined ? 'null::varchar' : coldGroupKeySql(parseGroup(groupBy));
}

/** Returns a column as the same text that PostgreSQL's `columnSql` makes of it. The rows must be called `r`. */
export function coldColumnSql(column: RecordColumn, slice: Slice): string {
  switch (column) {
    case 'month': {
      const month = onlyMonth(slice);
      return month === null
        ? `strftime(make_timestamp(epoch_us(r.occurred_at)), '%Y-%m')`
        : literal(month);
    }
    case 'occurred_at':
    case 'recorded_at':
      return instantSql(`r.${column}`);
    case 'datasets':
      return datasetsSql(slice);
    case 'split':
      return isSplit(slice) ? coldSplitSql(slice) : 'null::varchar';
    case 'confidence':
    case 'enrichment':
      return `r.${column}::varchar`;
    case 'tenant':
    case 'store':
    case 'event_id':
    case 'kind':
    case 'source':
    case 'model':
    case 'bytes':
      return `r.${column}`;
  }
}

function datasetsSql(slice: Slice): string {
  const each = datasetNames.flatMap((dataset) => {
    if (slice.tags === undefined) return [];
    const windows = taggedWindows({ ...slice, dataset }, slice.range);
    return windows.length === 0 ? [] : [`case when ${windowsSql(windows)} then '${dataset}' end`];
  });
  return each.length === 0 ? 'null::varchar' : `nullif(concat_ws(';', ${each.join(', ')}), '')`;
}

/** One condition for all windows; many are joined as rows: 717 conditions took three times as long. */
function windowsSql(windows: readonly DayWindow[]): string {
  const ofStores = windows.filter(({ store }) => store !== null);
  if (ofStores.length <= fewWindows) return eachWindowSql(windows);
  const rows = ofStores.map(
    ({ store, from, until }) => `(${literal(store ?? '')}, ${midnight(from)}, ${midnight(until)})`,
  );
  const joined = `exists (select 1 from (values ${rows.join(', ')}) tagged(of_store, first_at, until_at)
    where of_store = store and occurred_at >= first_at and occurred_at < until_at)`;
  const ofAll = windows.filter(({ store }) => store === null);
  return ofAll.length === 0 ? joined : `(${joined} or ${eachWindowSql(ofAll)})`;
}

function eachWindowSql(windows: readonly DayWindow[]): string {
  if (windows.length === 0) return 'false';
  const each = windows.map(({ store, from, until }) => {
    const days = `occurred_at >= ${midnight(from)} and occurred_at < ${midnight(until)}`;
    return store === null ? `(${days})` : `(store = ${literal(store)} and ${days})`;
  });
  return `(${each.join(' or ')})`;
}

function inRange({ first, last, minDay, maxDay }: KeyRange): string {
  const end = `${midnight(last.day)} + interval 1 day`;
  if (first.store === last.store) {
    return `(store = ${literal(first.store)} and occurred_at >= ${midnight(first.day)} and occurred_at < ${end})`;
  }
  const [from, to] = [literal(first.store), literal(last.store)];
  return `((store > ${from} or store = ${from} and occurred_at >= ${midnight(first.day)})
    and (store < ${to} or store = ${to} and occurred_at < ${end})
    and occurred_at >= ${midnight(minDay)} and occurred_at < ${midnight(maxDay)} + interval 1 day)`;
}

function midnight(day: string): string {
  return `timestamptz ${literal(`${day}T00:00:00Z`)}`;
}
