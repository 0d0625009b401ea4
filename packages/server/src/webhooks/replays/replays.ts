import type { Actor } from '../../kernel/actor.ts';
import { AppError } from '../../kernel/errors.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import type { ReplayRow } from '../contract.ts';
import type { PacedKind } from '../paced-jobs.ts';
import { findReplay, replayTable } from './queries.ts';

/** A replay. Throws 404 `replay_not_found`. */
export async function getReplay(db: Queryable, actor: Actor, id: string): Promise<ReplayRow> {
  const job = /^\w{1,100}$/.test(id) ? await findReplay(db, actor.tenants, id) : undefined;
  if (job !== undefined) return job;
  throw new AppError('replay_not_found', {
    detail: 'There is no replay with this id, or no longer. See svcctl jobs ls --kind replay.',
  });
}

/** How replays are changed. What one has queued stays queued when it is cancelled. */
export const replayKind: PacedKind<ReplayRow> = {
  table: replayTable,
  find: getReplay,
  noun: () => 'replay',
  finished: { code: 'replay_finished', name: 'replay' },
};
