import type { Actor } from '../kernel/actor.ts';
import type { WorkRow } from '../platform/http/schemas.contract.ts';
import type { Queryable } from '../platform/postgres/database.ts';
import type { WebhooksOverview } from './contract.ts';
import { bulkTable } from './dead-letters/job-queries.ts';
import { listKeys, sumCounts } from './dead-letters/read-queries.ts';
import { toListed } from './endpoints/endpoints.ts';
import { withFaring } from './endpoints/story.ts';
import { countTroubled, listTroubled } from './endpoints/trouble-queries.ts';
import { getDeliveryHours } from './hours.ts';
import { findLast, listOpen } from './paced-queries.ts';
import { rangeReplays, replayTable } from './replays/queries.ts';
import { deadLetterStatuses } from './values.ts';

/** The hours of two days, and so many endpoints and jobs. */
const [shownHours, mostEndpoints, mostJobs] = [48, 10, 5];

/** How webhooks fare, within the caller's reach, and the bulk jobs and replays that have not ended. */
export async function readWebhooksOverview(
  db: Queryable,
  actor: Pick<Actor, 'tenants'>,
): Promise<{ webhooks: WebhooksOverview; work: WorkRow[] }> {
  const { tenants } = actor;
  const endpoints = (await listTroubled(db, tenants, mostEndpoints)).map(toListed);
  const jobs = await listOpen(db, bulkTable, tenants, mostJobs);
  const replays = await listOpen(db, replayTable, tenants, mostJobs);
  const lasts = [
    ...(await findLast(db, bulkTable, tenants)),
    ...(await findLast(db, rangeReplays, tenants)),
  ].sort((a, b) => (a.created_at < b.created_at ? 1 : -1));
  return {
    webhooks: {
      pending: await sumCounts(db, { statuses: ['pending'], tenants }),
      oldest_failure_at: await findOldestFailure(db, tenants),
      hours: await getDeliveryHours(db, actor, { hours: shownHours }),
      ...(await countTroubles(db, tenants)),
      endpoints: await withFaring(db, endpoints),
      last_job: lasts[0] ?? null,
    },
    work: [...jobs, ...replays].map(toWork),
  };
}

function toWork({
  kind,
  id,
  tenant,
  ...job
}: Awaited<ReturnType<typeof listOpen>>[number]): WorkRow {
  const state = job.state === 'paused' ? 'paused' : 'running';
  const done = job.rows_done + job.rows_skipped;
  return { kind, id, state, tenant, done, total: job.rows_total || null };
}

/** How many deliveries have no attempts left, and how many endpoints fare ill, within a caller's reach. */
export async function countTroubles(db: Queryable, tenants: readonly string[] | null) {
  return {
    abandoned: await sumCounts(db, { statuses: ['abandoned'], tenants }),
    ...(await countTroubled(db, tenants)),
  };
}

/** When the dead letter failed that was left alone longest; one look into an index for each status, and tenant. */
async function findOldestFailure(
  db: Queryable,
  tenants: readonly string[] | null,
): Promise<string | null> {
  if (tenants?.length === 0) return null;
  const first = { after: null, descending: false, limit: 1, scanLimit: null };
  const times: string[] = [];
  for (const status of deadLetterStatuses) {
    const rows = await listKeys(db, { orderedBy: 'last_attempt_at', status, tenants }, first);
    times.push(...rows.map(({ at }) => at));
  }
  return times.sort()[0] ?? null;
}
