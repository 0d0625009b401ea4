import type { Actor } from '../../kernel/actor.ts';
import { AppError } from '../../kernel/errors.ts';
import type { Audit } from '../../platform/audit.ts';
import type { ListedKind } from '../../platform/jobs/listed.ts';
import type { Database, Queryable } from '../../platform/postgres/database.ts';
import type { ReplayRow } from '../contract.ts';
import { becameText } from '../dead-letters/listed-bulk.ts';
import type { Became } from '../dead-letters/view.ts';
import { cancelled, changeJob, type PacedKind } from '../paced-jobs.ts';
import type { ReplaySelection } from '../values.ts';
import { findReplay, listedReplays, replayTable } from './queries.ts';

/** A replay. Throws 404 `replay_not_found`. */
export async function getReplay(db: Queryable, actor: Actor, id: string): Promise<ReplayRow> {
  const job = await findReplay(db, actor.tenants, id);
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

const whatOf: Readonly<Record<ReplaySelection, string>> = {
  missed: 'what it missed',
  failed: 'its dead letters',
  delivered: 'again what it got',
  all: 'all',
};

/** Replays in the list of all jobs. */
export function listReplaysAsJobs(
  db: Database,
  audit: Audit,
): ListedKind<
  Omit<Became, 'action' | 'state'> & {
    endpoint_id: string;
    only: ReplaySelection;
    incident_id: string | null;
    since: string;
    until: string;
  }
> {
  return {
    kind: 'replay',
    scope: 'deliveries:retry',
    unit: 'deliveries',
    path: '/webhook/replays',
    table: listedReplays,
    summary({ state, told }) {
      const { endpoint_id, only, incident_id, since, until } = told;
      const of =
        incident_id === null
          ? `what was reported from ${minute(since)} to ${minute(until)}`
          : incident_id;
      return `Sends ${endpoint_id} ${whatOf[only]} of ${of}.${becameText({ ...told, action: 'replay', state })}`;
    },
    cancel: ({ id, ...caller }) =>
      changeJob(db, { ...caller, audit }, replayKind, { id, change: cancelled }),
  };
}

/** A time to the minute: `2026-03-05 14:07`. */
function minute(instant: string): string {
  return instant.slice(0, 16).replace('T', ' ');
}
