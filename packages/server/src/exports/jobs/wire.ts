import { formatDigest } from '../../kernel/digest.ts';
import type { ExportJob } from '../jobs.contract.ts';
import type { ShownJob } from './job.ts';

/** A job as the API answers it. */
export function toExportJob(job: ShownJob): ExportJob {
  const { rows_done, rows_total, rows_per_second } = job;
  const left = rows_total === null ? null : rows_total - rows_done;
  return {
    id: job.id,
    tenant: job.tenant,
    format: job.options.format,
    state: job.state,
    request: job.request,
    file_name: job.file_name,
    recorded_before: job.recorded_before,
    version: job.version?.id ?? null,
    rows_done,
    rows_total,
    percent: percentOf(job),
    rows_per_second,
    eta_s:
      job.state === 'running' && left !== null && rows_per_second
        ? Math.ceil(left / rows_per_second)
        : null,
    bytes: job.size_bytes,
    sha256: job.sha256?.toString('hex') ?? null,
    digest: job.digest === null ? null : formatDigest(BigInt(job.digest)),
    requested_by: job.requested_by,
    created_at: job.created_at,
    started_at: job.started_at,
    finished_at: job.finished_at,
    expires_at: job.state === 'completed' ? job.expires_at : null,
    has_file: job.has_file,
    attempts: job.attempts,
    error_code: job.error_code,
    error: job.error,
  };
}

/** With one decimal. Without rows there is nothing between the beginning and the end. */
function percentOf({ state, rows_done, rows_total }: ShownJob): number | null {
  if (state === 'completed' || state === 'erased') return 100;
  if (rows_total === null) return null;
  return rows_total === 0 ? 0 : Math.floor((1000 * rows_done) / rows_total) / 10;
}
