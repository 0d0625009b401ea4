import { maxNesting } from '../../kernel/open-containers.ts';
import { literal } from '../../platform/duckdb.ts';
import type { ColumnType, TypedColumn } from '../../platform/duckdb-types.ts';
import { dayOfRow, digestSql, digestSumOf } from '../segments/segment-sql.ts';
import { type RecordField, recordFields } from '../values.ts';
import { jsonSql } from './json-sql.ts';
import type { Mapping, Role } from './mapping.ts';
import type { TimeUnit } from './spell-field.ts';

// Typed rows are what an import sends for days that become segments at once: the fields of records as columns, and the
// enrichment as a STRUCT, in Parquet. The service spells the JSON itself, so that no text has to be trusted or parsed:
// it is valid by its types. An enrichment that is text already is taken to the letter, once it was looked at. What could
// be wrong with a row is said here in SQL, for the client, which sends such rows through ingest, and for the service,
// which refuses them.

/** The columns of typed rows that are text. */
export const textColumns = [
  ...(['tenant', 'store', 'event_id', 'kind', 'source', 'model', 'confidence'] as const),
];

/** The column that is the whole enrichment, with `null` where it has no value, or its keys, of which these are left out. */
const bodies = ['enrichment', 'keys'] as const;

const plainKinds: ReadonlySet<string> = new Set([
  ...['BOOLEAN', 'TINYINT', 'SMALLINT', 'INTEGER', 'BIGINT', 'UTINYINT', 'USMALLINT', 'UINTEGER'],
  ...['UBIGINT', 'DECIMAL', 'FLOAT', 'DOUBLE', 'VARCHAR', 'UUID', 'DATE', 'TIME', 'BLOB'],
  ...['TIMESTAMP', 'TIMESTAMP_S', 'TIMESTAMP_MS', 'TIMESTAMP_NS', 'TIMESTAMP_TZ'],
]);

/** Whether values of this type stay the same in Parquet, and are spelled as JSON by it: no JSON text, no maps. */
export function isPlainType({ kind, isJson, parts, names }: ColumnType, depth = 1): boolean {
  if (isJson || depth > maxNesting) return false;
  if (kind === 'LIST' || kind === 'ARRAY' || kind === 'STRUCT') {
    // DuckDB tells the fields of a STRUCT apart without regard to case.
    const told = new Set(names.map((name) => name.toLowerCase()));
    return told.size === names.length && parts.every((part) => isPlainType(part, depth + 1));
  }
  return plainKinds.has(kind);
}

/** The column that has the enrichment or its keys. */
export function bodyOf(columns: readonly TypedColumn[]): TypedColumn | undefined {
  return columns.find(({ name }) => bodies.some((each) => each === name));
}

/** Whether the enrichment is text and no STRUCT. */
export function isTextBody({ name, type }: TypedColumn): boolean {
  return name === 'enrichment' && type.kind === 'VARCHAR';
}

/** Returns why these are no columns of typed rows, in a sentence; null when they are. */
export function columnsFault(columns: readonly TypedColumn[]): string | null {
  const typeOf = (name: string) => columns.find((column) => column.name === name)?.type;
  for (const name of textColumns) {
    if (typeOf(name)?.kind !== 'VARCHAR') return `${name} must be a column of text`;
  }
  if (typeOf('occurred_at')?.kind !== 'TIMESTAMP_TZ') {
    return 'occurred_at must be a column of UTC times in microseconds';
  }
  const rest = columns.filter(
    ({ name }) => name !== 'occurred_at' && !(textColumns as readonly string[]).includes(name),
  );
  const body = rest.length === 1 ? bodyOf(rest) : undefined;
  const isBody =
    body !== undefined &&
    (isTextBody(body) || (body.type.kind === 'STRUCT' && isPlainType(body.type)));
  return isBody
    ? null
    : 'beside them there must be one STRUCT of plain types, enrichment or keys, or enrichment as text';
}

/**
 * SQL of the rows as records: the columns of a segment but recorded_at, and `is_plain`, which says whether ingest would
 * take the record with this very content. The names of tenant and store are left to the caller, because they are few.
 */
export function recordsSql(
  source: string,
  { columns, maxEnrichmentBytes }: { columns: readonly TypedColumn[]; maxEnrichmentBytes: number },
): string {
  const body = bodyOf(columns);
  const enrichment = body === undefined ? null : bodySql(body);
  if (body === undefined || enrichment === null)
    throw new Error('rows that are not typed cannot become records');
  const isPlainBody = isTextBody(body) ? isPlainText('enrichment') : hasNumbersOnly;
  return `
    select *, ${bytesSql} as bytes, ${isPlainSql}
      and coalesce(strlen(enrichment) <= ${maxEnrichmentBytes} and ${isPlainBody}, false) as is_plain
    from (select ${textColumns.join(', ')}, occurred_at, ${enrichment} as enrichment from ${source})`;
}

/** A day of a store as `daysSql` tells it, its names as JSON, which keeps a byte order mark at their start. */
export type DayOfRecords = Record<
  'tenant' | 'store' | 'day' | 'count' | 'bytes' | 'digest' | 'odd',
  string
>;

/** SQL of what records of `recordsSql` are by store and day, and how many of them are not plain. */
export function daysSql(records: string): string {
  return `
    select to_json(tenant)::varchar as tenant, to_json(store)::varchar as store, day::varchar as day,
      count(*)::varchar as count, sum(bytes)::varchar as bytes, ${digestSumOf('digest')} as digest,
      (count(*) filter (where not is_plain))::varchar as odd
    from (select *, ${dayOfRow} as day, ${digestSql} as digest from (${records}))
    group by all order by all`;
}

function bodySql(column: TypedColumn): string | null {
  const { name, type } = column;
  if (isTextBody(column)) return name;
  if (name === 'enrichment') return jsonSql(type, name);
  const keys = type.names.map((key, index) => {
    const part = type.parts[index];
    const value = part && jsonSql(part, `struct_extract(keys, ${literal(key)})`);
    return value && `${literal(`${JSON.stringify(key)}:`)} || ${value}`;
  });
  return `'{' || concat_ws(',', ${keys.join(', ')}) || '}'`;
}

/** Characters that JSON text escapes, and control characters. Rows with them take the way of ingest. */
const special = `'["\\\\\\x00-\\x1f\\x7f-\\x{9f}]'`;
const spelledNumber = `'0(\\.[0-9]+)?|1(\\.0+)?|[0-9](\\.[0-9]+)?[eE]-0*[1-9][0-9]*'`;

const isLabel = (column: string) =>
  `(${column} is null or (length(${column}) <= 200 and not regexp_matches(${column}, ${special})))`;

/** Whether the fields of a row are such as ingest takes, as they are. It may be false of some that it takes, too. */
export const isPlainSql = `(coalesce(tenant <> '' and store <> '' and length(event_id) between 1 and 200
  and not regexp_matches(event_id, ${special}) and epoch_us(occurred_at) >= 0, false)
  and ${isLabel('kind')} and ${isLabel('source')} and ${isLabel('model')} and (confidence is null
  or (length(confidence) <= 40 and regexp_full_match(confidence, ${spelledNumber}))))`;

/**
 * NaN and infinities have no quotes, U+0000 is an escape. Few texts hold `nan` or `inf`, which is found quickly, and only
 * where they stand as a number would is the enrichment looked at without its texts.
 */
const noNumber = String.raw`'[:,\[]-?(?:nan|inf)'`;
const withoutTexts = String.raw`regexp_replace(enrichment, '"(?:[^"\\]|\\.)*"', '""', 'g')`;
const hasNumbersOnly = `not contains(enrichment, '\\u0000') and case
  when not (contains(enrichment, 'nan') or contains(enrichment, 'inf')) then true
  when not regexp_matches(enrichment, ${noNumber}) then true
  else not regexp_matches(${withoutTexts}, ${noNumber}) end`;

/** The tokens of a JSON object without white space between them. A comma belongs to what follows it, so none is last. */
const jsonTokens = String.raw`\{(?:,?(?:[\[{]|"(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*"|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null)|[}\]:])*`;

/**
 * Whether text is a JSON object such as ingest stores to the letter, but for keys that come twice. DuckDB's parser takes
 * white space, `nan` and a comma at the end, too, so the tokens are looked at beside it. Depth is bounded by how many
 * objects and arrays there are.
 */
const isPlainText = (text: string) => `not contains(${text}, '\\u0000')
  and regexp_full_match(${text}, '${jsonTokens}') and json_valid(${text})
  and case when strlen(${text}) > ${2 * maxNesting}
  then strlen(${text}) - strlen(replace(replace(${text}, '{', ''), '[', '')) <= ${maxNesting} else true end`;

/** Of an enrichment that is text, its keys with their quotes, and the braces around them. */
export const keysSql = String.raw`array_to_string(
  regexp_extract_all(enrichment, '("(?:[^"\\]|\\.)*":|[{}])|"(?:[^"\\]|\\.)*"', 1), '')`;

/** Whether an object of these has a key twice, which ingest refuses. */
export function hasKeyTwice(keys: string): boolean {
  const open: Set<string>[] = [];
  for (const [token] of keys.matchAll(/"(?:[^"\\]|\\.)*"|[{}]/g)) {
    if (token === '{') open.push(new Set());
    else if (token === '}') open.pop();
    else {
      const name = JSON.parse(token) as string;
      const names = open.at(-1);
      if (names?.has(name)) return true;
      names?.add(name);
    }
  }
  return false;
}

/** The bytes of a member of a record: the comma or brace before it, its name in quotes, the colon and the value. */
const member = (name: string, value: string) =>
  `coalesce(${name.length + 4} + strlen(${name}) + ${value}, 0)`;

/** The length of the record as a line of NDJSON, as ingest counts it. */
const bytesSql = `(1 + ${['tenant', 'store', 'event_id', 'kind', 'source', 'model'].map((name) => member(name, '2')).join(' + ')}
  + ${'occurred_at'.length + 4 + '"YYYY-MM-DDTHH:MM:SS.ffffffZ"'.length} + ${member('confidence', '0')} + ${member('enrichment', '0')})::integer`;

type SourceColumn = TypedColumn & {
  /** The column in SQL. */
  readonly sql: string;
};

/**
 * SQL that selects the columns of a file as those of typed rows: a list for `select`. Null when some column cannot be
 * one: then all rows take the way of ingest. What is wrong with a value makes it NULL, or is left to `isPlainSql`.
 */
export function typedColumns(
  columns: readonly SourceColumn[],
  { mapping, roleOf }: { mapping: Mapping; roleOf: (name: string) => Role },
): string | null {
  const fields = new Map<string, string | null>();
  const keys = new Map<string, string>();
  for (const { name, type, sql } of columns) {
    const role = roleOf(name);
    if (role === 'skipped') continue;
    if (role === 'key') {
      if (!isPlainType(type)) return null;
      keys.set(name, sql);
    } else if (role === 'unknown') return null;
    else fields.set(role, fieldSql(role, { type, sql, timeUnit: mapping.timeUnit }));
  }
  for (const field of recordFields) {
    const value = mapping.values[field];
    if (value === undefined) continue;
    const given = { type: textType, sql: literal(value), timeUnit: undefined };
    fields.set(field, fieldSql(field, given));
  }
  // DuckDB tells the fields of a STRUCT apart without regard to case.
  const names = new Set([...keys.keys()].map((name) => name.toLowerCase()));
  if (names.size < keys.size) return null;
  if (!fields.has('enrichment')) {
    if (keys.size === 0) return null;
    const members = Array.from(keys, ([name, sql]) => `${literal(name)}: ${sql}`);
    fields.set('keys', `{${members.join(', ')}}`);
  }
  if ([...fields.values()].includes(null)) return null;
  const body = fields.has('keys') ? 'keys' : 'enrichment';
  return [...textColumns, 'occurred_at', body]
    .map((name) => `${fields.get(name) ?? 'null::varchar'} as ${name}`)
    .join(', ');
}

/** The type of a column of CSV, and of a value that is given for all rows. */
export const textType: ColumnType = {
  kind: 'VARCHAR',
  isJson: false,
  names: [],
  parts: [],
  text: 'text',
};

const wholeNumbers: ReadonlySet<string> = new Set([
  ...['TINYINT', 'SMALLINT', 'INTEGER', 'BIGINT', 'UTINYINT', 'USMALLINT', 'UINTEGER', 'UBIGINT'],
]);
const fractions: ReadonlySet<string> = new Set(['DECIMAL', 'FLOAT', 'DOUBLE']);

/** SQL of a column as a field of a record; null when its type is none that is plainly this field. */
function fieldSql(
  field: RecordField,
  { type, sql, timeUnit }: { type: ColumnType; sql: string; timeUnit: TimeUnit | undefined },
): string | null {
  const isText = type.kind === 'VARCHAR' && !type.isJson;
  if (field === 'enrichment') {
    if (type.kind === 'STRUCT') return isPlainType(type) ? sql : null;
    const text = `(${sql})::varchar`;
    return type.kind === 'VARCHAR' ? `case when ${isPlainText(text)} then ${text} end` : null;
  }
  if (field === 'occurred_at') return timeSql(type, sql, timeUnit);
  const isNumber =
    wholeNumbers.has(type.kind) || (field === 'confidence' && fractions.has(type.kind));
  return isText || isNumber ? `(${sql})::varchar` : null;
}

const microsOf = { s: 1_000_000, ms: 1000, us: 1 } as const;
/** As `spell-field.ts` takes it. */
const printedTime = `'\\d{4}-\\d\\d-\\d\\d[T ]([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(\\.\\d{1,6})?(Z|[+-](0\\d|1[0-4])(:[0-5]\\d)?)?'`;

function timeSql(type: ColumnType, sql: string, unit: TimeUnit | undefined): string | null {
  switch (type.kind) {
    case 'TIMESTAMP':
    case 'TIMESTAMP_S':
    case 'TIMESTAMP_MS':
    case 'TIMESTAMP_TZ':
      return `case when isfinite(${sql}) then (${sql})::timestamptz end`;
    case 'VARCHAR':
      return type.isJson
        ? null
        : `case when regexp_full_match(${sql}, ${printedTime}) then try_cast(${sql} as timestamptz) end`;
  }
  if (!wholeNumbers.has(type.kind) || unit === undefined || unit === 'ns') return null;
  const micros = microsOf[unit];
  return `case when ${sql} between 0 and ${253_402_300_799 * (1_000_000 / micros)}
    then make_timestamptz((${sql})::bigint * ${micros}) end`;
}
