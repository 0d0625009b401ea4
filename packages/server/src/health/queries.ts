import sql from 'sql-template-tag';
import type { StoreState } from '../kernel/values.ts';
import type { Queryable } from '../platform/postgres/database.ts';
import { newestApplied } from '../platform/postgres/migrate.ts';
import { instantText } from '../platform/postgres/sql-text.ts';
import type { ProcessCommand } from './values.ts';

/** What a process says of itself with each beat. */
export type Beat = {
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  readonly version: string;
  /** The last migration of its release. */
  readonly migration: string;
  readonly node: string;
  readonly command: ProcessCommand;
  readonly roles: readonly string[];
  readonly url: string | null;
  readonly settings: Readonly<Record<string, string>>;
  /** The ids of the keys of webhook secrets that it knows, the one that seals first. */
  readonly secretKeys: readonly string[];
  readonly clockAheadMillis: number | null;
  readonly diskFreeBytes: number | null;
  readonly diskTotalBytes: number | null;
  readonly storeState: StoreState | null;
};

/**
 * Says that a process lives, and returns the time of the database in milliseconds. The row is added when there is none:
 * at the first beat, or after the process was frozen for so long that it was forgotten.
 */
export async function writeBeat(db: Queryable, beat: Beat): Promise<number> {
  const [row] = await db.query<{ now_millis: number }>(sql`
    insert into processes (id, host, pid, version, migration, node, command, roles, url, settings, secret_keys, clock_ahead_millis, disk_free_bytes,
      disk_total_bytes, store_state)
    values (${beat.id}, ${beat.host}, ${beat.pid}, ${beat.version}, ${beat.migration}, ${beat.node}, ${beat.command}, ${beat.roles}, ${beat.url},
      ${JSON.stringify(beat.settings)}, ${beat.secretKeys}, ${beat.clockAheadMillis}, ${beat.diskFreeBytes}, ${beat.diskTotalBytes},
      ${beat.storeState})
    on conflict (id) do update set seen_at = now(), url = excluded.url, secret_keys = excluded.secret_keys, clock_ahead_millis = excluded.clock_ahead_millis,
      disk_free_bytes = excluded.disk_free_bytes, disk_total_bytes = excluded.disk_total_bytes,
      store_state = excluded.store_state
    returning extract(epoch from clock_timestamp())::double precision * 1000 as now_millis`);
  if (row === undefined) throw new Error('a beat left no row');
  return row.now_millis;
}

export async function removeProcess(db: Queryable, id: string): Promise<void> {
  await db.query(sql`delete from processes where id = ${id}`);
}

/** Forgets processes that were not seen for a day; of those not seen for two minutes it keeps the latest hundred. */
export async function forgetProcesses(db: Queryable): Promise<void> {
  await db.query(sql`
    delete from processes where seen_at < now() - interval '1 day' or id in (
      select id from processes where seen_at < now() - interval '2 minutes' order by seen_at desc offset 100
    )`);
}

export type StoredProcess = Omit<
  Beat,
  | 'migration'
  | 'secretKeys'
  | 'clockAheadMillis'
  | 'diskFreeBytes'
  | 'diskTotalBytes'
  | 'storeState'
> & {
  readonly secret_keys: readonly string[];
  readonly since: string;
  readonly seen_at: string;
  readonly silent_seconds: number;
  readonly clock_ahead_ms: number | null;
  readonly disk_free_bytes: number | null;
  readonly disk_total_bytes: number | null;
  readonly store_state: StoreState | null;
};

/** All processes that are known, the oldest first. */
export async function listStoredProcesses(db: Queryable): Promise<StoredProcess[]> {
  return db.query<StoredProcess>(sql`
    select id, host, pid, version, node, command, roles, url, settings, secret_keys, ${instantText('since')} as since,
      ${instantText('seen_at')} as seen_at,
      greatest(0, extract(epoch from now() - seen_at))::double precision as silent_seconds,
      clock_ahead_millis as clock_ahead_ms, disk_free_bytes, disk_total_bytes, store_state
    from processes p order by p.since, id`);
}

export async function readDatabase(db: Queryable) {
  const [row] = await db.query<{ version: string; size_bytes: number; migration: string }>(sql`
    select current_setting('server_version') as version, pg_database_size(current_database()) as size_bytes,
      (${newestApplied}) as migration`);
  if (row === undefined) throw new Error('the database says nothing of itself');
  return row;
}

/** A machine whose disk with the data folder is nearly full, by what a live process of it measured. */
export type FullDisk = { readonly host: string; readonly free_percent: number };

/** Lists machines with less than `percent` of that disk free, of processes seen in the last two minutes. */
export async function listFullDisks(db: Queryable, percent: number): Promise<FullDisk[]> {
  return db.query<FullDisk>(sql`
    select host, floor(min(100.0 * disk_free_bytes / disk_total_bytes))::int as free_percent from processes
    where seen_at > now() - interval '2 minutes' and disk_total_bytes > 0
      and 100.0 * disk_free_bytes / disk_total_bytes < ${percent}
    group by host order by host`);
}
