import sql from 'sql-template-tag';
import type { Connection } from '../../../platform/postgres/database.ts';
import type { DayWindow } from '../../slice.ts';
import { beyondLastDay, firstDay } from '../../tags/windows.ts';
import type { Version } from '../../versions.contract.ts';

/** The windows of all versions of a tenant, those of a version one after the other. */
export async function listVersionWindows(
  connection: Connection,
  tenant: string,
): Promise<(DayWindow & { version_id: string })[]> {
  return connection.query(sql`
    select version_id, store, first_day::text as "from", until::text as until
    from dataset_version_windows where tenant = ${tenant} order by version_id, ordinal`);
}

/** Has versions counted again, and tells why. */
export async function setChanged(
  connection: Connection,
  versions: { tenant: string; ids: readonly string[] },
  change: NonNullable<Version['change']>,
): Promise<void> {
  await connection.query(sql`
    update dataset_versions set state = 'counting', change = ${change},
      changed_at = clock_timestamp(), error = null
    where tenant = ${versions.tenant} and id = any(${versions.ids}::text[])`);
}

export async function deleteVersions(
  connection: Connection,
  { tenant, ids }: { tenant: string; ids: readonly string[] },
): Promise<void> {
  await connection.query(sql`
    with gone as (
      delete from dataset_version_windows
      where tenant = ${tenant} and version_id = any(${ids}::text[])
    )
    delete from dataset_versions where tenant = ${tenant} and id = any(${ids}::text[])`);
}

/** Deletes the tags whose days all lie in a window; answers how many. */
export async function deleteTagsWithin(
  connection: Connection,
  tenant: string,
  { store, from, until }: DayWindow,
): Promise<number> {
  const rows = await connection.query(sql`
    delete from tags where tenant = ${tenant} and (${store}::text is null or store = ${store})
      and greatest(first_day, ${firstDay}::date) >= ${from}::date
      and coalesce(least(last_day, ${beyondLastDay}::date - 1) + 1, ${beyondLastDay}::date) <= ${until}::date
    returning id`);
  return rows.length;
}
