import type { Overview } from '../../checks/contract.ts';
import { wellText } from '../../checks/values.ts';
import { formatCount, numberOf } from '../../kernel/values.ts';
import { ApiError } from '../api-error.ts';
import type { Client } from '../client.ts';
import type { Context } from '../context.ts';
import { formatBytes, formatRelative, formatShare, formatTrouble } from '../format.ts';
import { picker } from '../output.ts';
import { parseAnswer } from '../parse-answer.ts';
import { isUnreachable } from '../retry.ts';
import { printable } from '../table.ts';
import { command, jsonOption } from '../verb.ts';

export const status = command({
  description:
    'Says what is wrong, what there is, and how it went lately: as much of it as the token may see. With --watch it says so again every 15 seconds, until Ctrl-C.',
  examples: ['svcctl status', 'svcctl status --watch', 'svcctl status --json troubles'],
  options: [['--watch', 'say it again every 15 seconds'], jsonOption],
  answers: 'GET /stats/overview',
  async act(context, { watch, json }) {
    const pick = picker(json);
    const client = await context.connect();
    for (;;) {
      const text = await read(context, client, watch === true);
      if (text !== null) {
        if (json !== undefined) await context.out.write(`${pick(text)}\n`);
        else {
          if (watch && context.isTerminal) await context.out.write(clearScreen);
          await print(context, parseAnswer(text) as Overview);
          if (watch && !context.isTerminal) await context.out.write('\n');
        }
      }
      if (!watch) return;
      await context.io.sleep(watchMillis, context.io.signal);
    }
  },
});

const watchMillis = 15_000;
/** Moves the cursor to the top left corner and clears what is below it. */
const clearScreen = '\u001b[H\u001b[J';

/** The answer; null when there is none for now and somebody watches, who is told so. */
async function read(context: Context, client: Client, isWatched: boolean): Promise<string | null> {
  try {
    return await client.text('GET /stats/overview', {});
  } catch (error) {
    if (!isWatched || !mayPass(error)) throw error;
    context.note(`${(error as Error).message} Tried again in ${watchMillis / 1000} s.`);
    return null;
  }
}

/** Whether the next try may succeed: nobody answered, or the service could not. */
function mayPass(error: unknown): boolean {
  if (error instanceof ApiError) return error.status === 429 || error.status >= 500;
  return isUnreachable(error);
}

type Line = { name: string; text: string };

/** Prints each line whole, however narrow the terminal is: what is wrong must not be cut. */
async function print(context: Context, overview: Overview): Promise<void> {
  const lines = linesOf(overview, context.io.now());
  const width = Math.max(...lines.map(({ name }) => name.length)) + 2;
  const texts = lines.map(
    ({ name, text }) =>
      `${context.isTerminal ? name.padEnd(width) : `${name}\t`}${printable(text)}\n`,
  );
  await context.out.write(texts.join(''));
}

/** The overview in lines, as far as the token may see it. */
export function linesOf(overview: Overview, nowMillis: number): Line[] {
  const { troubles, records, retention, webhooks, work } = overview;
  const all = troubles.length === 0 ? [wellText(overview)] : troubles.map(formatTrouble);
  return [
    ...all.map((text) => ({ name: 'STATUS', text })),
    ...(records === null ? [] : recordLines(records)),
    ...(webhooks === null ? [] : webhookLines(webhooks, nowMillis)),
    ...(retention === null
      ? []
      : [{ name: 'LAST VERIFICATION', text: verificationText(retention, nowMillis) }]),
    ...work.map((each) => ({ name: each.kind.toUpperCase(), text: workText(each) })),
  ];
}

function recordLines(records: NonNullable<Overview['records']>): Line[] {
  const { count, bytes, hot_count: hot, tenants, today, hours } = records;
  const share = count === 0 ? '' : ` · ${formatShare(hot / count)} hot`;
  const change = changeText(today);
  return [
    {
      name: 'RECORDS',
      text: `${formatCount(count)}${share} · ${formatBytes(bytes)} of ${numberOf(tenants, 'tenant')} · svcctl records ls`,
    },
    {
      name: 'TODAY',
      text: `${formatCount(today.count)} ${bars(hours.count.slice(-24))}${change} · svcctl records show --tenant TENANT --order newest`,
    },
  ];
}

/** How today compares with the same day a week ago: ` · +3 % on a week ago`. */
function changeText({
  count,
  week_ago: before,
}: NonNullable<Overview['records']>['today']): string {
  if (before === null) return '';
  if (before === 0) return count === 0 ? '' : ' · none a week ago';
  const percent = Math.round((100 * (count - before)) / before);
  const change =
    percent === 0 ? 'as much as' : `${percent > 0 ? '+' : '−'}${Math.abs(percent)} % on`;
  return ` · ${change} a week ago`;
}

function webhookLines(webhooks: NonNullable<Overview['webhooks']>, nowMillis: number): Line[] {
  const { hours, abandoned, pending, oldest_failure_at: oldest, endpoints } = webhooks;
  const day = {
    delivered: hours.delivered.slice(-24),
    failed: hours.failed.slice(-24),
    abandoned: hours.abandoned.slice(-24),
  };
  const delivered = sum(day.delivered);
  const tries = delivered + sum(day.failed) + sum(day.abandoned);
  const since = oldest === null ? '' : ` · oldest ${formatRelative(oldest, nowMillis)}`;
  const deliveries =
    tries === 0
      ? 'none in 24 h'
      : `${formatCount(delivered)} in 24 h ${bars(day.delivered)} · ${formatShare(delivered / tries)} of attempts`;
  return [
    { name: 'DELIVERIES', text: `${deliveries} · svcctl deliveries ls` },
    {
      name: 'DEAD LETTERS',
      text:
        abandoned + pending === 0
          ? 'none'
          : `${formatCount(abandoned)} abandoned · ${formatCount(pending)} pending${since} · svcctl dlq groups`,
    },
    ...endpoints.map(({ id, health, tenant, url, backlog, disabled_by: by }) => ({
      name: 'ENDPOINT',
      text: `${health}${by === null ? '' : ` by ${by}`} · ${tenant} ${url} · ${formatCount(backlog.count)}${backlog.is_exact ? '' : '+'} wait · svcctl endpoints show ${id}`,
    })),
  ];
}

function verificationText(
  { verification }: NonNullable<Overview['retention']>,
  nowMillis: number,
): string {
  if (verification === null) return 'none yet · svcctl retention verify';
  const {
    id,
    ok,
    problem_count: problems,
    segments_total: segments,
    finished_at: at,
  } = verification;
  const outcome =
    ok === null
      ? 'not finished'
      : ok
        ? `equal · ${numberOf(segments ?? 0, 'segment')}`
        : numberOf(problems, 'difference');
  return `${outcome} · ${formatRelative(at, nowMillis)} · svcctl retention verify ${id}`;
}

function workText({ id, state, tenant, done, total }: Overview['work'][number]): string {
  const far = total === null || total === 0 ? '' : ` ${formatShare(Math.min(1, done / total))}`;
  return `${state}${far} · ${tenant ?? 'all tenants'} · svcctl jobs show ${id}`;
}

const steps = '▁▂▃▄▅▆▇█';

/** Numbers as a line of bars; nothing is the lowest of them. */
function bars(counts: readonly number[]): string {
  const most = Math.max(1, ...counts);
  return counts.map((count) => steps[Math.ceil((count * (steps.length - 1)) / most)]).join('');
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
