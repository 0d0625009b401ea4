import { AppError } from '../../kernel/errors.ts';
import { formatCount, numberOf } from '../../kernel/values.ts';
import type { Client, Route } from '../client.ts';
import { confirm } from '../confirm.ts';
import type { Context } from '../context.ts';
import { followJob } from '../follow-job.ts';
import { printJson } from '../output.ts';
import { type Column, createTable, noteTable } from '../table.ts';

type Options = { dryRun?: true; yes?: true; wait: boolean; json?: true };
type Rows = { rows_done: number; rows_skipped: number; rows_total: number | null };
type Job = Rows & { id: string; state: string };

/** A job on many rows that tells first what it would do, and is asked about: a bulk retry or purge, or a replay. */
type Previewed<P, J, Line> = {
  readonly name: string;
  /** Has the service tell what it would do, or begin. */
  ask(isDry: boolean): Promise<P | J>;
  columns: readonly Column<Line>[];
  lines(preview: P): readonly Line[];
  /** Says in words what the lines are. */
  tell(preview: P, isDry: boolean): void;
  /** Says that there is nothing to do. */
  tellNothing(preview: P): void;
  question(preview: P): string;
  /** What --yes does without asking. */
  act: string;
  refused: string;
  /** What answers the job by its id. */
  route: Route & `GET ${string}/:id`;
  /** What its rows are. */
  of: readonly [one: string, many?: string];
  waits(job: J): readonly (string | null)[];
  /** How to look at it, and how to stop it. */
  look(job: J): string;
  tellEnd(job: J): void;
};

/** Shows what a job would do, asks, and follows the job; --dry-run and --no-wait leave out what comes after. */
export async function doPreviewed<
  P extends { count: number; counted_until?: string | null },
  J extends Job,
  Line,
>(
  context: Context,
  client: Client,
  { dryRun, yes, wait, json }: Options,
  job: Previewed<P, J, Line>,
): Promise<void> {
  const { act, refused, columns, of } = job;
  const preview = await job.ask(true);
  if ('id' in preview) throw unexpected();
  const isNothing = preview.count === 0 && preview.counted_until == null;
  if (dryRun || isNothing) {
    if (json) await printJson(context, preview);
    else if (dryRun) await createTable(context, columns).write(job.lines(preview));
    if (!dryRun) job.tellNothing(preview);
    else if (!json) job.tell(preview, true);
    return;
  }
  if (!yes) {
    noteTable(context, columns, job.lines(preview));
    job.tell(preview, false);
  }
  await confirm(context, yes, { question: job.question(preview), act, refused });
  const made = await job.ask(false);
  if (!('id' in made)) throw unexpected();
  if (!wait) {
    if (json) await printJson(context, made);
    else await context.out.write(`${made.id}\n`);
    context.hint(`It is at work. ${job.look(made)}`);
    return;
  }
  const ended = await followJob(context, client, {
    route: job.route,
    started: made,
    role: 'api',
    waits: (now) => job.waits(now),
    far: (now) => ({ done: now.rows_done + now.rows_skipped, total: now.rows_total }),
    describe: (done, total) =>
      total === 0 ? numberOf(done, ...of) : `${formatCount(done)} of ${numberOf(total, ...of)}`,
    speed: (perSecond) => `${numberOf(perSecond, ...of)}/s`,
    goesOn: `The ${job.name} goes on without this command. ${job.look(made)}`,
  });
  if (json) await printJson(context, ended);
  job.tellEnd(ended);
}

function unexpected(): AppError {
  return new AppError('answer_unexpected', { detail: 'The answer is not what was asked for.' });
}
