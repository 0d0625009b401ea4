import { literal } from '../../platform/duckdb.ts';
import type { ColumnType } from '../../platform/duckdb-types.ts';

/**
 * SQL that spells a value of this type as JSON, exactly, which DuckDB's `to_json` does not do for decimals; null for a
 * type that has no such text. NULL gives NULL, and `null` inside of others; NaN and infinity give no JSON, so that
 * their record is rejected; times are RFC 3339 in UTC, bytes base64.
 */
export function jsonSql(type: ColumnType, value: string, depth = 0): string | null {
  if (type.isJson) return jsonTextSql(value);
  switch (type.kind) {
    case 'BOOLEAN':
    case 'TINYINT':
    case 'SMALLINT':
    case 'INTEGER':
    case 'BIGINT':
    case 'HUGEINT':
    case 'UTINYINT':
    case 'USMALLINT':
    case 'UINTEGER':
    case 'UBIGINT':
    case 'UHUGEINT':
    case 'DECIMAL':
    case 'FLOAT':
    case 'DOUBLE':
      return `(${value})::varchar`;
    case 'VARCHAR':
    case 'ENUM':
    case 'UUID':
    case 'DATE':
    case 'TIME':
    case 'TIME_NS':
    case 'TIME_TZ':
    case 'INTERVAL':
      return textSql(value);
    case 'TIMESTAMP':
    case 'TIMESTAMP_S':
    case 'TIMESTAMP_MS':
    case 'TIMESTAMP_TZ':
      return `'"' || strftime(${value}, '%Y-%m-%dT%H:%M:%S.%fZ') || '"'`;
    // `strftime` of DuckDB 1.5 leaves bytes behind the nanoseconds that belong to something else.
    case 'TIMESTAMP_NS':
      return `'"' || replace((${value})::varchar, ' ', 'T') || 'Z"'`;
    case 'BLOB':
      return `'"' || to_base64(${value}) || '"'`;
    case 'LIST':
    case 'ARRAY':
      return listSql(type, value, depth);
    case 'STRUCT':
      return structSql(type, value, depth);
    case 'MAP':
      return mapSql(type, value, depth);
    default:
      return null;
  }
}

function textSql(value: string): string {
  return `to_json((${value})::varchar)::varchar`;
}

/** Text that is said to be JSON, as it stands if it is JSON, on one line: line breaks are only between its tokens. */
function jsonTextSql(value: string): string {
  const text = `(${value})::varchar`;
  return `case when json_valid(${text}) then translate(${text}, chr(10) || chr(13), '  ') else ${textSql(value)} end`;
}

/** A part of a value, which is `null` where there is none. */
function partSql(type: ColumnType | undefined, value: string, depth: number): string | null {
  const sql = type === undefined ? null : jsonSql(type, value, depth + 1);
  return sql === null ? null : `coalesce(${sql}, 'null')`;
}

function listSql({ parts: [of] }: ColumnType, value: string, depth: number): string | null {
  const each = `e${depth}`;
  const part = partSql(of, each, depth);
  if (part === null) return null;
  return `'[' || array_to_string(list_transform(${value}, lambda ${each}: ${part}), ',') || ']'`;
}

/** One `concat` makes the text at once. A chain of `||` copies it anew at each step, which took twice as long. */
function structSql({ names, parts }: ColumnType, value: string, depth: number): string | null {
  const fields = names.map((name, index) => {
    const part = partSql(parts[index], `struct_extract(${value}, ${literal(name)})`, depth);
    return part && `${literal(`${index > 0 ? ',' : ''}${JSON.stringify(name)}:`)}, ${part}`;
  });
  if (fields.includes(null)) return null;
  return `case when ${value} is not null then concat('{', ${fields.join(', ')}, '}') end`;
}

function mapSql({ parts: [key, of] }: ColumnType, value: string, depth: number): string | null {
  const each = `e${depth}`;
  const part = partSql(of, `${each}.value`, depth);
  const name = key === undefined ? null : jsonSql(key, `${each}.key`, depth + 1);
  if (part === null || name === null) return null;
  // Keys of JSON are text, and those that are not are spelled the same in quotes.
  const quoted = `if(${name} like '"%', ${name}, to_json(${name})::varchar)`;
  const entries = `list_transform(map_entries(${value}), lambda ${each}: ${quoted} || ':' || ${part})`;
  return `'{' || array_to_string(${entries}, ',') || '}'`;
}
