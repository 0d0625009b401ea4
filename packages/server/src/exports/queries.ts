import sql, { join, raw, type Sql } from 'sql-template-tag';
import type { Connection, Queryable } from '../platform/postgres/database.ts';
import { instantText } from '../platform/postgres/sql-text.ts';
import { datasetNames } from '../records/contract.ts';
import {
  type KeyRange,
  rangeConditions,
  recordConditions,
  type Slice,
  splitSql,
  where,
  windowsSql,
} from '../records/index.ts';
import { isNullable, jsonKinds, onlyMonth } from './columns.ts';
import type { ExportColumn, ExportFormat, ExportRequest } from './contract.ts';
import { jsonDialect, memberPrefix, type RowForm } from './encode/rows.ts';

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

/**
 * For as long as the transaction lasts a statement may take any time, and so may what is done between two,
 * or before the rows of one are read.
 */
export async function allowLongReads(connection: Connection): Promise<void> {
  await connection.client.query(
    `set local statement_timeout = 0; set local idle_in_transaction_session_timeout = 0;
      set local tcp_user_timeout = 0`,
  );
}

/**
 * Reads along the key's index instead of sorting: the first row comes at once, whatever the size.
 * A sort was 0–20 % quicker in the end but began only after seconds.
 */
export async function preferKeyOrder(connection: Connection): Promise<void> {
  await connection.client.query('set local enable_sort = off');
}

/** Keeps what a one-use link stands for, and clears away links that were never used. */
export async function insertLink(
  db: Queryable,
  link: { hash: Buffer; tokenId: string; request: LinkRequest; seconds: number },
): Promise<string> {
  await db.query(sql`delete from export_links where expires_at <= now()`);
  const rows = await db.query<{ expires_at: string }>(sql`
    insert into export_links (hash, token_id, request, expires_at)
    values (${link.hash}, ${link.tokenId}, ${JSON.stringify(link.request)},
      now() + make_interval(secs => ${link.seconds}))
    returning ${instantText('expires_at')} as expires_at`);
  return rows[0]?.expires_at ?? '';
}

/** The body of an export and its format, which links that are older than the formats do not name. */
export type LinkRequest = ExportRequest & { format?: ExportFormat };

export type StoredLink = { token_id: string; request: LinkRequest };

/** What a link stands for; it stays. */
export async function findLink(db: Queryable, hash: Buffer): Promise<StoredLink | undefined> {
  const rows = await db.query<StoredLink>(sql`
    select token_id, request from export_links where hash = ${hash} and expires_at > now()`);
  return rows[0];
}

/** What a link stands for; it is used up by this. */
export async function takeLink(db: Queryable, hash: Buffer): Promise<StoredLink | undefined> {
  const rows = await db.query<StoredLink & { is_alive: boolean }>(sql`
    delete from export_links where hash = ${hash}
    returning token_id, request, expires_at > now() as is_alive`);
  return rows[0]?.is_alive ? rows[0] : undefined;
}
