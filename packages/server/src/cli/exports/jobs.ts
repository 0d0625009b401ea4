import type { ExportFormat } from '../../exports/values.ts';
import { AppError } from '../../kernel/errors.ts';
import type { Client, RouteAnswer, RouteInput } from '../client.ts';
import type { Context } from '../context.ts';
import type { AskedSlice } from '../empty-slice.ts';
import { followJob } from '../follow-job.ts';
import {
  formatBytes,
  formatClock,
  formatCount,
  formatInstant,
  formatNumberOf,
  formatRelative,
} from '../format.ts';
import { parseAnswer } from '../parse-answer.ts';
import { createProgress, type ProgressOptions } from '../progress.ts';
import type { Column } from '../table.ts';

export type ExportJob = RouteAnswer<'GET /exports/:id'>;
type ExportBody = RouteInput<'POST /exports/csv'>['body'];

export const exportFields = [
  'id',
  'tenant',
  'format',
  'state',
  'request',
  'file_name',
  'recorded_before',
  'version',
  'rows_done',
  'rows_total',
  'percent',
  'rows_per_second',
  'eta_s',
  'bytes',
  'sha256',
  'digest',
  'requested_by',
  'created_at',
  'started_at',
  'finished_at',
  'expires_at',
  'has_file',
  'attempts',
  'waiting_since',
  'error_code',
  'error',
] as const satisfies readonly (keyof ExportJob)[];

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

/** Whether a job has not ended yet. */
export function isUnderWay({ state }: ExportJob): boolean {
  return state === 'queued' || state === 'running' || state === 'waiting';
}

/**
 * Shows the progress of an export job until it ends. The service does the work, whether or not this command goes on.
 */
export async function followExport(
  context: Context,
  client: Client,
  started: ExportJob,
): Promise<ExportJob> {
  let job = started;
  const bar: ProgressOptions = {
    label: started.file_name,
    total: started.rows_total ?? 0,
    describe: () => rowsText(job),
    pace: () => paceText(job),
  };
  return followJob(context, started, {
    progress: createProgress(context.io, bar),
    role: 'exports',
    read: () => client.json('GET /exports/:id', { params: { id: started.id } }),
    show: (now, progress) => {
      job = now;
      bar.total = now.rows_total ?? 0;
      progress.update(now.rows_done, now.bytes);
    },
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
export function rowsText(job: ExportJob): string {
  const { rows_done: done, rows_total: total } = job;
  if (total === null) return 'rows are being counted';
  return done === total
    ? formatNumberOf(total, 'row')
    : `${formatCount(done)} of ${formatNumberOf(total, 'row')}`;
}

/** Speed and time left: `122,000 rows/s   0:01 left`. */
export function paceText({ rows_per_second: rate, eta_s: left }: ExportJob): string {
  const parts: string[] = [];
  if (rate !== null) parts.push(`${formatNumberOf(rate, 'row')}/s`);
  if (left !== null) parts.push(`${formatClock(left * 1000)} left`);
  return parts.join('   ');
}

export function exportJobColumns(nowMillis: number): Column<ExportJob>[] {
  return [
    { title: 'ID', value: (job) => job.id },
    { title: 'TENANT', isElastic: true, value: (job) => job.tenant },
    { title: 'FORMAT', value: (job) => job.format },
    { title: 'STATE', value: (job) => job.state, shown: stateText },
    {
      title: 'ROWS',
      align: 'right',
      value: (job) => job.rows_done,
      shown: (job) =>
        job.rows_total === null || job.rows_total === job.rows_done
          ? formatCount(job.rows_done)
          : `${formatCount(job.rows_done)} of ${formatCount(job.rows_total)}`,
    },
    {
      title: 'BYTES',
      align: 'right',
      value: (job) => job.bytes,
      shown: (job) => formatBytes(job.bytes),
    },
    {
      title: 'ASKED FOR',
      value: (job) => job.created_at,
      shown: (job) => formatRelative(job.created_at, nowMillis),
    },
    { title: 'FILE', isElastic: true, value: (job) => job.file_name },
  ];
}

/** All details of a job, as names and values. */
export function exportDetails(
  job: ExportJob,
  nowMillis: number,
): (readonly [string, string | null])[] {
  const at = (time: string | null) =>
    time === null ? null : `${formatInstant(time)} UTC, ${formatRelative(time, nowMillis)}`;
  const pace = paceText(job);
  return [
    ['id', job.id],
    ['tenant', job.tenant],
    ['state', stateText(job)],
    ...(job.error === null
      ? []
      : [
          [
            'error',
            `${job.error}${job.error_code === null ? '' : ` (${job.error_code})`}`,
          ] as const,
        ]),
    ['format', job.format],
    ['request', JSON.stringify(job.request)],
    ['version', job.version],
    ['file', job.file_name],
    ['rows', pace === '' || !isUnderWay(job) ? rowsText(job) : `${rowsText(job)}   ${pace}`],
    ['bytes', `${formatBytes(job.bytes)} (${formatCount(job.bytes)} B)`],
    ['sha-256', job.sha256],
    ['digest', job.digest],
    ['records stored before', `${formatInstant(job.recorded_before)} UTC`],
    ['asked for', `${at(job.created_at)} by ${job.requested_by}`],
    ['started', at(job.started_at)],
    ['finished', at(job.finished_at)],
    ['file until', job.has_file ? at(job.expires_at) : null],
    [
      'taken up',
      job.attempts > 1 ? `${job.attempts} times` : job.attempts === 1 ? 'once' : 'not yet',
    ],
  ];
}
