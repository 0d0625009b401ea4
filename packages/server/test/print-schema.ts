import sql from 'sql-template-tag';
import type { Queryable } from '../src/platform/postgres/database.ts';

/** The catalogue of a database as SQL text, in a stable order: what all migrations together make. */
export async function printSchema(db: Queryable): Promise<string> {
  const tables = await db.query<{
    name: string;
    partitioned: string | null;
    storage: string | null;
  }>(sql`
    select relname as name, pg_get_partkeydef(oid) as partitioned, array_to_string(reloptions, ', ') as storage
    from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') order by relname`);
  const parts: string[] = [];
  for (const table of tables) {
    const columns = await listColumns(db, table.name);
    const constraints = await listConstraints(db, table.name);
    const lines = [...columns, ...constraints].map((line) => `  ${line}`).join(',\n');
    const partition = table.partitioned === null ? '' : ` partition by ${table.partitioned}`;
    const storage = table.storage === null ? '' : ` with (${table.storage})`;
    parts.push(
      `create table ${table.name} (\n${lines}\n)${partition}${storage};`,
      ...(await listIndexes(db, table.name)),
    );
  }
  return `${[...parts, ...(await listFunctions(db))].join('\n\n')}\n`;
}

async function listColumns(db: Queryable, table: string): Promise<string[]> {
  const rows = await db.query<{ line: string }>(sql`
    select concat_ws(' ', attname, format_type(atttypid, atttypmod),
      case when attcollation <> typcollation then 'collate "' || collname || '"' end,
      case when attnotnull then 'not null' end,
      case attgenerated when 's' then 'generated always as ' || pg_get_expr(adbin, adrelid) || ' stored'
        else 'default ' || pg_get_expr(adbin, adrelid) end) as line
    from pg_attribute join pg_type on pg_type.oid = atttypid
    left join pg_collation on pg_collation.oid = attcollation
    left join pg_attrdef on adrelid = attrelid and adnum = attnum
    where attrelid = ${table}::regclass and attnum > 0 and not attisdropped order by attnum`);
  return rows.map((row) => row.line);
}

async function listConstraints(db: Queryable, table: string): Promise<string[]> {
  // 'n' (not null) is part of the column, and has no row before PostgreSQL 18.
  const rows = await db.query<{ line: string }>(sql`
    select 'constraint ' || conname || ' ' || pg_get_constraintdef(oid) as line from pg_constraint
    where conrelid = ${table}::regclass and contype <> 'n' order by contype desc, conname`);
  return rows.map((row) => row.line);
}

async function listIndexes(db: Queryable, table: string): Promise<string[]> {
  const rows = await db.query<{ line: string }>(sql`
    select pg_get_indexdef(indexrelid) || ';' as line from pg_index
    where indrelid = ${table}::regclass
      and not exists (select 1 from pg_constraint where conindid = indexrelid)
    order by indexrelid::regclass::text`);
  return rows.map((row) => row.line);
}

async function listFunctions(db: Queryable): Promise<string[]> {
  const rows = await db.query<{ line: string }>(sql`
    select pg_get_functiondef(oid) as line from pg_proc
    where pronamespace = 'public'::regnamespace order by proname`);
  return rows.map((row) => `${row.line.trim()};`);
}
