import sql, { join, raw, type Sql } from 'sql-template-tag';
import { instantText } from '../../platform/postgres/sql-text.ts';
import { datasetNames } from '../../records/contract.ts';
import {
  type KeyRange,
  rangeConditions,
  recordConditions,
  type Slice,
  splitSql,
  where,
  windowsSql,
} from '../../records/index.ts';
import { isNullable, jsonKinds, onlyMonth } from '../columns.ts';
import type { ExportColumn } from '../contract.ts';
import { jsonDialect, memberPrefix, type RowForm } from './rows.ts';

/** The columns as finished text, so that whatever writes them gives the same bytes. */
function columnSql(column: ExportColumn, slice: Slice): Sql {
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
    (name) => sql`case when ${windowsSql(tags?.[name] ?? [])} then ${raw(`'${name}'`)} end`,
  );
  return sql`nullif(concat_ws(';', ${join(each)}), '')`;
}

/** A record as a JSON object; what it has no value for is left out. Escapes as JSON.stringify does. */
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
  switch (jsonKinds[column]) {
    case 'raw':
      return sql`${value}::text`;
    case 'bare':
      return sql`'"' || ${value} || '"'`;
    case 'name':
    case 'text':
      return sql`to_json(${value}::text)::text`;
  }
}

/**
 * The hot records of a slice in key order, in this form: all of them, or a range of them. `isKeyed`:
 * with the key before each row, see `mergeRows`.
 */
export function selectRecords(
  slice: Slice,
  form: RowForm,
  part: { range?: KeyRange; isKeyed?: boolean } = {},
): Sql {
  const list = form.columns.map((column) => sql`${columnSql(column, slice)} as ${raw(column)}`);
  if (part.isKeyed) list.unshift(sql`${keySql} as key`);
  const object = objectSql(form.columns, slice);
  const line = part.isKeyed ? sql`${keySql} || ${jsonDialect.keyEnd}::text || ${object}` : object;
  const row = form.kind === 'csv' ? join(list) : sql`${line} as line`;
  const conditions = recordConditions(slice);
  if (part.range !== undefined) conditions.push(...rangeConditions(slice.tenant, part.range));
  return sql`select ${row} from enrichment_records ${where(conditions)}
    order by enrichment_records.tenant, enrichment_records.store,
      enrichment_records.occurred_at, enrichment_records.event_id`;
}

const keySql = sql`concat_ws(chr(1), store, ${instantText('occurred_at')}, event_id)`;
