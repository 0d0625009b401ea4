import { countOpenJobs } from '../platform/jobs/queries.ts';
import { byState, type StateRow } from '../platform/metrics/figures.ts';
import { databaseFigures } from '../platform/postgres/figures.ts';
import { readRetentionOverview } from './read-overview.ts';
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
