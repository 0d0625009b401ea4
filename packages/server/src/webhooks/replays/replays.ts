import type { Static } from 'typebox';
import type { Actor } from '../../kernel/actor.ts';
import { AppError } from '../../kernel/errors.ts';
import type { Database, Queryable } from '../../platform/postgres/database.ts';
import type { ReplayRow, replayChangeSchema } from '../contract.ts';
import type { Act } from '../dead-letters/retry.ts';
import * as queries from './queries.ts';

/** A replay. Throws 404 `replay_not_found`. */
export async function getReplay(db: Queryable, actor: Actor, id: string): Promise<ReplayRow> {
  const job = /^\w{1,100}$/.test(id) ? await queries.findReplay(db, actor.tenants, id) : undefined;
  if (job !== undefined) return job;
  throw new AppError('replay_not_found', {
    detail: 'There is no replay with this id, or no longer. See svcctl jobs ls --kind replay.',
  });
}

/** Pauses or resumes a replay, or changes its rate. Throws 404 `replay_not_found`, 409 `replay_finished`. */
export async function changeReplay(
  db: Database,
  act: Act,
  id: string,
  change: Static<typeof replayChangeSchema>,
): Promise<ReplayRow> {
  const after = await changeAndNote(db, act, id, { action: 'replay.change', change });
  if (after !== undefined) return after;
  const { state } = await getReplay(db, act.actor, id);
  throw new AppError('replay_finished', {
    detail: `The replay is ${state}: it cannot be changed. Ask for a new one.`,
  });
}

/**
 * Cancels a replay. What it has queued stays queued. One that has ended stays as it is. Throws 404 `replay_not_found`.
 */
export async function cancelReplay(db: Database, act: Act, id: string): Promise<void> {
  const change = { state: 'cancelled' } as const;
  await changeAndNote(db, act, id, { action: 'replay.cancel', change });
}

/** Changes a replay and writes the audit entry in one transaction. Returns undefined when it has ended. */
async function changeAndNote(
  db: Database,
  act: Act,
  id: string,
  { action, change }: { action: string; change: Parameters<typeof queries.changeReplay>[2] },
): Promise<ReplayRow | undefined> {
  const before = await getReplay(db, act.actor, id);
  const told = ({ state, rate }: ReplayRow) => ({ state, rate });
  return db.transaction(async (connection) => {
    if (!(await queries.changeReplay(connection, id, change))) return undefined;
    const after = await getReplay(connection, act.actor, id);
    const states = { before: told(before), after: told(after) };
    await act.note(connection, { action, target: id, tenant: before.tenant, ...states });
    return after;
  });
}
