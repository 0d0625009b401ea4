import type { Command } from 'commander';
import { indentJson, membersOf } from '../../kernel/json-slices.ts';
import type { DeadLetterStatus } from '../../webhooks/values.ts';
import type { RouteAnswer } from '../client.ts';
import { confirm } from '../confirm.ts';
import type { Context } from '../context.ts';
import {
  formatCount,
  formatDuration,
  formatInstant,
  formatNumberOf,
  formatRelative,
} from '../format.ts';
import { wholeNumber, withExamples } from '../help.ts';
import { styled } from '../io.ts';
import { createRowPrinter, type JsonOption, jsonFlags, jsonHelp, picker } from '../output.ts';
import { parsePage, printList } from '../pages.ts';
import { parseAnswer } from '../parse-answer.ts';
import { type Column, fitText, printable } from '../table.ts';
import {
  addClass,
  addReach,
  addStatus,
  type DeadLetterOptions,
  deadLetterFilter,
  filterWords,
  requiredStatus,
} from '../webhooks/dead-letter-options.ts';
import { deadLetterColumns, deliveryFields, targetColumn } from '../webhooks/deliveries.ts';
import { heading, nameValueLines, printDetails } from '../webhooks/details.ts';
import { assertAllDone, tryEachId } from '../webhooks/retry-all.ts';

type LsOptions = DeadLetterOptions & { q?: string; limit?: number; json?: JsonOption };

const rowsOnTerminal = 200;

export function addDlqLs(dlq: Command, context: Context): void {
  const command = dlq
    .command('ls')
    .summary('list the dead-letter queue')
    .description(
      'Lists the deliveries that failed, newest failure first: pending ones are tried again by themselves, abandoned ones wait for a retry.',
    );
  addStatus(command, 'pending or abandoned (required)');
  addClass(addReach(command))
    .option('--q <text>', 'part of the target or the error, or the beginning of an id or key')
    .option(
      '--limit <rows>',
      `rows, at most (default: ${rowsOnTerminal} on a terminal, else all)`,
      wholeNumber(1),
    )
    .option(jsonFlags, jsonHelp)
    .action((options: LsOptions) => listDeadLetters(context, options));
  withExamples(command, [
    'svcctl dlq ls --status pending',
    'svcctl dlq ls --status abandoned --tenant TX --class timeout_connect',
    'svcctl dlq ls --status abandoned --json id,target,error',
  ]);
}

async function listDeadLetters(context: Context, options: LsOptions): Promise<void> {
  const { json, q } = options;
  const status = requiredStatus(options.status);
  const columns = deadLetterColumns(status, context.io.now());
  const output = { columns, fields: deliveryFields, json };
  await printList(context, output, {
    route: 'GET /webhook/dlq',
    query: { ...deadLetterFilter(options), status, q },
    most: options.limit ?? (context.isTerminal ? rowsOnTerminal : Infinity),
    tell: (listed) =>
      listed.printed === 0 ? emptyLine(status, options) : countLine(status, listed, options),
  });
}

/** The line below the table: `2 of 2 abandoned · retry one: svcctl dlq retry dlv_… · retry all: …`. */
function countLine(
  status: DeadLetterStatus,
  { printed, total, hasMore }: { printed: number; total: number | null; hasMore: boolean },
  options: LsOptions,
): string {
  const count =
    total === null ? formatCount(printed) : `${formatCount(printed)} of ${formatCount(total)}`;
  const parts = [`${count} ${status}`];
  if (hasMore) parts.push('more: --limit');
  parts.push('retry one: svcctl dlq retry dlv_…');
  // A bulk retry has no filter --q. It is not offered here, because it would retry more than is shown.
  if (options.q === undefined)
    parts.push(`retry all: svcctl dlq retry --all${filterWords(options)}`);
  return parts.join(' · ');
}

function emptyLine(
  status: DeadLetterStatus,
  { tenant, endpoint, q, class: failure }: LsOptions,
): string {
  const isFiltered = [tenant, endpoint, q, failure].some((value) => value !== undefined);
  return isFiltered ? `None ${status} that match.` : `DLQ is clean: none ${status}.`;
}

type Detail = RouteAnswer<'GET /webhook/dlq/:id'>;
type Attempt = Detail['attempt_log'][number];

const showFields = [
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
      'Shows one delivery in any status: why it waits, what it sends, and each attempt with the first bytes of its answer.',
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
  picker(json, showFields);
  const client = await context.connect();
  const text = await client.text('GET /webhook/dlq/:id', { params: { id } });
  await printDetails(context, text, {
    json,
    fields: showFields,
    lines: () => linesOf(context, text),
  });
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

/** The lines about one attempt: when it was, how long it took, what came of it, and how the answer began. */
function attemptLines(context: Context, attempt: Attempt): string[] {
  const { number, started_at, duration_ms, status, failure_class, error, response } = attempt;
  // The message of a refused status begins with that status.
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

type Group = RouteAnswer<'GET /webhook/dlq/groups'>['data'][number];

const groupsFields = [
  'endpoint_id',
  'tenant',
  'target',
  'failure_class',
  'count',
  'first_seen',
  'last_seen',
  'error',
] as const satisfies readonly (keyof Group)[];

type GroupsOptions = DeadLetterOptions & { limit?: number; json?: JsonOption };

export function addDlqGroups(dlq: Command, context: Context): void {
  const command = dlq
    .command('groups')
    .summary('sum up the dead-letter queue by endpoint and failure class')
    .description(
      'Sums up the dead-letter queue by endpoint and failure class, largest group first.',
    );
  addStatus(command, 'pending or abandoned (required)');
  addReach(command)
    .option('--limit <groups>', 'groups, at most (default: 100)', wholeNumber(1))
    .option(jsonFlags, jsonHelp)
    .action((options: GroupsOptions) => listGroups(context, options));
  withExamples(command, [
    'svcctl dlq groups --status abandoned',
    'svcctl dlq groups --status pending --tenant TX --json endpoint_id,failure_class,count',
  ]);
}

async function listGroups(context: Context, options: GroupsOptions): Promise<void> {
  const { json, tenant, endpoint, limit } = options;
  const status = requiredStatus(options.status);
  const columns = columnsOf(context.io.now());
  const printer = createRowPrinter<Group>(context, { columns, fields: groupsFields, json });
  const client = await context.connect();
  const query = { status, tenant, endpoint_id: endpoint, limit };
  const { rows } = parsePage(await client.text('GET /webhook/dlq/groups', { query }));
  await printer.write(rows);
  await printer.end();
  if (json !== undefined || !context.isTerminal) return;
  context.hint(
    rows.length === 0
      ? `None ${status}.`
      : `${formatNumberOf(rows.length, 'group')} · retry one: svcctl dlq retry --all --status ${status} --endpoint ep_… --class CLASS`,
  );
}

function columnsOf(nowMillis: number): readonly Column<Group>[] {
  const time = (title: string, value: (group: Group) => string): Column<Group> => ({
    title,
    value,
    shown: (group) => formatRelative(value(group), nowMillis),
  });
  return [
    {
      title: 'ROWS',
      align: 'right',
      value: (group) => group.count,
      shown: (group) => formatCount(group.count),
    },
    { title: 'CLASS', value: (group) => group.failure_class },
    { title: 'TENANT', isElastic: true, value: (group) => group.tenant },
    { title: 'ENDPOINT', value: (group) => group.endpoint_id },
    targetColumn('TARGET', (group) => group.target),
    time('FIRST', (group) => group.first_seen),
    time('LAST', (group) => group.last_seen),
    { title: 'ERROR', isElastic: true, givesWay: 1, value: (group) => group.error },
  ];
}

export function addDlqPurge(dlq: Command, context: Context): void {
  const command = dlq
    .command('purge')
    .summary('discard failed deliveries for good')
    .description(
      'Discards deliveries that are queued, pending or abandoned: they are never sent. The history keeps them as discarded, without the answers of receivers, and without the payload unless another delivery needs it.',
    )
    .argument('<id...>', 'ids, as svcctl dlq ls prints them')
    .option('--yes', 'do not ask')
    .action((ids: string[], options: { yes?: true }) => purge(context, ids, options));
  withExamples(command, [
    'svcctl dlq purge dlv_070t1x2y3Kq2LmN0pAbCdE',
    'svcctl dlq purge dlv_070t1x2y3Kq2LmN0pAbCdE dlv_070t1x2y3Kq2LmN0pAbCdF --yes',
  ]);
}

async function purge(
  context: Context,
  ids: readonly string[],
  { yes }: { yes?: true },
): Promise<void> {
  const [first = ''] = ids;
  const what = ids.length === 1 ? first : formatNumberOf(ids.length, 'delivery', 'deliveries');
  const client = await context.connect();
  await confirm(context, yes, {
    question: `Discard ${what}? It cannot be undone.`,
    act: 'Discard',
    refused: 'Nothing was discarded.',
  });
  const refused = await tryEachId(context, ids, async (id) => {
    await client.json('DELETE /webhook/dlq/:id', { params: { id } });
    context.note(`Discarded ${id}.`);
  });
  assertAllDone(refused);
}
