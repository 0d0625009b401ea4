import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { formatDuration, formatInstant, formatRelative } from '../../format.ts';
import { withExamples } from '../../help.ts';
import { indentJson, membersOf } from '../../json-slices.ts';
import { type JsonOption, jsonFlags, jsonHelp, picker } from '../../output.ts';
import { parseAnswer } from '../../parse-answer.ts';
import type { RouteAnswer } from '../../routes.ts';
import { styled } from '../../style.ts';
import { fitText, printable } from '../../text-width.ts';
import { deliveryFields } from '../../webhooks/deliveries.ts';
import { heading, nameValueLines, printDetails } from '../../webhooks/details.ts';

type Detail = RouteAnswer<'GET /webhook/dlq/:id'>;
type Attempt = Detail['attempt_log'][number];

const fields = [
  ...deliveryFields,
  'payload',
  'body',
  'attempt_log',
  'waiting',
] as const satisfies readonly (keyof Detail)[];

export function addDlqShow(dlq: Command, context: Context): void {
  const command = dlq
    .command('show')
    .summary('show one delivery, its payload and its attempts')
    .description(
      'Shows one delivery in any status: why it waits, what it sends, and each attempt with the first bytes of\nits answer.',
    )
    .argument('<id>', 'the delivery’s id, as svcctl dlq ls prints it')
    .option(jsonFlags, jsonHelp)
    .action((id: string, options: { json?: JsonOption }) => show(context, id, options));
  withExamples(command, [
    'svcctl dlq show dlv_070t1x2y3Kq2LmN0pAbCdE',
    'svcctl dlq show dlv_070t1x2y3Kq2LmN0pAbCdE --json waiting,attempt_log',
  ]);
}

async function show(context: Context, id: string, { json }: { json?: JsonOption }): Promise<void> {
  picker(json, fields);
  const client = await context.connect();
  const text = await client.text('GET /webhook/dlq/:id', { params: { id } });
  await printDetails(context, text, { json, fields, lines: () => linesOf(context, text) });
  if (json !== undefined || !context.isTerminal) return;
  const { status } = parseAnswer(text) as Detail;
  if (status === 'pending' || status === 'abandoned') {
    context.hint(`retry: svcctl dlq retry ${id} · discard: svcctl dlq purge ${id}`);
  }
}

function linesOf(context: Context, text: string): string[] {
  const detail = parseAnswer(text) as Detail;
  const now = context.io.now();
  const payload = indentJson(membersOf(text).get('payload') ?? 'null');
  const at = (time: string | null) =>
    time === null ? null : `${formatInstant(time)} UTC, ${formatRelative(time, now)}`;
  return [
    ...nameValueLines(context, [
      ['id', detail.id],
      ['status', detail.status],
      ...(detail.waiting === null ? [] : [['waiting', detail.waiting.text] as const]),
      ['key', detail.idempotency_key],
      ['target', detail.target],
      ['event', `${detail.event_type} of ${detail.tenant}, incident ${detail.incident_id}`],
      ['endpoint', detail.endpoint_id],
      ['attempts', `${detail.attempts} of ${detail.max_attempts}`],
      ['last status', detail.last_status === null ? null : String(detail.last_status)],
      ['error', detail.error],
      ['created', at(detail.created_at)],
      ['next retry', at(detail.next_retry)],
      ['finished', at(detail.finished_at)],
    ]),
    '',
    heading(context, 'PAYLOAD'),
    ...payload.split('\n').map(printable),
    '',
    heading(context, 'ATTEMPTS'),
    ...(detail.attempt_log.length === 0 ? ['none yet'] : []),
    ...detail.attempt_log.flatMap((attempt) => attemptLines(context, attempt)),
  ];
}

/** When, how long, what came of it; below, how the answer began. */
function attemptLines(context: Context, attempt: Attempt): string[] {
  const { number, started_at, duration_ms, status, failure_class, error, response } = attempt;
  // The message of a status begins with it.
  const outcome =
    failure_class === null
      ? `${status} delivered`
      : `${error ?? 'failed'} (${failure_class.replace('_', ' ')})`;
  const took = duration_ms < 1000 ? `${duration_ms} ms` : formatDuration(duration_ms);
  const line = `${String(number).padStart(3)}  ${formatInstant(started_at)}  ${took.padStart(7)}  ${outcome}`;
  const width = context.io.stdout.columns ?? 80;
  const start = printable(response ?? '').trim();
  if (start === '') return [printable(line)];
  const shown = `     ${fitText(start, Math.max(20, width - 5))}`;
  return [printable(line), styled(context.io, context.io.stdout, 'dim', shown)];
}
