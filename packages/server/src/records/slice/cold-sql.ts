import sql, { join, raw, type Sql } from 'sql-template-tag';
import { literal } from '../../platform/duckdb.ts';
import { inlineSql } from '../../platform/postgres/sql-text.ts';
import { instantSql } from '../segments/segment-sql.ts';
import { coldGroupKeySql, coldWhereSql } from '../where/cold-sql.ts';
import {
  columnSql,
  inWindows,
  labelConditions,
  ownGroupSql,
  placeConditions,
  type SliceEngine,
  splitSql,
  timeColumn,
} from './queries.ts';
import { fewWindows, type RecordColumn, type Slice, type SplitSlice } from './slice.ts';

// This file expresses a slice as conditions of DuckDB on the rows of segments of its tenant, as queries.ts does for
// PostgreSQL.

/** Returns all conditions of a slice. Those who read rows that the catalogue has picked need only the labels. */
export function coldConditions(slice: Slice): string[] {
  return [...coldLabelConditions(slice), ...coldPlaceConditions(slice)];
}

/** Returns the conditions on the store and the day of a record. */
export function coldPlaceConditions(slice: Slice): string[] {
  const ownTenant = { ...slice, tenant: undefined, tenants: null };
  return placeConditions(ownTenant, timeColumn, duckdb).map(toText);
}

/** Returns the conditions on what only a record itself tells. */
export function coldLabelConditions(slice: Slice): string[] {
  return labelConditions(slice, duckdb).map(toText);
}

/** Computes the split of a version in which a record is; `sharesSchema` gives the rule. */
export function coldSplitSql(slice: SplitSlice): string {
  return toText(splitSql(slice, duckdb));
}

/** The text that the records of a group share; null for one that is a group of its own. */
export function coldOwnGroupSql(slice: Pick<Slice, 'groupBy'>): string {
  return toText(ownGroupSql(slice, duckdb));
}

/** Returns a column as the same text that PostgreSQL's `columnSql` makes of it. The rows must be called `r`. */
export function coldColumnSql(column: RecordColumn, slice: Slice): string {
  return toText(columnSql(column, slice, duckdb));
}

function toText(statement: Sql): string {
  return inlineSql(statement, literal);
}

const duckdb: SliceEngine = {
  where: (where) => raw(coldWhereSql(where)),
  groupKey: (of) => raw(coldGroupKeySql(of)),
  withPlace: (hashed, said) =>
    sql`list_transform([(('0x' || left(md5(${hashed}), 8))::ubigint * 100) >> 32], lambda place: ${said})[1]`,
  // All rows are of one tenant.
  compareKey: ({ store, at }, sign, { name }) =>
    sql`(store ${raw(sign.charAt(0))} ${store} or store = ${store} and ${name} ${raw(sign)} ${at})`,
  /** Many windows are joined as rows: 717 conditions took three times as long. */
  inWindows(windows, column) {
    const ofStores = windows.filter(({ store }) => store !== null);
    if (ofStores.length <= fewWindows) return inWindows(windows, column);
    const rows = ofStores.map(
      ({ store, from, until }) => sql`(${store}, ${column.start(from)}, ${column.start(until)})`,
    );
    const joined = sql`exists (select 1 from (values ${join(rows)}) tagged(of_store, first_at, until_at)
      where of_store = store and ${column.name} >= first_at and ${column.name} < until_at)`;
    const ofAll = windows.filter(({ store }) => store === null);
    return ofAll.length === 0 ? joined : sql`(${joined} or ${inWindows(ofAll, column)})`;
  },
  month: raw(`strftime(make_timestamp(epoch_us(r.occurred_at)), '%Y-%m')`),
  column(column) {
    if (column === 'occurred_at' || column === 'recorded_at') {
      return raw(instantSql(`r.${column}`));
    }
    const isText = column !== 'confidence' && column !== 'enrichment';
    return raw(isText ? `r.${column}` : `r.${column}::varchar`);
  },
};
