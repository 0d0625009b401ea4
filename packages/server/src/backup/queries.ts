import sql from 'sql-template-tag';
import type { Queryable } from '../platform/postgres/database.ts';

/** A backup that is whole. Times are texts as PostgreSQL spells them. */
export type LastBackup = {
  readonly id: string;
  /** Where it lies, for people to read: a folder or `s3://bucket/prefix`. */
  readonly place: string;
  /** The moment that it shows: what was stored later is not in it. */
  readonly taken_at: string;
  readonly finished_at: string;
  /** The records in it, hot and cold. */
  readonly records: number;
  /** All that it needs. */
  readonly size_bytes: number;
  /** When all of it was last read back and found right; null if never. */
  readonly verified_at: string | null;
};

/** Finds the newest backup that is whole; undefined when there is none. */
export async function findLastBackup(db: Queryable): Promise<LastBackup | undefined> {
  const [last] = await db.query<LastBackup>(sql`
    select id, place, taken_at, finished_at, records, size_bytes, verified_at from backups
    where finished_at is not null and error_code is null and taken_at is not null
    order by taken_at desc limit 1`);
  return last;
}
