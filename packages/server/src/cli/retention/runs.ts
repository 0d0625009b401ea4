import { AppError } from '../../kernel/errors.ts';
import { formatCount, numberOf } from '../../kernel/values.ts';
import type { Client, RouteAnswer } from '../client.ts';
import { confirm } from '../confirm.ts';
import type { Context } from '../context.ts';
import { followJob, workedMillis } from '../follow-job.ts';
import { formatBytes, formatDuration } from '../format.ts';
import { printJson } from '../output.ts';
import { checkDate, daysText } from '../slice.ts';
import { type Given, verb, yesOption } from '../verb.ts';
import { errorText } from './moves.ts';
import { amount, scopeOptions, totalsText } from './plan.ts';

export type Run = RouteAnswer<'GET /retention/runs/:id'>;

const options = [
  ...scopeOptions,
  ['--delete-versioned', 'delete what is due of dataset versions too'],
  ['--no-wait', 'print the run’s id and leave it at work'],
  yesOption,
  ['--json', 'print the run as JSON'],
] as const;
type Options = Given<typeof options>;

/**
 * Starts a run after a question, and follows it unless --no-wait was given. Throws `move_failed` when a move of it
 * failed.
 */
export const run = verb({
  summary: 'move and delete now what the policies say',
  description:
    'Does now what the policies say: first it tells what, and asks if anything would be deleted; then it shows the progress. Ctrl-C leaves the run at work.',
  examples: [
    'svcctl retention run',
    'svcctl retention run --tenant TX --before 2001-05-01',
    'svcctl retention run --yes --no-wait',
    'svcctl retention run --tenant TX --delete-versioned',
  ],
  options,
  async act(context, options) {
    const { tenant, before, deleteVersioned: delete_versioned, json } = options;
    checkDate('--before', before);
    const client = await context.connect();
    await announce(context, client, options);
    const body = { tenant, before, delete_versioned };
    const started = await client.json('POST /retention/run', { body });
    if (!options.wait) {
      if (json) await printJson(context, started);
      else await context.out.write(`${started.id}\n`);
      context.hint('It is at work. Look: svcctl retention moves');
      return;
    }
    const run = await followJob(context, client, {
      route: 'GET /retention/runs/:id',
      started,
      role: 'retention',
      far: (now) => ({ done: now.moved_count + now.deleted_count, total: now.total_count }),
      describe: (done, total) => `${formatCount(done)} of ${numberOf(total, 'record')}`,
      speed: (perSecond) => `${numberOf(perSecond, 'record')}/s`,
      goesOn: 'The run goes on without this command. Look: svcctl retention moves',
    });
    if (json) await printJson(context, run);
    tellRunEnd(context, run);
    await assertDone(client, run);
  },
});

/** Prints the plan, and asks before anything is deleted. */
async function announce(context: Context, client: Client, options: Options): Promise<void> {
  const { tenant, before, deleteVersioned, yes } = options;
  const plan = await client.json('GET /retention/plan', { query: { tenant, before } });
  const { totals, store } = plan;
  context.note(totalsText(totals));
  if (store?.problem) context.note(store.problem);
  const gone = totals.delete.count === 0 ? [] : [amount(totals.delete)];
  if (deleteVersioned && totals.versioned.count > 0) {
    gone.push(`${amount(totals.versioned)} that DATASET VERSIONS keep`);
  }
  if (gone.length === 0) return;
  await confirm(context, yes, {
    question: `Delete ${gone.join(', and ')} for good?`,
    act: 'Delete',
    refused: 'Nothing was moved or deleted.',
  });
}

/**
 * Prints how a run ended: `✓ 512,991 records (246 MB) moved to the cold tier, 122,000 records/s · 1,204 deleted · 4.2
 * s`.
 */
function tellRunEnd(context: Context, run: Run): void {
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
async function assertDone(client: Client, run: Run): Promise<void> {
  if (run.state === 'completed' && run.failed_moves === 0) return;
  const lines: string[] = [];
  if (run.failed_moves > 0) {
    const { data } = await client.json('GET /retention/moves', {
      query: { run_id: run.id, state: 'failed', limit: toldMoves },
    });
    for (const move of data) {
      const days = daysText(move);
      lines.push(`✗ ${move.id}  ${move.tenant}  ${days}  ${errorText(move) ?? 'failed'}`);
    }
  }
  const what =
    run.failed_moves === 0
      ? (run.error ?? `${run.id} failed.`)
      : `${numberOf(run.failed_moves, 'move')} failed; what was to be moved is where it was.`;
  const next = `Look: svcctl retention moves --run ${run.id} · try again: svcctl retention run`;
  throw new AppError('move_failed', { detail: [what, ...lines, next].join('\n') });
}
