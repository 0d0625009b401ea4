import { newId } from '../../../kernel/ids.ts';
import type { Database, Session } from '../../../platform/postgres/database.ts';
import type { StoredJob } from '../job.ts';
import * as queries from './queries.ts';

/** A job that this process works on, as long as the session lives. */
export type TakenJob = {
  readonly job: StoredJob & { readonly runner: string };
  readonly session: Session;
};

/**
 * Takes the next job that is queued or was left behind, if there is one. Its lock is that of a session and
 * ends with the process, however that ends; what it writes is fenced by `runner`, for the case that only
 * the session ended.
 */
export async function takeNextJob(db: Database, perTenant: number): Promise<TakenJob | undefined> {
  if (!(await queries.hasFreeJob(db))) return undefined;
  const session = await db.openSession();
  try {
    await queries.lockTaking(session);
    const next = await queries.findNextJob(session, perTenant);
    if (next !== undefined && (await queries.lockJob(session, next))) {
      const runner = newId('rnr');
      const job = await queries.takeJob(session, { ...next, runner });
      await queries.unlockTaking(session);
      if (job !== undefined) return { job: { ...job, runner }, session };
    }
  } catch (error) {
    await session.close();
    throw error;
  }
  await session.close();
  return undefined;
}
