import { formatCount, numberOf } from '../../kernel/values.ts';
import type { Chosen } from '../../kernel/view.ts';
import { deadLetterStatuses, targetText } from '../../webhooks/values.ts';
import { deadLetterFilters } from '../../webhooks/view.ts';
import { call } from '../act.ts';
import type { RouteAnswer } from '../client.ts';
import { columnsOf } from '../columns.ts';
import type { Context } from '../context.ts';
import { jsonLines, moment, section, type Times, whereAny } from '../details.ts';
import { styled } from '../io.ts';
import { type Listed, list, moreText } from '../list.ts';
import { fitText, printable } from '../table.ts';
import type { Verbs } from '../verb.ts';
import { filterWords, purge, retry } from '../webhooks/bulk-all.ts';
import { cancel, job, jobs, pause, resume, retries } from '../webhooks/bulk-jobs.ts';
import { deadLetterColumns } from '../webhooks/deliveries.ts';
import { tookText } from '../webhooks/endpoints.ts';

type DeadLetterOptions = Chosen<typeof deadLetterFilters>;
type LsOptions = DeadLetterOptions & { q?: string };

const { class: _, ...groupFilters } = deadLetterFilters;

const ls = list('GET /webhook/dlq', {
  summary: 'list the dead-letter queue',
  description:
    'Lists the deliveries that failed, newest failure first: pending ones are tried again by themselves, abandoned ones wait for a retry.',
  examples: [
    'svcctl dlq ls',
    'svcctl dlq ls --status abandoned --tenant TX --class timeout_connect',
    'svcctl dlq ls --status abandoned --json id,target,error',
  ],
  filters: {
    ...deadLetterFilters,
    status: { ...deadLetterFilters.status, help: 'pending or abandoned (default: both)' },
    q: { value: 'text', help: 'part of the target or the error, or the beginning of an id or key' },
  },
  each: ({ status }) =>
    (status === undefined ? deadLetterStatuses : [status]).map((one) => ({ status: one })),
  limit: { rows: 200, onPipe: Number.POSITIVE_INFINITY },
  columns: ({ status }: LsOptions) => deadLetterColumns(status),
  below: (listed, options) =>
    listed.printed === 0 ? emptyLine(options) : countLine(listed, options),
});

/** The line below the table: `2 of 2 abandoned · retry one: svcctl dlq retry dlv_… · retry all: …`. */
function countLine({ printed, total, hasMore }: Listed, options: LsOptions): string {
  const count =
    total === null ? formatCount(printed) : `${formatCount(printed)} of ${formatCount(total)}`;
  const parts = [`${count} ${statusText(options)}`];
  if (hasMore) parts.push(moreText);
  parts.push('retry one: svcctl dlq retry dlv_…');
  // A bulk retry has no filter --q. It is not offered here, because it would retry more than is shown.
  if (options.q === undefined)
    parts.push(`retry all: svcctl dlq retry --all${filterWords(options)}`);
  return parts.join(' · ');
}

function emptyLine({ tenant, endpoint, q, class: failure, ...asked }: LsOptions): string {
  const isFiltered = [tenant, endpoint, q, failure].some((value) => value !== undefined);
  const status = statusText(asked);
  return isFiltered ? `None ${status} that match.` : `DLQ is clean: none ${status}.`;
}

const statusText = ({ status }: Pick<LsOptions, 'status'>) => status ?? 'pending or abandoned';

type Detail = RouteAnswer<'GET /webhook/dlq/:id'>;
type Attempt = Detail['attempt_log'][number];

const show = call('GET /webhook/dlq/:id', {
  summary: 'show one delivery, its payload and its attempts',
  description:
    'Shows one delivery in any status: why it waits, what it sends, and each attempt with the first bytes of its answer.',
  argument: ['<id>', 'the delivery’s id, as svcctl dlq ls prints it'],
  examples: [
    'svcctl dlq show dlv_070t1x2y3Kq2LmN0pAbCdE',
    'svcctl dlq show dlv_070t1x2y3Kq2LmN0pAbCdE --json waiting,attempt_log',
  ],
  facts: (row, times) => [
    ['id', row.id],
    ['status', row.status],
    ...whereAny('waiting', row.waiting?.text),
    ['key', row.idempotency_key],
    ['target', targetText(row.target)],
    ['event', `${row.event_type} of ${row.tenant}, incident ${row.incident_id}`],
    ['endpoint', row.endpoint_id],
    ...whereAny('job', row.job_id),
    ...whereAny('replay', row.replay_id),
    ['attempts', `${row.attempts} of ${row.max_attempts}`],
    ['last status', row.last_status === null ? null : String(row.last_status)],
    ['error', row.error],
    ['created', moment(row.created_at, times)],
    ['next retry', moment(row.next_retry, times)],
    ['finished', moment(row.finished_at, times)],
  ],
  more: ({ attempt_log: log }, answer, context, times) => [
    ...section(context, 'PAYLOAD', jsonLines(answer, 'payload')),
    ...section(
      context,
      `ATTEMPTS (${times.zone})`,
      log.length === 0
        ? ['none yet']
        : log.flatMap((attempt) => attemptLines(context, attempt, times)),
    ),
  ],
  next: ({ status }, id) =>
    status === 'pending' || status === 'abandoned'
      ? `retry: svcctl dlq retry ${id} · discard: svcctl dlq purge ${id}`
      : null,
});

/** The lines about one attempt: when it was, how long it took, what came of it, and how the answer began. */
function attemptLines(context: Context, attempt: Attempt, times: Times): string[] {
  const { number, started_at, duration_ms, status, failure_class, error, response } = attempt;
  // The message of a refused status begins with that status.
  const outcome =
    failure_class === null
      ? `${status} delivered`
      : `${error ?? 'failed'} (${failure_class.replace('_', ' ')})`;
  const took = tookText(duration_ms);
  const line = `${String(number).padStart(3)}  ${times.below(started_at)}  ${took.padStart(7)}  ${outcome}`;
  const width = context.io.stdout.columns ?? 80;
  const start = printable(response ?? '').trim();
  if (start === '') return [printable(line)];
  const shown = `     ${fitText(start, Math.max(20, width - 5))}`;
  return [printable(line), styled(context.io, context.io.stdout, 'dim', shown)];
}

type Group = RouteAnswer<'GET /webhook/dlq/groups'>['data'][number];

const of = columnsOf<Group>();

const groups = list('GET /webhook/dlq/groups', {
  summary: 'sum up the dead-letter queue by endpoint and failure class',
  description:
    'Sums up the dead-letter queue by endpoint and failure class, largest group first: what was abandoned, unless --status says otherwise.',
  examples: [
    'svcctl dlq groups',
    'svcctl dlq groups --status pending --tenant TX --json endpoint_id,failure_class,count',
  ],
  filters: {
    ...groupFilters,
    status: { ...groupFilters.status, help: 'pending or abandoned (default: abandoned)' },
  },
  query: ({ status = 'abandoned' }: DeadLetterOptions) => ({ status }),
  limit: { of: 'groups', rows: 100 },
  columns: [
    of.count('ROWS', 'count'),
    of.word('CLASS', 'failure_class'),
    of.text('TENANT', 'tenant'),
    of.word('ENDPOINT', 'endpoint_id'),
    of.target('TARGET', 'target'),
    of.ago('FIRST', 'first_seen'),
    of.ago('LAST', 'last_seen'),
    of.text('ERROR', 'error', { givesWay: 1 }),
  ],
  below: ({ printed }, { status = 'abandoned' }: DeadLetterOptions) =>
    printed === 0
      ? `None ${status}.`
      : `${numberOf(printed, 'group')} · retry one: svcctl dlq retry --all --status ${status} --endpoint ep_… --class CLASS`,
});

export const dlq: Verbs = {
  ls,
  show,
  retry,
  jobs,
  job,
  retries,
  pause,
  resume,
  cancel,
  groups,
  purge,
};
