import { type Actor, serviceActor } from '../../kernel/actor.ts';
import type { AuditLocally } from '../../platform/audit.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { type BulkOptions, createBulkJob, previewBulk } from './bulk-jobs.ts';
import { hasOldAbandoned, hasPurgedToday } from './job-queries.ts';

/** Dead letters that were abandoned `days` days ago are purged by themselves; 0: none are. */
type Old = { readonly days: number; readonly options: BulkOptions };

/** How many dead letters within reach will be purged by themselves within a day, if nothing becomes of them before. */
export async function countPurgedSoon(
  db: Queryable,
  tenants: Actor['tenants'],
  { days, options }: Old,
): Promise<number> {
  return days === 0 ? 0 : countOld(db, tenants, { days: days - 1, options });
}

/** Makes the job that purges what is too old, once a day. Call it in a transaction, when it was told a day before. */
export async function purgeOld(
  db: Queryable,
  { days, options, audit }: Old & { audit: AuditLocally },
): Promise<void> {
  const { name } = serviceActor;
  if (days === 0 || (await hasPurgedToday(db, name))) return;
  if ((await countOld(db, null, { days, options })) === 0) return;
  const asked = { request: requestOf(days), options };
  const job = await createBulkJob(db, serviceActor, 'purge', asked);
  await audit(db, name, { action: 'purge_job.create', target: job.id, after: job });
}

async function countOld(
  db: Queryable,
  tenants: Actor['tenants'],
  { days, options }: Old,
): Promise<number> {
  const request = requestOf(days);
  // Mostly none is so old, and one look into an index says so.
  if (!(await hasOldAbandoned(db, days))) return 0;
  return (await previewBulk(db, { tenants }, 'purge', { request, options })).count;
}

function requestOf(days: number) {
  return { status: 'abandoned', older_than: `${days}d` } as const;
}
