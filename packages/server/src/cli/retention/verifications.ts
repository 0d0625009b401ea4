import { AppError } from '../../kernel/errors.ts';
import { formatCount, numberOf } from '../../kernel/values.ts';
import type { Client, RouteAnswer } from '../client.ts';
import type { Context } from '../context.ts';
import { followJob, workedMillis } from '../follow-job.ts';
import { formatBytes, formatDuration } from '../format.ts';
import { styled } from '../io.ts';
import { createTable, printable } from '../table.ts';
import { formatDays } from './days.ts';

export type Verification = RouteAnswer<'GET /retention/verify/:id'>;
type Problem = Verification['problems'][number];

/** Shows the progress of a verification until it ends. */
export function followVerification(
  context: Context,
  client: Client,
  started: Verification,
): Promise<Verification> {
  return followJob(context, client, {
    ...{ route: 'GET /retention/verify/:id', started, role: 'retention' },
    far: ({ bytes_done: done, bytes_total: total }) => ({ done, total }),
    describe: (done, total) => `${formatBytes(done)} of ${formatBytes(total)}`,
    goesOn: `The verification goes on without this command. Look: svcctl retention verify ${started.id}`,
  });
}

/** Prints the problems: two lines each for people, one row each in a pipe. */
export async function printProblems(context: Context, problems: readonly Problem[]): Promise<void> {
  if (!context.isTerminal) {
    await createTable<Problem>(context, problemColumns).write(problems);
    return;
  }
  for (const problem of problems) {
    const { kind, tenant, store, object_key: key, first_day: first, last_day: last } = problem;
    const where = [key ?? tenant, store, first === null ? null : formatDays(first, last)];
    const head = `✗ ${kind}  ${where.filter((part) => part !== null).join('  ')}`;
    const red = styled(context.io, context.io.stdout, 'red', printable(head));
    await context.out.write(`${red}\n  ${printable(problem.message)}\n`);
  }
}

const problemColumns = (
  ['kind', 'tenant', 'object_key', 'store', 'first_day', 'last_day', 'message'] as const
).map((name) => ({ title: name, value: (problem: Problem) => problem[name] }));

/**
 * Prints `✓ 12 objects (1.2 GB) read back, 3,000,000 records: objects, catalogue and counters agree · 3.2 s`.
 *
 * Throws `verify_failed` when they do not agree.
 */
export function assertAgrees(context: Context, verification: Verification): void {
  const { state, error, problem_count: count, problems, segments_done: done } = verification;
  if (state === 'failed') {
    throw new AppError('verify_failed', {
      detail: `The verification could not be done: ${error ?? 'no reason is known'}`,
    });
  }
  if (state !== 'completed') return;
  if (count > 0) {
    const listed =
      problems.length < count ? ` The first ${formatCount(problems.length)} are told.` : '';
    throw new AppError('verify_failed', {
      detail: `${numberOf(count, 'difference')} found.${listed} Each says what to do; nothing was changed.`,
    });
  }
  const ms = workedMillis(verification);
  const read = `${numberOf(done, 'object')} (${formatBytes(verification.bytes_done)}) read back, ${numberOf(verification.records_done, 'record')}`;
  context.note(
    `✓ ${read}: ${verification.sample_percent === null ? 'objects, catalogue and counters' : 'segments and counters of the sample'} agree${ms === null ? '' : ` · ${formatDuration(ms)}`}`,
  );
}
