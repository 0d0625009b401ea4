import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { AppError } from '../../kernel/errors.ts';
import { indentJson, membersOf } from '../../kernel/json-slices.ts';
import { deliveryStatuses } from '../../webhooks/values.ts';
import type { RouteAnswer } from '../client.ts';
import type { Context } from '../context.ts';
import { formatBytes, formatInstant, formatNumberOf } from '../format.ts';
import { required, wholeNumber, withExamples } from '../help.ts';
import { type JsonOption, jsonFlags, jsonHelp, picker } from '../output.ts';
import { printList } from '../pages.ts';
import { parseAnswer } from '../parse-answer.ts';
import { withRetries } from '../retry.ts';
import { checkDays } from '../slice.ts';
import { type Column, printable } from '../table.ts';
import {
  heading,
  incidentRows,
  nameValueLines,
  printDetails,
  remainRows,
} from '../webhooks/details.ts';

type Incident = RouteAnswer<'GET /incidents'>['data'][number];

const listFields = [
  'id',
  'tenant',
  'store',
  'type',
  'occurred_at',
  'created_at',
  'delivery_counts',
] as const satisfies readonly (keyof Incident)[];

type LsOptions = {
  tenant?: string;
  store?: string;
  type?: string;
  from?: string;
  to?: string;
  failed?: true;
  limit?: number;
  json?: JsonOption;
};

const rowsByDefault = 100;

export function addIncidentsLs(incidents: Command, context: Context): void {
  const command = incidents
    .command('ls')
    .summary('list the incidents')
    .description('Lists the incidents that were reported, newest first.')
    .option('--tenant <tenant>', 'only of this tenant')
    .option('--store <store>', 'only of this store')
    .option('--type <type>', 'only of this type, or with a dot at its end of all that begin so')
    .option('--from <date>', 'only reported from this day on, as 2026-03-05 (UTC)')
    .option('--to <date>', 'up to this day, inclusive')
    .option('--failed', 'only those of which a delivery is in the dead-letter queue')
    .option('--limit <rows>', `rows, at most (default: ${rowsByDefault})`, wholeNumber(1))
    .option(jsonFlags, jsonHelp)
    .action((options: LsOptions) => listIncidents(context, options));
  withExamples(command, [
    'svcctl incidents ls --tenant TX',
    'svcctl incidents ls --failed --type incident.',
    'svcctl incidents ls --from 2026-03-01 --to 2026-03-05 --json id,type,delivery_counts',
  ]);
}

async function listIncidents(context: Context, options: LsOptions): Promise<void> {
  const { json, limit = rowsByDefault, failed, ...filters } = options;
  checkDays(filters);
  const output = { columns, fields: listFields, json };
  await printList(context, output, {
    route: 'GET /incidents',
    query: { ...filters, deliveries: failed && 'failed', include: 'delivery_counts' },
    most: limit,
    tell: ({ printed, hasMore }) =>
      printed === 0
        ? emptyText({ ...filters, failed })
        : `${formatNumberOf(printed, 'incident')}${hasMore ? ' · there are older ones: --limit' : ''}`,
  });
}

function emptyText(filters: object): string {
  return Object.values(filters).every((value) => value === undefined)
    ? 'No incidents. Report one: svcctl incidents send --tenant TENANT --type incident.created'
    : 'No incidents match.';
}

const columns: readonly Column<Incident>[] = [
  { title: 'ID', value: (row) => row.id },
  {
    title: 'OCCURRED AT (UTC)',
    value: (row) => row.occurred_at,
    shown: (row) => formatInstant(row.occurred_at),
  },
  { title: 'TYPE', isElastic: true, value: (row) => row.type },
  { title: 'TENANT', isElastic: true, value: (row) => row.tenant },
  { title: 'STORE', isElastic: true, value: (row) => row.store },
  { title: 'DELIVERIES', value: (row) => countsText(row.delivery_counts) },
];

/** The deliveries of an incident by their status: `1 abandoned, 2 delivered`. */
function countsText(counts: Incident['delivery_counts']): string | null {
  if (counts === undefined) return null;
  const texts = deliveryStatuses
    .filter((status) => counts[status] > 0)
    .map((status) => `${counts[status]} ${status}`);
  return texts.length === 0 ? 'none' : texts.join(', ');
}

type IncidentDetail = RouteAnswer<'GET /incidents/:id'>;

const showFields = [
  'id',
  'tenant',
  'store',
  'type',
  'occurred_at',
  'created_at',
  'data',
  'body',
  'size_bytes',
  'erased_at',
  'deliveries',
] as const satisfies readonly (keyof IncidentDetail)[];

export function addIncidentsShow(incidents: Command, context: Context): void {
  const command = incidents
    .command('show')
    .summary('show one incident and its deliveries')
    .description('Shows one incident, its data, and what became of its deliveries.')
    .argument('<id>', 'the incident’s id')
    .option(jsonFlags, jsonHelp)
    .action((id: string, options: { json?: JsonOption }) => show(context, id, options));
  withExamples(command, [
    'svcctl incidents show inc_4fTq9Zx7Kq2LmN0p',
    'svcctl incidents show inc_4fTq9Zx7Kq2LmN0p --json deliveries',
  ]);
}

async function show(context: Context, id: string, { json }: { json?: JsonOption }): Promise<void> {
  picker(json, showFields);
  const client = await context.connect();
  const text = await client.text('GET /incidents/:id', { params: { id } });
  await printDetails(context, text, {
    json,
    fields: showFields,
    lines: () => linesOf(context, text),
  });
}

function linesOf(context: Context, text: string): string[] {
  const incident = parseAnswer(text) as IncidentDetail;
  const data = indentJson(membersOf(text).get('data') ?? 'null');
  return [
    ...nameValueLines(context, [
      ['id', incident.id],
      ['type', incident.type],
      ['tenant', incident.tenant],
      ['store', incident.store],
      ['occurred', `${formatInstant(incident.occurred_at)} UTC`],
      ['reported', `${formatInstant(incident.created_at)} UTC`],
      ['size', formatBytes(incident.size_bytes)],
      ...(incident.erased_at === null
        ? []
        : [['erased', `${formatInstant(incident.erased_at)} UTC`] as const]),
    ]),
    '',
    heading(context, 'DATA'),
    ...data.split('\n').map(printable),
    '',
    heading(context, 'DELIVERIES'),
    ...(incident.deliveries.length === 0 ? ['none: no endpoint took it'] : []),
    ...incident.deliveries.map(({ id, status, endpoint_id }) =>
      printable(`${id}  ${status.padEnd(9)}  ${endpoint_id}`),
    ),
  ];
}

type EraseOptions = { yes?: true; json?: JsonOption };
type Receipt = RouteAnswer<'POST /incidents/:id/erase'>;
const receiptFields = [
  'id',
  'tenant',
  'erased_at',
  'erased',
  'remains',
] as const satisfies readonly (keyof Receipt)[];

export function addIncidentsErase(incidents: Command, context: Context): void {
  const command = incidents
    .command('erase')
    .summary('erase what an incident tells, for good')
    .description(
      'Erases the payload of an incident, its idempotency key and the stored answers of receivers, and prints the receipt. Times, sizes and states stay. What waits to be sent is discarded, and nothing can be retried.',
    )
    .argument('<id>', 'the incident’s id')
    .option('--yes', 'do not ask')
    .option(jsonFlags, jsonHelp)
    .action((id: string, options: EraseOptions) => erase(context, id, options));
  withExamples(command, [
    'svcctl incidents erase inc_4fTq9Zx7Kq2LmN0p',
    'svcctl incidents erase inc_4fTq9Zx7Kq2LmN0p --yes --json > receipt.json',
  ]);
}

async function erase(context: Context, id: string, { yes, json }: EraseOptions): Promise<void> {
  picker(json, receiptFields);
  const { confirm } = await import('../confirm.ts');
  const client = await context.connect();
  await confirm(context, yes, {
    question: `Erase what ${id} tells, for good?`,
    act: 'Erase',
    refused: 'Nothing was erased.',
  });
  const text = await client.text('POST /incidents/:id/erase', { params: { id } });
  const receipt = parseAnswer(text) as Receipt;
  await printDetails(context, text, {
    json,
    fields: receiptFields,
    lines: () =>
      nameValueLines(context, [
        ['erased', receipt.id],
        ['tenant', receipt.tenant],
        ['payload gone since', `${formatInstant(receipt.erased_at)} UTC`],
        ...incidentRows(receipt.erased),
        ...remainRows(receipt.remains),
      ]),
  });
}

type SendOptions = {
  tenant?: string;
  type?: string;
  data?: string;
  store?: string;
  occurredAt?: string;
  key?: string;
  json?: true;
};

/**
 * The service takes at most 256 KiB by default. This limit only keeps a file that was named by mistake out of memory.
 */
const maxDataBytes = 32 * 1024 * 1024;

export function addIncidentsSend(incidents: Command, context: Context): void {
  const command = incidents
    .command('send')
    .summary('report an incident to the endpoints of its tenant')
    .description(
      'Reports an incident, which is delivered to the endpoints of its tenant that want its type. Prints its id.',
    )
    .option('--tenant <tenant>', 'the tenant (required)')
    .option('--type <type>', 'a dotted name such as incident.created (required)')
    .option('--data <json>', 'JSON, @file, or - for stdin (default: {})')
    .option('--store <store>', 'the store')
    .option('--occurred-at <time>', 'when it happened, as 2026-03-05T14:07:09Z (default: now)')
    .option(
      '--key <key>',
      'idempotency key: the same gives no second delivery, for 30 days at least',
    )
    .option('--json', 'print the whole answer as JSON')
    .action((options: SendOptions) => send(context, options));
  withExamples(command, [
    `svcctl incidents send --tenant TX --type incident.created --data '{"score":0.97}'`,
    'svcctl incidents send --tenant TX --type incident.resolved --data @incident.json --key case-812',
    'jq -n ".score=1" | svcctl incidents send --tenant TX --type incident.updated --data -',
  ]);
}

async function send(context: Context, options: SendOptions): Promise<void> {
  const data = await readData(context, options.data ?? '{}');
  const body = {
    tenant: required(options.tenant, '--tenant'),
    type: required(options.type, '--type'),
    data: data.value,
    store: options.store,
    occurred_at: options.occurredAt,
    idempotency_key: options.key,
  };
  const client = await context.connect();
  // The data is sent as the text that was given, so that numbers keep their digits.
  const { data: _value, ...rest } = body;
  const bodyText = `${JSON.stringify(rest).slice(0, -1)},"data":${data.text}}`;
  const post = () => client.json('POST /incidents', { body }, bodyText);
  // Without an idempotency key a second try could report the incident twice.
  const answer = await (options.key === undefined ? post() : withRetries(context.io, post));
  await context.out.write(`${options.json ? JSON.stringify(answer) : answer.id}\n`);
  const count = answer.deliveries?.length ?? 0;
  context.note(
    count === 0
      ? `Accepted. No endpoint of ${body.tenant} wants ${body.type}: nothing to deliver.`
      : `Accepted, with ${formatNumberOf(count, 'delivery', 'deliveries')}. Look: svcctl incidents show ${answer.id}`,
  );
}

/** The data of an incident, parsed and as the text that was given. Throws `usage_invalid` unless it is JSON. */
async function readData(context: Context, data: string): Promise<{ value: unknown; text: string }> {
  const text = await readText(context, data);
  try {
    return { value: JSON.parse(text), text };
  } catch (cause) {
    const hint = data.startsWith('@') || data === '-' ? '' : ' A file is named as @file.';
    throw new AppError('usage_invalid', {
      detail: `--data: it is not JSON (${(cause as Error).message}).${hint}`,
    });
  }
}

/** The value of --data: `@file` reads a file, `-` reads stdin, anything else is the text itself. */
async function readText(context: Context, data: string): Promise<string> {
  if (data.startsWith('@')) {
    const path = resolve(context.io.cwd, data.slice(1));
    try {
      return await readFile(path, 'utf8');
    } catch (cause) {
      const detail = `${path} cannot be read: ${(cause as Error).message}.`;
      throw new AppError('file_unreadable', { detail, cause });
    }
  }
  if (data !== '-') return data;
  const { readStdin } = await import('../confirm.ts');
  return readStdin(context, maxDataBytes);
}
