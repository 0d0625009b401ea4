import { AppError } from '../../kernel/errors.ts';
import { formatCount, numberOf } from '../../kernel/values.ts';
import type { Client, RouteAnswer } from '../client.ts';
import type { Context } from '../context.ts';
import { followJob, workedMillis } from '../follow-job.ts';
import { formatBytes, formatDuration } from '../format.ts';
import { formatDays } from './days.ts';
import { errorText } from './moves.ts';

export type Run = RouteAnswer<'GET /retention/runs/:id'>;

/** Shows the progress of a run until it ends. */
export function followRun(context: Context, client: Client, started: Run): Promise<Run> {
  return followJob(context, client, {
    ...{ route: 'GET /retention/runs/:id', started, role: 'retention' },
    far: (run) => ({ done: run.moved_count + run.deleted_count, total: run.total_count }),
    describe: (done, total) => `${formatCount(done)} of ${numberOf(total, 'record')}`,
    speed: (perSecond) => `${numberOf(perSecond, 'record')}/s`,
    goesOn: 'The run goes on without this command. Look: svcctl retention moves',
  });
}

/**
 * Prints how a run ended: `✓ 512,991 records (246 MB) moved to the cold tier, 122,000 records/s · 1,204 deleted · 4.2
 * s`.
 */
export function tellRunEnd(context: Context, run: Run): void {
  const { moved_count: moved, deleted_count: deleted, busy_tenants: busy } = run;
  const ms = workedMillis(run);
  const parts: string[] = [];
  if (moved > 0) {
    const speed = ms === null ? '' : `, ${formatCount(Math.round((moved * 1000) / ms))} records/s`;
    parts.push(
      `${numberOf(moved, 'record')} (${formatBytes(run.moved_bytes)}) moved to the cold tier${speed}`,
    );
  }
  if (deleted > 0) parts.push(`${numberOf(deleted, 'record')} deleted`);
  if (parts.length === 0) parts.push('Nothing was moved or deleted');
  if (run.freed_bytes > 0) parts.push(`${formatBytes(run.freed_bytes)} of hot space given back`);
  if (ms !== null) parts.push(formatDuration(ms));
  const isWell = run.state === 'completed' && run.failed_moves === 0;
  context.note(`${isWell ? '✓ ' : ''}${parts.join(' · ')}`);
  const kept = run.delete_versioned ? 0 : (run.kept_count ?? 0);
  if (kept > 0) {
    context.note(
      `${numberOf(kept, 'record')} left alone, because dataset versions have them: svcctl retention plan says which.`,
    );
  }
  if (busy > 0) {
    context.note(
      `${numberOf(busy, 'tenant')} passed over, because another move had ${busy === 1 ? 'it' : 'them'}: the next run does the rest.`,
    );
  }
}

const toldMoves = 20;

/** Throws `move_failed` if moves of the run have failed, and names them with the reasons. */
export async function assertDone(client: Client, run: Run): Promise<void> {
  if (run.state === 'completed' && run.failed_moves === 0) return;
  const lines: string[] = [];
  if (run.failed_moves > 0) {
    const { data } = await client.json('GET /retention/moves', {
      query: { run_id: run.id, state: 'failed', limit: toldMoves },
    });
    for (const move of data) {
      const days = formatDays(move.first_day, move.last_day);
      lines.push(`✗ ${move.id}  ${move.tenant}  ${days}  ${errorText(move) ?? 'failed'}`);
    }
  }
  const what =
    run.failed_moves === 0
      ? (run.error ?? `${run.id} failed.`)
      : `${numberOf(run.failed_moves, 'move')} failed; what was to be moved is where it was.`;
  const next = 'Look: svcctl retention move ID · try again: svcctl retention run';
  throw new AppError('move_failed', { detail: [what, ...lines, next].join('\n') });
}
