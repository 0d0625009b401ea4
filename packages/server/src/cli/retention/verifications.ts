import { AppError } from '../../kernel/errors.ts';
import { formatCount, numberOf } from '../../kernel/values.ts';
import type { RouteAnswer } from '../client.ts';
import { columnsOf } from '../columns.ts';
import type { Context } from '../context.ts';
import { followJob, isAtWork, workedMillis } from '../follow-job.ts';
import { formatBytes, formatDuration } from '../format.ts';
import { usage } from '../help.ts';
import { styled } from '../io.ts';
import { printObject } from '../output.ts';
import { checkDate, daysText } from '../slice.ts';
import { createTable, printable } from '../table.ts';
import { jsonOption, tenantOption, verb } from '../verb.ts';

export type Verification = RouteAnswer<'GET /retention/verify/:id'>;
type Problem = Verification['problems'][number];

/** Starts a verification, or shows the one with this id, and follows it unless --no-wait was given. */
export const verify = verb({
  summary: 'check all cold data against the counters',
  description:
    'Reads every object whole and holds it against the catalogue, the catalogue against the objects, and the counters against both. Changes nothing. Ends with 1 when anything differs, and tells what.',
  argument: ['[id]', 'show one that was asked for before, instead of asking for another'],
  examples: [
    'svcctl retention verify',
    'svcctl retention verify --tenant TX --json ok,problems',
    'svcctl retention verify --since 2026-03-05',
    'svcctl retention verify --sample 5',
    'svcctl retention verify vrf_4fTq9Zx7Kq2LmN0p',
  ],
  options: [
    tenantOption,
    ['--since <date>', 'only what was not found right since this date, as 2026-03-05 (UTC)'],
    ['--sample <percent>', 'only so many percent of the objects and counters, as 5 or 0.1'],
    ['--no-wait', 'print the verification’s id and leave it at work'],
    jsonOption,
  ],
  answers: 'POST /retention/verify',
  async act(context, options, id) {
    const { json, tenant, since, sample, wait } = options;
    if (id !== undefined && [tenant, since, sample].some((option) => option !== undefined)) {
      throw usage('Give either an id or --tenant, --since and --sample.');
    }
    checkDate('--since', since);
    const body = { tenant, since, sample_percent: toPercent(sample) };
    const client = await context.connect();
    const started =
      id === undefined
        ? await client.json('POST /retention/verify', { body })
        : await client.json('GET /retention/verify/:id', { params: { id } });
    if (!wait && id === undefined) {
      if (json === undefined) await context.out.write(`${started.id}\n`);
      else await printObject(context, JSON.stringify(started), json);
      context.hint(`It is at work. Look: svcctl retention verify ${started.id}`);
      return;
    }
    const verification = wait
      ? await followJob(context, client, {
          route: 'GET /retention/verify/:id',
          started,
          role: 'retention',
          far: ({ bytes_done: done, bytes_total: total }) => ({ done, total }),
          describe: (done, total) => `${formatBytes(done)} of ${formatBytes(total)}`,
          goesOn: `The verification goes on without this command. Look: svcctl retention verify ${started.id}`,
        })
      : started;
    if (json !== undefined) await printObject(context, JSON.stringify(verification), json);
    else await printProblems(context, verification.problems);
    if (isAtWork(verification)) {
      const { id: own, state, waiting_for: reason } = verification;
      context.note(`${own} is ${state}${reason === null ? '.' : `: ${reason}`}`);
    }
    assertAgrees(context, verification);
  },
});

/** Throws `usage_invalid` unless the option is missing, or a number above 0 and up to 100. */
function toPercent(sample: string | undefined): number | undefined {
  if (sample === undefined) return undefined;
  const percent = /^\d+(\.\d+)?%?$/.test(sample) ? Number.parseFloat(sample) : 0;
  if (percent > 0 && percent <= 100) return percent;
  throw usage(`--sample: "${sample}" is not a percentage such as 5 or 0.1.`);
}

/** Prints the problems: two lines each for people, one row each in a pipe. */
async function printProblems(context: Context, problems: readonly Problem[]): Promise<void> {
  if (!context.isTerminal) {
    await createTable<Problem>(context, problemColumns).write(problems);
    return;
  }
  for (const problem of problems) {
    const { kind, tenant, store, object_key: key } = problem;
    const where = [key ?? tenant, store, problem.first_day === null ? null : daysText(problem)];
    const head = `✗ ${kind}  ${where.filter((part) => part !== null).join('  ')}`;
    const red = styled(context.io, context.io.stdout, 'red', printable(head));
    await context.out.write(`${red}\n  ${printable(problem.message)}\n`);
  }
}

const { word } = columnsOf<Problem>();
const problemColumns = (
  ['kind', 'tenant', 'object_key', 'store', 'first_day', 'last_day', 'message'] as const
).map((name) => word(name, name));

/**
 * Prints `✓ 12 objects (1.2 GB) read back, 3,000,000 records: objects, catalogue and counters agree · 3.2 s`.
 *
 * Throws `verify_failed` when they do not agree.
 */
function assertAgrees(context: Context, verification: Verification): void {
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
