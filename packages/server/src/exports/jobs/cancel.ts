import type { FastifyRequest } from 'fastify';
import type { Actor } from '../../kernel/actor.ts';
import type { Audit } from '../../platform/audit.ts';
import type { Database } from '../../platform/postgres/database.ts';
import type { StoredJob } from './job.ts';
import { getJob } from './list.ts';
import * as queries from './queries.ts';

export type CancelCall = {
  readonly id: string;
  readonly actor: Actor;
  readonly request: FastifyRequest;
  readonly audit: Audit;
};

/**
 * Cancels a job that is queued or running, removes the file of one that is completed; otherwise nothing
 * happens. What it has stored goes with the next sweep. Throws 404 `export_not_found`.
 */
export async function cancelJob(
  db: Database,
  { id, actor, request, audit }: CancelCall,
): Promise<{ job: StoredJob; was: 'open' | 'completed' | 'ended' }> {
  const found = await getJob(db, actor, id);
  return db.transaction(async (connection) => {
    const entry = (job: StoredJob, action: string, before: object) =>
      audit(connection, {
        actor,
        request,
        action,
        target: job.id,
        tenant: job.tenant,
        before,
        after: { state: job.state, has_file: job.has_file },
      });
    const cancelled = await queries.cancelOpenJob(connection, found);
    if (cancelled !== undefined) {
      await entry(cancelled, 'export.cancel', { state: found.state, rows_done: found.rows_done });
      return { job: cancelled, was: 'open' };
    }
    // It may have ended since it was looked for.
    const expired = await queries.expireJob(connection, found);
    if (expired !== undefined) {
      await entry(expired, 'export.remove', { state: expired.state, has_file: true });
      return { job: expired, was: 'completed' };
    }
    return { job: await getJob(connection, actor, id), was: 'ended' };
  });
}
