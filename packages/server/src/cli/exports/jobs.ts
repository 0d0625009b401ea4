import type { ExportFormat } from '../../exports/values.ts';
import { AppError } from '../../kernel/errors.ts';
import { formatCount, numberOf } from '../../kernel/values.ts';
import type { Client, RouteAnswer, RouteInput } from '../client.ts';
import { columnsOf } from '../columns.ts';
import type { Context } from '../context.ts';
import { type Facts, moment, type Times, whereAny } from '../details.ts';
import type { AskedSlice } from '../empty-slice.ts';
import { followJob, isAtWork } from '../follow-job.ts';
import { formatBytes, formatClock, formatRelative } from '../format.ts';
import { parseAnswer } from '../parse-answer.ts';

export type ExportJob = RouteAnswer<'GET /exports/:id'>;
type Schema = RouteAnswer<'GET /exports/schema'>;
type ExportBody = RouteInput<'POST /exports/csv'>['body'] &
  RouteInput<'POST /exports/ndjson'>['body'] &
  RouteInput<'POST /exports/parquet'>['body'];

/** Creates an export job. */
export async function startExport(
  client: Client,
  format: ExportFormat,
  body: ExportBody,
): Promise<ExportJob> {
  const input = { body, headers: { prefer: 'respond-async' } };
  const text = await client.text(`POST /exports/${format}`, input);
  const job = parseAnswer(text) as Partial<ExportJob>;
  if (typeof job.id === 'string' && typeof job.state === 'string') return job as ExportJob;
  throw new AppError('answer_unexpected', {
    detail: 'The service answered no job. Does it know exports as jobs?',
  });
}

/** Shows the progress of an export job until it ends. */
export function followExport(
  context: Context,
  client: Client,
  started: ExportJob,
): Promise<ExportJob> {
  return followJob(context, client, {
    route: 'GET /exports/:id',
    started,
    label: started.file_name,
    role: 'exports',
    far: (job) => ({ done: job.rows_done, total: job.rows_total, bytes: job.bytes }),
    describe: (_done, _total, job) => rowsText(job),
    pace: paceText,
    goesOn: goesOnText(started.id),
  });
}

/** The command by which to go on with a job that this command leaves running. */
export function goesOnText(id: string): string {
  return `The export goes on without this command. Get its file: svcctl exports get ${id} --wait · stop it: svcctl exports cancel ${id}`;
}

/** The slice that a job exports. */
export function askedOf({ tenant, request, version }: ExportJob): AskedSlice {
  const asked: Omit<AskedSlice, 'tenant'> = request;
  return { ...asked, tenant, version: version ?? undefined };
}

/** Throws unless the job has a file: `export_failed`, or the error that the service would give. */
export function assertHasFile(context: Context, job: ExportJob): void {
  const { id, state } = job;
  switch (state) {
    case 'completed':
      if (job.has_file) return;
      throw new AppError('export_file_gone', {
        detail: `The file of ${id} was removed${agoText(context, job.expires_at)}. Export it again.`,
      });
    case 'queued':
    case 'running':
    case 'waiting':
      throw new AppError('export_unfinished', {
        detail: `${id} is ${stateText(job)}. Wait for it:\nsvcctl exports get ${id} --wait`,
      });
    case 'erased':
      throw new AppError('export_file_gone', {
        detail: `The file of ${id} is gone. ${job.error ?? 'Records of its slice were erased.'}`,
      });
    case 'cancelled':
      throw new AppError('export_without_file', {
        detail: `${id} was cancelled: it has no file. Export it again.`,
      });
    case 'failed':
      throw new AppError('export_failed', {
        detail: `${id} failed: ${job.error ?? 'it does not say why'}${job.error_code === null ? '' : ` (${job.error_code})`}\nLook: svcctl exports show ${id}`,
      });
  }
}

function agoText(context: Context, instant: string | null): string {
  const now = context.io.now();
  if (instant === null || Date.parse(instant) > now) return '';
  return ` ${formatRelative(instant, now)}`;
}

/** The state in words: "running, 71 %", "completed, its file was removed". */
export function stateText(job: ExportJob): string {
  if (job.state === 'running' && job.percent !== null) return `running, ${percentText(job)}`;
  if (job.state === 'completed' && !job.has_file) return 'completed, file removed';
  if (job.state === 'waiting') return `waiting: ${job.error ?? 'its store does not answer'}`;
  return job.state;
}

function percentText({ percent }: ExportJob): string {
  return percent === null ? '–' : `${Math.floor(percent)} %`;
}

/** The rows that are done: `364,120 of 512,991 rows`. */
function rowsText(job: ExportJob): string {
  const { rows_done: done, rows_total: total } = job;
  if (total === null) return 'rows are being counted';
  return done === total
    ? numberOf(total, 'row')
    : `${formatCount(done)} of ${numberOf(total, 'row')}`;
}

/** Speed and time left: `122,000 rows/s   0:01 left`. */
function paceText({ rows_per_second: rate, eta_s: left }: ExportJob): string {
  const parts: string[] = [];
  if (rate !== null) parts.push(`${numberOf(rate, 'row')}/s`);
  if (left !== null) parts.push(`${formatClock(left * 1000)} left`);
  return parts.join('   ');
}

const { word, text, count, bytes, ago } = columnsOf<ExportJob>();

export const exportJobColumns = [
  word('ID', 'id'),
  text('TENANT', 'tenant'),
  word('FORMAT', 'format'),
  word('STATE', 'state', { shown: stateText }),
  count('ROWS', 'rows_done', {
    shown: ({ rows_total: total, rows_done: done }) =>
      total === null || total === done
        ? formatCount(done)
        : `${formatCount(done)} of ${formatCount(total)}`,
  }),
  bytes('BYTES', 'bytes'),
  ago('ASKED FOR', 'created_at'),
  text('FILE', 'file_name'),
];

/** How many columns fields make: `12 columns, by a sample of 10,000 of 512,991 records; of 3 something fits none`. */
export function schemaText({ columns, sampled, count: all, left_out, misfits }: Schema): string {
  const of =
    sampled === all
      ? numberOf(all, 'record')
      : `a sample of ${formatCount(sampled)} of ${numberOf(all, 'record')}`;
  const left = left_out === 0 ? '' : `; ${numberOf(left_out, 'field')} left out`;
  const odd =
    misfits && misfits.rows > 0 ? `; of ${formatCount(misfits.rows)} something fits none` : '';
  return `${numberOf(columns.length, 'column')} of fields, by ${of}${left}${odd}`;
}

/** All that is told of a job. */
export function exportFacts(job: ExportJob, times: Times): Facts {
  const { error, error_code: code } = job;
  const pace = paceText(job);
  return [
    ['id', job.id],
    ['tenant', job.tenant],
    ['state', stateText(job)],
    ...whereAny('error', error && `${error}${code === null ? '' : ` (${code})`}`),
    ['format', job.format],
    ['request', JSON.stringify(job.request)],
    ['version', job.version],
    ['file', job.file_name],
    ...whereAny('schema', job.schema && schemaText(job.schema)),
    ['rows', pace === '' || !isAtWork(job) ? rowsText(job) : `${rowsText(job)}   ${pace}`],
    ['bytes', `${formatBytes(job.bytes)} (${formatCount(job.bytes)} B)`],
    ['sha-256', job.sha256],
    ['digest', job.digest],
    ['records stored before', times.at(job.recorded_before)],
    ['asked for', `${moment(job.created_at, times)} by ${job.requested_by}`],
    ['started', moment(job.started_at, times)],
    ['finished', moment(job.finished_at, times)],
    ['file until', job.has_file ? moment(job.expires_at, times) : null],
    [
      'taken up',
      job.attempts > 1 ? `${job.attempts} times` : job.attempts === 1 ? 'once' : 'not yet',
    ],
  ];
}
