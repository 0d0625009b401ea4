import sql from 'sql-template-tag';
import type { Queryable } from '../../platform/postgres/database.ts';
import type { JobId } from './job.ts';

/** What a version holds now: what was frozen, or what is left of it. `triple` is null while that is being counted. */
export type VersionContent = {
  state: 'counting' | 'ready' | 'failed';
  triple: { count: number; bytes: number; digest: string } | null;
  /** By split, digests as decimal text; null without shares. They count once the version is ready. */
  splits: Record<string, { count: number; digest: string }> | null;
  error: string | null;
  note: string | null;
};

export async function findVersionContent(
  db: Queryable,
  { tenant, id }: JobId,
): Promise<VersionContent | undefined> {
  const rows = await db.query<VersionContent>(sql`
    select state, error, note, splits, case
      when change is null and is_counted then json_build_object('count', count, 'bytes', bytes, 'digest', digest::text)
      when state = 'ready' then json_build_object('count', current_count, 'bytes', current_bytes,
        'digest', current_digest::text)
    end as triple
    from dataset_versions where tenant = ${tenant} and id = ${id}`);
  return rows[0];
}
