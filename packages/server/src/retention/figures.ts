import { toWorkState } from '../kernel/values.ts';
import type { WorkRow } from '../platform/http/schemas.contract.ts';
import { countOpenJobs, listJobs } from '../platform/jobs/queries.ts';
import { byState, type StateRow } from '../platform/metrics/figures.ts';
import type { Queryable } from '../platform/postgres/database.ts';
import { databaseFigures } from '../platform/postgres/figures.ts';
import type { RetentionOverview, RunRow, VerificationRow } from './contract.ts';
import { countFailedTenants, countOpenMoves, runs as runTable } from './runs/queries.ts';
import { moveStates } from './values.ts';
import { verifications as verificationTable } from './verify/queries.ts';

const openMoveStates = moveStates.filter((state) => state !== 'removed' && state !== 'failed');
const openStates = ['queued', 'running'] as const;

/** What retention tells in the metrics: moves, runs and verifications. */
export const retentionFigures = databaseFigures({
  name: 'retention',
  gauges: {
    svcctl_retention_moves: {
      help: 'Moves that have not ended. One that is switched waits until the objects that it replaced are removed.',
      label: 'state',
    },
    svcctl_retention_moves_oldest_age_seconds: {
      help: 'How long ago the oldest of them was planned.',
      label: 'state',
    },
    svcctl_retention_failed_moves: { help: 'Tenants whose latest move failed.' },
    svcctl_retention_store_full: {
      help: 'Tenants whose latest move was stopped because the store is full.',
    },
    svcctl_retention_runs: { help: 'Runs that have not ended.', label: 'state' },
    svcctl_retention_runs_oldest_age_seconds: {
      help: 'How long ago the oldest of them began, or was asked for.',
      label: 'state',
    },
    svcctl_retention_run_done_records: {
      help: 'Records that the run under way has moved or deleted so far.',
    },
    svcctl_retention_last_run_timestamp_seconds: { help: 'When the last run ended.' },
    svcctl_retention_last_run_success: {
      help: 'Whether nothing failed in the run that ended last.',
    },
    svcctl_verifications: { help: 'Verifications that have not ended.', label: 'state' },
    svcctl_verifications_oldest_age_seconds: {
      help: 'How long ago the oldest of them began, or was asked for.',
      label: 'state',
    },
    svcctl_verification_done_bytes: { help: 'Bytes that those under way have read so far.' },
    svcctl_verification_last_timestamp_seconds: { help: 'When the last verification ended.' },
    svcctl_verification_last_success: {
      help: 'Whether the verification that ended last could read everything.',
    },
    svcctl_verification_last_differences: {
      help: 'Differences that the verification found that ended last.',
    },
  },
  async read(db) {
    const moves = byState(openMoveStates, await countOpenMoves(db));
    const failed = await countFailedTenants(db);
    const [openRuns, openVerifications] = [
      await countOpenJobs(db, runTable),
      await countOpenJobs(db, verificationTable),
    ];
    const runs = byState(openStates, openRuns);
    const verifications = byState(openStates, openVerifications);
    const { run, verification } = (await readRetentionOverview(db, null)).retention;
    return {
      svcctl_retention_moves: moves.counts,
      svcctl_retention_moves_oldest_age_seconds: moves.ages,
      svcctl_retention_failed_moves: failed.failed,
      svcctl_retention_store_full: failed.storeFull,
      svcctl_retention_runs: runs.counts,
      svcctl_retention_runs_oldest_age_seconds: runs.ages,
      svcctl_retention_run_done_records: doneOf(openRuns),
      svcctl_retention_last_run_timestamp_seconds: secondsOf(run?.finished_at),
      svcctl_retention_last_run_success: run === null ? null : Number(run.ok),
      svcctl_verifications: verifications.counts,
      svcctl_verifications_oldest_age_seconds: verifications.ages,
      svcctl_verification_done_bytes: doneOf(openVerifications),
      svcctl_verification_last_timestamp_seconds: secondsOf(verification?.finished_at),
      svcctl_verification_last_success:
        verification === null ? null : Number(verification.ok !== null),
      svcctl_verification_last_differences: verification?.problem_count ?? null,
    };
  },
});

/** Nothing while nothing runs: the next one begins with 0, which would look like work that is undone. */
function doneOf(rows: readonly (StateRow & { done: number })[]): number | null {
  return rows.find(({ state }) => state === 'running')?.done ?? null;
}

function secondsOf(instant: string | null | undefined): number | null {
  return instant == null ? null : Date.parse(instant) / 1000;
}

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
      ...runs.map((each) => ({
        kind: 'run' as const,
        job: each,
        total: each.total_count,
        done: each.moved_count + each.deleted_count,
      })),
      ...verifications.map((each) => ({
        kind: 'verification' as const,
        job: each,
        total: each.bytes_total,
        done: each.bytes_done,
      })),
    ]
      .filter(({ job }) => !hasEnded(job))
      .map(({ kind, job: { id, state, tenant }, done, total }) => {
        return { kind, id, state: toWorkState(state), tenant, done, total };
      }),
  };
}

function showRun({ id, state, failed_moves, moved_count, finished_at }: RunRow) {
  const ok = state === 'completed' && failed_moves === 0;
  return { id, ok, failed_moves, moved_count, finished_at };
}

type Verification = Omit<VerificationRow, 'problems'>;

function showVerification({ id, ok, problem_count, segments_total, finished_at }: Verification) {
  return { id, ok, problem_count, segments_total, finished_at };
}

function hasEnded({ state }: { state: string }): boolean {
  return state === 'completed' || state === 'failed';
}
