import { randomUUID } from 'node:crypto';
import type { ReportedLines } from '../../contract.ts';
import { AppError } from '../../kernel/errors.ts';
import { formatCount, numberOf } from '../../kernel/values.ts';
import { deliveryStatuses } from '../../webhooks/values.ts';
import { incidentFilters } from '../../webhooks/view.ts';
import { call } from '../act.ts';
import { ApiError } from '../api-error.ts';
import type { RouteAnswer } from '../client.ts';
import { columnsOf } from '../columns.ts';
import { jsonLines, section, utc, whereAny } from '../details.ts';
import { formatBytes, shellQuote } from '../format.ts';
import { list, moreText } from '../list.ts';
import { printObject } from '../output.ts';
import { parseAnswer } from '../parse-answer.ts';
import { incidentFacts, remainFacts } from '../receipt.ts';
import { withRetries } from '../retry.ts';
import { fieldsSent } from '../sent-fields.ts';
import { createTable, printable } from '../table.ts';
import { openUpload, sendUpload } from '../upload.ts';
import { type Verbs, verb } from '../verb.ts';
import { readJson } from '../webhooks/read-json.ts';
import { noteRejected } from './records-ingest.ts';

type Incident = RouteAnswer<'GET /incidents'>['data'][number];

const { word, text, instant } = columnsOf<Incident>();

const ls = list('GET /incidents', {
  summary: 'list the incidents',
  description: 'Lists the incidents that were reported, newest first.',
  examples: [
    'svcctl incidents ls --tenant TX',
    'svcctl incidents ls --failed --type "incident.*"',
    'svcctl incidents ls --status abandoned --code 503 --text "gate 14"',
    'svcctl incidents ls --from 2026-03-01 --to 2026-03-05 --json id,type,delivery_counts',
  ],
  filters: incidentFilters,
  options: [['--failed', 'only those of which a delivery is in the dead-letter queue']],
  limit: { rows: 100 },
  query: ({ failed }: { failed?: true }) => ({
    deliveries: failed && 'failed',
    include: 'delivery_counts',
  }),
  columns: [
    word('ID', 'id'),
    instant('OCCURRED AT (UTC)', 'occurred_at'),
    text('TYPE', 'type'),
    text('TENANT', 'tenant'),
    text('STORE', 'store'),
    word('DELIVERIES', countsText),
  ],
  below({ printed, hasMore }, filters) {
    if (printed > 0) {
      return `${numberOf(printed, 'incident')}${hasMore ? ` · ${moreText}` : ''}`;
    }
    return Object.values(filters).every((value) => value === undefined)
      ? 'No incidents. Report one: svcctl incidents send --tenant TENANT --type incident.created'
      : 'No incidents match.';
  },
});

/** The deliveries of an incident by their status: `1 abandoned, 2 delivered`, and how many endpoints still miss it. */
function countsText({ delivery_counts: counts, held_back: held = [] }: Incident): string | null {
  if (counts === undefined) return null;
  const texts = deliveryStatuses
    .filter((status) => counts[status] > 0)
    .map((status) => `${counts[status]} ${status}`);
  if (held.length > 0) texts.push(`${held.length} held back`);
  return texts.length === 0 ? 'none' : texts.join(', ');
}

const show = call('GET /incidents/:id', {
  summary: 'show one incident and its deliveries',
  description: 'Shows one incident, its data, and what became of its deliveries.',
  argument: ['<id>', 'the incident’s id'],
  examples: [
    'svcctl incidents show inc_4fTq9Zx7Kq2LmN0p',
    'svcctl incidents show inc_4fTq9Zx7Kq2LmN0p --json deliveries',
  ],
  facts: (incident, { at }) => [
    ['id', incident.id],
    ['type', incident.type],
    ['tenant', incident.tenant],
    ['store', incident.store],
    ['occurred', at(incident.occurred_at)],
    ['reported', at(incident.created_at)],
    ['size', formatBytes(incident.size_bytes)],
    ...whereAny('erased', incident.erased_at && at(incident.erased_at)),
  ],
  more: ({ deliveries, filtered_out: filtered, held_back: held }, answer, context) => [
    ...section(context, 'DATA', jsonLines(answer, 'data')),
    ...section(
      context,
      'DELIVERIES',
      deliveries.length === 0
        ? [filtered.length + held.length === 0 ? 'none: no endpoint took it' : 'none']
        : deliveries.map(({ id, status, endpoint_id }) =>
            printable(`${id}  ${status.padEnd(9)}  ${endpoint_id}`),
          ),
    ),
    ...(filtered.length === 0 ? [] : section(context, 'FILTERED OUT, by the filters of', filtered)),
    ...(held.length === 0
      ? []
      : section(context, 'HELD BACK, because too much waited, from', held)),
  ],
  next({ id, held_back: held, deliveries }) {
    const first = held.find((of) => deliveries.every(({ endpoint_id: other }) => other !== of));
    if (first === undefined) return null;
    return `send what was held back: svcctl endpoints replay ${first} --incident ${id}`;
  },
});

const erase = call('POST /incidents/:id/erase', {
  summary: 'erase what an incident tells, for good',
  description:
    'Erases the payload of an incident, its idempotency key and the stored answers of receivers, and prints the receipt. Times, sizes and states stay. What waits to be sent is discarded, and nothing can be retried.',
  argument: ['<id>', 'the incident’s id'],
  examples: [
    'svcctl incidents erase inc_4fTq9Zx7Kq2LmN0p',
    'svcctl incidents erase inc_4fTq9Zx7Kq2LmN0p --yes --json > receipt.json',
  ],
  asks: {
    question: ([id]) => `Erase what ${id} tells, for good?`,
    act: 'Erase',
    refused: 'Nothing was erased.',
  },
  facts: ({ id, tenant, erased_at, erased, remains }) => [
    ['erased', id],
    ['tenant', tenant],
    ['payload gone since', utc(erased_at)],
    ...incidentFacts(erased),
    ...remainFacts(remains),
  ],
});

const sendOptions = [
  ['--tenant <tenant>', 'the tenant (required)'],
  ['--type <type>', 'a dotted name such as incident.created (required)'],
  ['--data <json>', 'JSON, @file, or - for stdin (default: {})'],
  ['--store <store>', 'the store'],
  ['--group <group>', 'what it belongs to: endpoints ordered by group get these in order'],
  ['--occurred-at <time>', 'when it happened, as 2026-03-05T14:07:09Z (default: now)'],
  [
    '--key <key>',
    'idempotency key: the same gives no second delivery, for 30 days at least',
    undefined,
    'idempotency_key',
  ],
] as const;

const send = call('POST /incidents', {
  summary: 'report an incident to the endpoints of its tenant',
  description:
    'Reports an incident, which is delivered to the endpoints of its tenant that want its type. Prints its id.',
  examples: [
    `svcctl incidents send --tenant TX --type incident.created --data '{"score":0.97}'`,
    'svcctl incidents send --tenant TX --type incident.resolved --data @incident.json --key case-812',
    'jq -n ".score=1" | svcctl incidents send --tenant TX --type incident.updated --data -',
  ],
  options: sendOptions,
  async read(context, client, options) {
    const { data = '{}', ...named } = options;
    const text = await readJson(context, '--data', data);
    const body = { ...fieldsSent(sendOptions, named), data: text } as never;
    const post = () => client.json('POST /incidents', { body });
    // Without an idempotency key a second try could report the incident twice.
    return options.key === undefined ? post() : withRetries(context.io, post);
  },
  prints: ({ id }) => id,
  done(_id, { id, deliveries, held_back: held = [] }, { options: { tenant, type } }) {
    const count = deliveries.length;
    const where = `Look: svcctl incidents show ${id}`;
    if (held.length > 0) {
      const others = count === 0 ? '' : `, with ${numberOf(count, 'delivery', 'deliveries')}`;
      return `Accepted${others}. Too much waits: it was held back from ${numberOf(held.length, 'endpoint')}. ${where}`;
    }
    return count === 0
      ? `Accepted. No endpoint of ${tenant} wants ${type}: nothing to deliver.`
      : `Accepted, with ${numberOf(count, 'delivery', 'deliveries')}. ${where}`;
  },
});

const { count } = columnsOf<ReportedLines>();

const reportColumns = [
  count('ACCEPTED', 'accepted'),
  count('DUPLICATES', 'duplicates'),
  count('REJECTED', 'rejected_count'),
  count('DELIVERIES', 'deliveries'),
];

const report = verb({
  summary: 'report the incidents of a file, one a line',
  description:
    'Reports the incidents of a file: NDJSON of any length, each line as the body of POST /incidents, reported in their order. Lines without an idempotency_key get one made of --key and their number, so the whole file can be sent again under the same key: what was reported before is a duplicate then.',
  examples: [
    'svcctl incidents report --file incidents.ndjson',
    'svcctl incidents report --file night.ndjson.gz --key night-2026-03-05 --json',
    `jq -c '.[] | {tenant: "TX", type: "incident.created", data: .}' gates.json | svcctl incidents report --file -`,
  ],
  options: [
    ['--file <file>', 'the file, or - for stdin (required)'],
    ['--key <key>', 'idempotency key of the file, 180 characters at most (default: a new one)'],
    ['--json', 'print the answer as JSON'],
  ],
  async act(context, { file, key = randomUUID(), json }) {
    const upload = await openUpload(context.io, file);
    const client = await context.connect();
    const headers = { 'content-type': 'application/x-ndjson', 'idempotency-key': key };
    const print = async (text: string, answer: ReportedLines) => {
      if (json) await printObject(context, text, json);
      else await createTable(context, reportColumns).write([answer]);
      noteRejected(context, answer);
      for (const { index, message } of answer.warnings ?? []) {
        context.note(`Mind line ${index + 1}: ${printable(message)}`);
      }
    };
    let text: string;
    try {
      text = await sendUpload(context, client, upload, { route: 'POST /incidents', headers });
    } catch (error) {
      const again = `Send all of it again, which reports nothing twice: svcctl incidents report --file ${shellQuote(file)} --key ${shellQuote(key)}`;
      if (!(error instanceof ApiError)) context.note(again);
      else if (Array.isArray(error.problem['rejected'])) {
        const { accepted, duplicates, deliveries, rejected, rejected_count } = error.problem;
        const progress = { accepted, duplicates, deliveries, rejected, rejected_count };
        await print(JSON.stringify(progress), progress as ReportedLines);
        error.advice.push(again);
      }
      throw error;
    }
    const answer = parseAnswer(text) as ReportedLines;
    await print(text, answer);
    const { accepted, duplicates, rejected_count: rejected, held_back: held } = answer;
    if (held !== undefined) {
      context.note(
        `${numberOf(held, 'delivery', 'deliveries')} held back, because too much waits; a replay makes them: svcctl incidents show names the endpoints`,
      );
    }
    if (rejected === 0) return;
    const total = accepted + duplicates + rejected;
    throw new AppError('records_rejected', {
      detail: `${formatCount(rejected)} of ${numberOf(total, 'line')} rejected. Mend these and send the file again: svcctl incidents report --file ${shellQuote(file)} --key ${shellQuote(key)}`,
    });
  },
});

export const incidents: Verbs = { send, report, ls, show, erase };
