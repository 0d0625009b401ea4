import { toWorkState } from '../kernel/values.ts';
import type { WorkRow } from '../platform/http/schemas.contract.ts';
import { listJobs } from '../platform/jobs/queries.ts';
import type { Queryable } from '../platform/postgres/database.ts';
import type { RetentionOverview, RunRow, VerificationRow } from './contract.ts';
import { runs as runTable } from './runs/queries.ts';
import { verifications as verificationTable } from './verify/queries.ts';

/** So many runs and verifications are looked at: what is under way, and the last one before it. */
const looked = 6;

/** The last run and the last verification that ended, within the caller's reach, and those that have not. */
export async function readRetentionOverview(
  db: Queryable,
  tenants: readonly string[] | null,
): Promise<{ retention: RetentionOverview; work: WorkRow[] }> {
  const latest = { after: null, limit: looked };
  const runs = await listJobs<RunRow>(db, runTable, tenants, latest);
  const verifications = await listJobs<Verification>(db, verificationTable, tenants, latest);
  const run = runs.find(hasEnded);
  const verification = verifications.find(hasEnded);
  return {
    retention: {
      run: run === undefined ? null : showRun(run),
      verification: verification === undefined ? null : showVerification(verification),
    },
    work: [
      ...runs.filter(isOpen).map(
        (each): WorkRow => ({
          kind: 'run',
          id: each.id,
          state: toWorkState(each.state),
          tenant: each.tenant,
          done: each.moved_count + each.deleted_count,
          total: each.total_count,
        }),
      ),
      ...verifications.filter(isOpen).map(
        (each): WorkRow => ({
          kind: 'verification',
          id: each.id,
          state: toWorkState(each.state),
          tenant: each.tenant,
          done: each.bytes_done,
          total: each.bytes_total,
        }),
      ),
    ],
  };
}

function showRun({ id, state, failed_moves, moved_count, finished_at }: RunRow) {
  return {
    id,
    ok: state === 'completed' && failed_moves === 0,
    failed_moves,
    moved_count,
    finished_at,
  };
}

type Verification = Omit<VerificationRow, 'problems'>;

function showVerification({ id, ok, problem_count, segments_total, finished_at }: Verification) {
  return { id, ok, problem_count, segments_total, finished_at };
}

function hasEnded({ state }: { state: string }): boolean {
  return state === 'completed' || state === 'failed';
}

function isOpen(job: { state: string }): boolean {
  return !hasEnded(job);
}
