import sql, { join, raw, type Sql } from 'sql-template-tag';
import type { KeyRange, Slice } from '../../records/index.ts';
import { columnSql, selectSlice } from '../../records/sql.ts';
import type { ExportColumn } from '../values.ts';
import { isNullable, jsonDialect, jsonKindOf, memberPrefix, type RowForm } from './rows.ts';

/** A record as a JSON object, without the members that have no value. Characters are escaped as JSON.stringify does. */
function objectSql(columns: readonly ExportColumn[], slice: Slice): Sql {
  const members = columns.map((column, index) => {
    const isFirst = index === 0 && !isNullable(column);
    return sql`${memberPrefix(column, isFirst)}::text || ${jsonSql(column, slice)}`;
  });
  const [first] = columns;
  if (first === undefined || !isNullable(first)) return sql`concat('{', ${join(members)}, '}')`;
  return sql`concat('{', substr(concat(${join(members)}), 2), '}')`;
}

function jsonSql(column: ExportColumn, slice: Slice): Sql {
  const value = columnSql(column, slice);
  switch (jsonKindOf(column)) {
    case 'raw':
      return sql`${value}::text`;
    case 'bare':
      return sql`'"' || ${value} || '"'`;
    case 'name':
    case 'text':
      return sql`to_json(${value}::text)::text`;
  }
}

/** Selects hot records of a slice, or of a range of it, in key order. `isKeyed` puts the key before each row. */
export function selectRecords(
  whole: Slice,
  form: RowForm,
  part: { range?: KeyRange; isKeyed?: boolean } = {},
): Sql {
  const slice = part.range === undefined ? whole : { ...whole, range: part.range };
  const key = sql`concat_ws(chr(1), store, ${columnSql('occurred_at', slice)}, event_id)`;
  const list = form.columns.map((column) => sql`${columnSql(column, slice)} as ${raw(column)}`);
  if (part.isKeyed) list.unshift(sql`${key} as key`);
  const object = objectSql(form.columns, slice);
  const line = part.isKeyed ? sql`${key} || ${jsonDialect.keyEnd}::text || ${object}` : object;
  const row = form.kind === 'json' ? sql`${line} as line` : join(list);
  return selectSlice(slice, row);
}
