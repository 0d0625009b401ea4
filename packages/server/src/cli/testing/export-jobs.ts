import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { Manifest } from '../../contract.ts';
import type { ExportJob } from '../exports/jobs.ts';
import { answerOf } from './answers.ts';
import { type Handler, json, type Receiver } from './receiver.ts';

/** A job of 60 kB that is completed. */
export function completedJob(content: Buffer, changes: Partial<ExportJob> = {}): ExportJob {
  return answerOf('GET /exports/:id', {
    id: 'exp_1',
    tenant: 'TX',
    format: 'parquet',
    state: 'completed',
    request: { tenant: 'TX', month: '2001-02' },
    file_name: 'TX_2001-02.parquet',
    rows_done: 512_991,
    rows_total: 512_991,
    percent: 100,
    bytes: content.length,
    sha256: createHash('sha256').update(content).digest('hex'),
    digest: '9f3c00000000abe1',
    requested_by: 'ops',
    started_at: '2026-03-05T10:00:01.000000Z',
    finished_at: '2026-03-05T10:00:09.000000Z',
    expires_at: '2026-03-12T10:00:09.000000Z',
    has_file: true,
    attempts: 1,
    ...changes,
  });
}

export function manifestOf(job: ExportJob, changes: Partial<Manifest> = {}): Manifest {
  const whole = {
    rows: job.rows_total ?? 0,
    digest: job.digest ?? '',
    bytes: job.bytes,
    sha256: job.sha256 ?? '',
  };
  return answerOf('GET /exports/:id/manifest', {
    export_id: job.id,
    file_name: job.file_name,
    format: job.format,
    columns: ['event_id'],
    request: job.request,
    ...whole,
    parts: [whole],
    ...changes,
  });
}

/** The ETag of a file, which the service makes of its SHA-256. */
export function etagOf(content: Buffer): string {
  return `"${createHash('sha256').update(content).digest('hex')}"`;
}

type Serving = {
  etag?: string;
  /** How many bytes an answer to the n-th request (from 0) sends before it breaks off; null: all. */
  breakAfter?: (request: number) => number | null;
  /** Waited for before it breaks: what the other side has not read yet may be lost with the connection. */
  beforeBreak?: () => Promise<unknown>;
  /** Answers whole files only. */
  ignoresRange?: boolean;
};

/** Serves a file as the service does: Range and If-Range, and connections that break. */
export function servesFile(content: Buffer, serving: Serving = {}): Handler {
  const { etag = etagOf(content), breakAfter = () => null, ignoresRange = false } = serving;
  let requests = 0;
  return async ({ headers }, response) => {
    const asked = /^bytes=(\d+)-$/.exec(headers.range ?? '');
    const isPart = asked !== null && !ignoresRange && headers['if-range'] === etag;
    const start = isPart ? Number(asked[1]) : 0;
    const most = breakAfter(requests);
    requests += 1;
    response.writeHead(isPart ? 206 : 200, {
      'content-type': 'application/octet-stream',
      'content-length': content.length - start,
      etag,
      ...(isPart
        ? { 'content-range': `bytes ${start}-${content.length - 1}/${content.length}` }
        : {}),
    });
    const rest = content.subarray(start);
    if (most === null || most >= rest.length) {
      response.end(rest);
      return;
    }
    response.flushHeaders();
    await sent(response, rest.subarray(0, most));
    await serving.beforeBreak?.();
    response.destroy();
  };
}

function sent(response: ServerResponse, piece: Buffer): Promise<unknown> {
  return new Promise((resolve) => response.write(piece, resolve));
}

/** A completed job with its manifest and its file. */
export function offerFile(
  api: Receiver,
  content: Buffer,
  options: { job?: Partial<ExportJob>; manifest?: Partial<Manifest>; file?: Handler } = {},
): ExportJob {
  const job = completedJob(content, options.job);
  api.on('GET /exports/exp_1', json(job));
  api.on('GET /exports/exp_1/manifest', json(manifestOf(job, options.manifest)));
  api.on('GET /exports/exp_1/file', options.file ?? servesFile(content));
  return job;
}
