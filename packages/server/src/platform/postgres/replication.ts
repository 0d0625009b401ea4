import sql from 'sql-template-tag';
import { onlyRow, type Queryable } from './database.ts';

/** Whether transactions only read: the server is a standby, or it, the database or the role was made read only. */
export async function isReadOnly(db: Queryable): Promise<boolean> {
  const rows = await db.query<{ is_read_only: boolean }>(sql`
    select pg_is_in_recovery() or current_setting('transaction_read_only') = 'on' as is_read_only`);
  return onlyRow(rows).is_read_only;
}

/** Returns the standbys that each write waits for and that are not connected, as `synchronous_standby_names` has them. */
export async function findMissingStandbys(db: Queryable): Promise<string[]> {
  const rows = await db.query<{ setting: string; connected: (string | null)[] }>(sql`
    select case when current_setting('synchronous_commit') = 'local' then '' else current_setting('synchronous_standby_names') end
        as setting,
      coalesce((
        -- Of a role without pg_read_all_stats the names are hidden, and that a standby is there is not.
        select array_agg(application_name) from pg_stat_replication where coalesce(state, 'streaming') = 'streaming'
      ), '{}') as connected`);
  const { setting, connected } = onlyRow(rows);
  return nameMissing(setting, connected);
}

/** As https://www.postgresql.org/docs/current/runtime-config-replication.html has it: `FIRST 2 (a, b, c)`, `ANY 1 (*)`, `a, b`. */
export function nameMissing(setting: string, connected: readonly (string | null)[]): string[] {
  const [, count = '1', list = setting] =
    /^\s*(?:(?:first|any)\s+)?(\d+)\s*\((.*)\)\s*$/is.exec(setting) ?? [];
  const names = list
    .split(',')
    .map((name) => name.trim().replace(/^"(.*)"$/, '$1'))
    .filter((name) => name !== '');
  const isThere = (name: string) =>
    connected.some((one) => one === null || one.toLowerCase() === name.toLowerCase());
  const there = names.includes('*') ? connected.length : names.filter(isThere).length;
  return there >= Number(count) ? [] : names.filter((name) => !isThere(name));
}
