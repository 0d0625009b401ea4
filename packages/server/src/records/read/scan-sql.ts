import { literal } from '../../platform/duckdb.ts';
import { pageBytes, type RecordKey } from '../queries.ts';
import { type RowRange, rangesSql, spanSql } from '../segments/row-ranges.ts';
import { digestSumSql, instantSql, readSegments, segmentOrder } from '../segments/segment-sql.ts';
import { coldConditions, coldLabelConditions, coldPlaceConditions } from '../slice/cold-sql.ts';
import type { Slice } from '../slice/slice.ts';

// This file makes DuckDB's SQL that reads records out of segments.

/** Some rows of a local file. */
export type FilePart = {
  readonly path: string;
  readonly ranges: readonly RowRange[];
  /** Only these rows of them, where they are known one by one. */
  readonly rows?: readonly number[] | null;
};

type KeyBound = {
  after: RecordKey | null;
  isInclusive: boolean;
  descending: boolean;
  /** The order is that of time: the rows were not picked by the catalogue, and are those of one tenant. */
  isByTime?: boolean | undefined;
};

/** The answer of `locateSql`, which comes as JSON. */
export type Located = {
  /** How many records were looked at, and the last of them. */
  looked: number;
  last: RecordKey | null;
  /** The first and the last row that are shown of a part; with a `where`, and by time, all of its rows. */
  parts: { part: number; first_row: number; last_row: number; rows: number[] | null }[] | null;
};

/** A record as JSON. As a value of its own DuckDB would return a text without its byte order mark. */
const recordJson = `to_json({tenant: tenant, store: store, event_id: event_id,
  occurred_at: ${instantSql('occurred_at')}, recorded_at: ${instantSql('recorded_at')},
  kind: kind, source: source, model: model, confidence: confidence::varchar, bytes: bytes,
  enrichment: enrichment::varchar})::varchar as record`;

/** Reads the records themselves, in no particular order. */
export function fetchSql(parts: readonly FilePart[], slice: Slice, bound: KeyBound): string {
  // With a `where`, and by time, the rows that fit are known.
  const own = slice.where === undefined && !bound.isByTime ? conditionsOf(slice) : [];
  return parts
    .map((part) => `select ${recordJson} from ${rowsOf(part, [...own, ...keyConditions(bound)])}`)
    .join(' union all ');
}

/** Finds the rows of a page in narrow columns: `limit` rows and 8 MiB at most, of `lookLimit` rows or all (null). */
export function locateSql(
  parts: readonly FilePart[],
  slice: Slice,
  options: KeyBound & { limit: number; lookLimit: number | null },
): string {
  const isOfAll = options.lookLimit === null;
  const hasWhere = slice.where !== undefined;
  const place = options.isByTime ? coldPlaceConditions(slice) : [];
  const [own, labels] = [conditionsOf(slice), conditionsOf({ ...slice, where: undefined })];
  const matches = own.length === 0 ? 'true' : `coalesce(${own.join(' and ')}, false)`;
  const columns = 'file_row_number as at_row, tenant, store, occurred_at, event_id, bytes';
  // A `where` may be long, and read the whole record. It stands once above all parts, and is asked of those rows only
  // that are looked at: with sixteen parts, planning a long one took four times as long as asking it.
  const rest = hasWhere
    ? 'recorded_at, kind, source, model, confidence, enrichment'
    : `${matches} as matches`;
  const rows = parts
    .map(
      (part, n) =>
        `select ${n} as part, ${columns}, ${rest}
        from ${rowsOf(part, [...keyConditions(options), ...place, ...(isOfAll ? labels : [])])}`,
    )
    .join(' union all ');
  const [order, reverse] = (options.descending ? ['desc', 'asc'] : ['asc', 'desc']).map(
    (direction) => ordered(direction, options),
  );
  const near = isOfAll
    ? rows
    : `select * from (${rows}) order by ${order} limit ${options.lookLimit}`;
  return `
    with looked as materialized (
      ${hasWhere ? `select * exclude (enrichment), ${matches} as matches from (${near})` : near}
    ), shown as (
      select *, sum(bytes) over (order by ${order} rows unbounded preceding) - bytes as bytes_before
      from (select * from looked where matches order by ${order} limit ${options.limit})
    ), bounds as (
      select part, min(at_row) as first_row, max(at_row) as last_row,
        ${hasWhere || options.isByTime ? 'list(at_row)' : 'null'} as rows
      from shown where bytes_before < ${pageBytes} group by part
    )
    select to_json({
      looked: (select count(*) from looked),
      last: (select [tenant, store, ${instantSql('occurred_at')}, event_id]
        from looked order by ${reverse} limit 1),
      parts: (select list({part: part, first_row: first_row, last_row: last_row, rows: rows}) from bounds)
    })::varchar as located`;
}

/** Finds the first row after a key among those of its day, 3 to 5 ms for a million: other row groups are skipped. */
export function positionSql(
  parts: readonly FilePart[],
  key: RecordKey,
  { isInclusive, descending }: Omit<KeyBound, 'after'>,
): string {
  const [, , occurredAt, eventId] = key;
  const at = instant(occurredAt);
  const from = isInclusive === descending ? '>' : '>=';
  const conditions = [
    `occurred_at >= ${at}`,
    `(occurred_at <> ${at} or event_id ${from} ${literal(eventId)})`,
  ];
  return parts
    .map(
      (part, n) => `(select ${n} as part, file_row_number::varchar as at_row
        from ${rowsOf(part, conditions)} order by file_row_number limit 1)`,
    )
    .join(' union all ');
}

/** Reads the record of a key. */
export function findSql(parts: readonly FilePart[], key: RecordKey): string {
  const [, , occurredAt, eventId] = key;
  const conditions = [`occurred_at = ${instant(occurredAt)}`, `event_id = ${literal(eventId)}`];
  return parts
    .map((part) => `select ${recordJson} from ${rowsOf(part, conditions)}`)
    .join(' union all ');
}

/** Sums the number and the bytes of a slice's records in whole segments, and the digest, for which all columns are read. */
export function sumSql(
  paths: readonly string[],
  slice: Slice,
  { hasDigest }: { hasDigest: boolean },
): string {
  const conditions = coldConditions(slice);
  const filter = conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`;
  const digest = hasDigest ? `coalesce(${digestSumSql}, '0')` : "'0'";
  return `select count(*)::varchar as count, coalesce(sum(bytes), 0)::varchar as bytes, ${digest} as digest
    from ${readSegments(paths)} ${filter}`;
}

/** Selects the rows of a file that meet conditions. */
function rowsOf({ path, ranges, rows }: FilePart, conditions: readonly string[]): string {
  const known = rows
    ? [spanSql(ranges), `file_row_number in (${rows.join(', ')})`]
    : rangesSql(ranges);
  const all = [...known, ...conditions];
  return `${readSegments([path])} where ${all.join(' and ')}`;
}

/** Of rows that the catalogue has picked only the labels are compared. For an event whole segments are searched. */
function conditionsOf(slice: Slice): string[] {
  return slice.eventId === undefined ? coldLabelConditions(slice) : coldConditions(slice);
}

/** Returns the conditions for rows after a key. */
function keyConditions({ after, isInclusive, descending, isByTime }: KeyBound): string[] {
  if (after === null) return [];
  const [tenant, store, occurredAt, eventId] = after;
  const at = instant(occurredAt);
  const beyond = descending ? '<' : '>';
  if (isByTime) {
    const beside = `(store ${beyond} ${literal(store)} or store = ${literal(store)}
      and event_id ${beyond}${isInclusive ? '=' : ''} ${literal(eventId)})`;
    return [`occurred_at ${beyond}= ${at}`, `(occurred_at <> ${at} or ${beside})`];
  }
  return [
    `(tenant ${beyond} ${literal(tenant)} or tenant = ${literal(tenant)} and (
      store ${beyond} ${literal(store)} or store = ${literal(store)} and (
      occurred_at ${beyond} ${at} or occurred_at = ${at}
        and event_id ${beyond}${isInclusive ? '=' : ''} ${literal(eventId)})))`,
  ];
}

function ordered(direction: string, { isByTime }: Pick<KeyBound, 'isByTime'>): string {
  const columns = isByTime
    ? ['occurred_at', 'store', 'event_id']
    : ['tenant', ...segmentOrder.split(', ')];
  return columns.map((column) => `${column} ${direction}`).join(', ');
}

function instant(text: string): string {
  return `timestamptz ${literal(text)}`;
}
