import { basename, resolve } from 'node:path';
import { AppError } from '../../kernel/errors.ts';
import type { Client, RouteAnswer } from '../client.ts';
import type { Context } from '../context.ts';
import { noteEmptySlice } from '../empty-slice.ts';
import { formatBytes, formatDuration, formatNumberOf, shellQuote } from '../format.ts';
import { styled } from '../io.ts';
import { parseAnswer } from '../parse-answer.ts';
import { checkTarget, createPartFile } from '../part-file.ts';
import { type Fetched, fetchFile } from './fetch-file.ts';
import { askedOf, assertHasFile, type ExportJob } from './jobs.ts';
import { createStdoutSink, openResumableFile, type Sink } from './resumable-file.ts';
import { safeName, shortSha256 } from './stream-export.ts';

type Manifest = RouteAnswer<'GET /exports/:id/manifest'>;

export type DownloadRequest = {
  /** The name of the file; `-` means stdout, null the name that the service suggests. */
  out: string | null;
  mayReplace: boolean;
  /** The name of a file for the manifest; null means that it is only compared. */
  manifest: string | null;
  isJson: boolean;
};

/** Throws `file_unreadable` when a name is taken. This is checked before anything is waited for. */
export async function checkNames({ io }: Context, request: DownloadRequest): Promise<void> {
  for (const name of [request.out, request.manifest]) {
    if (name !== null && name !== '-') await checkTarget(resolve(io.cwd, name), request.mayReplace);
  }
}

/**
 * Downloads the file of a finished job, and goes on with what an earlier run has left. Keeps the file only when size,
 * SHA-256 and manifest are those of the job. Throws `export_mismatch` otherwise.
 */
export async function getFile(
  context: Context,
  client: Client,
  { job, request }: { job: ExportJob; request: DownloadRequest },
): Promise<void> {
  const { io } = context;
  assertHasFile(context, job);
  const startedAt = io.now();
  const manifest = await client.text('GET /exports/:id/manifest', { params: { id: job.id } });
  assertManifest(job, parseAnswer(manifest) as Manifest);
  const path =
    request.out === '-'
      ? null
      : resolve(io.cwd, request.out ?? safeName(job.file_name) ?? `${job.id}.${job.format}`);
  const sink =
    path === null
      ? createStdoutSink(context.out)
      : await openResumableFile(path, {
          mayReplace: request.mayReplace,
          sha256: job.sha256 ?? '',
          signal: io.signal,
        });
  const label = path === null ? 'stdout' : basename(path);
  const fetched = await fetchKept(context, client, { job, sink, label, path });
  if (request.manifest !== null) {
    await writeManifest(resolve(io.cwd, request.manifest), manifest, request.mayReplace);
  }
  const elapsedMillis = io.now() - startedAt;
  if (request.isJson) {
    await context.out.write(`${JSON.stringify(summaryOf(job, path, elapsedMillis))}\n`);
  } else if (path !== null || io.stderr.isTTY === true) {
    tell(context, job, { label, fetched, elapsedMillis });
  }
  if (job.rows_total === 0) await noteEmptySlice(context, client, askedOf(job));
}

type Target = { job: ExportJob; sink: Sink; label: string; path: string | null };

/** Fetches the file and gives it its name. After a failure it keeps what can be used by a later run. */
async function fetchKept(context: Context, client: Client, target: Target): Promise<Fetched> {
  const { job, sink, path } = target;
  let isWhole = false;
  try {
    const fetched = await fetchFile(context, client.connection, target);
    isWhole = true;
    await sink.keep();
    return fetched;
  } catch (error) {
    // If a complete file cannot get its name, another run was faster or the disk has failed: either way it is of no
    // use.
    const isOfNoUse = isWhole || (error instanceof AppError && error.code === 'export_mismatch');
    if (isOfNoUse || sink.sizeBytes() === 0) await sink.discard();
    const left = await sink.leave();
    if (left > 0) {
      context.note(
        `${formatBytes(left)} of ${formatBytes(job.bytes)} lie in ${path}.part. Go on: svcctl exports get ${job.id} --out ${shellQuote(path ?? '')}`,
      );
    }
    throw error;
  }
}

/** Throws `export_mismatch` unless the manifest agrees with the job, and its parts add up. */
function assertManifest(job: ExportJob, manifest: Manifest): void {
  const rowsOfParts = manifest.parts.reduce((sum, part) => sum + part.rows, 0);
  const pairs = [
    ['rows', manifest.rows, job.rows_total],
    ['rows of its parts', rowsOfParts, job.rows_total],
    ['bytes', manifest.bytes, job.bytes],
    ['sha-256', manifest.sha256, job.sha256],
    ['digest', manifest.digest, job.digest],
  ] as const;
  for (const [name, told, expected] of pairs) {
    if (told === expected) continue;
    throw new AppError('export_mismatch', {
      detail: `The manifest of ${job.id} does not fit the job: ${name} ${told}, and ${expected}. Nothing was kept.`,
    });
  }
}

async function writeManifest(path: string, text: string, mayReplace: boolean): Promise<void> {
  const file = await createPartFile(path, mayReplace);
  try {
    await file.write(Buffer.from(`${text.trimEnd()}\n`));
    await file.keep();
  } finally {
    await file.discard();
  }
}

function summaryOf(job: ExportJob, path: string | null, elapsedMillis: number): object {
  return {
    file: path,
    rows: job.rows_total,
    bytes: job.bytes,
    sha256: job.sha256,
    elapsed_ms: elapsedMillis,
    export_id: job.id,
    digest: job.digest,
  };
}

/** Prints the result: `✓ tx.parquet: 512,991 rows · 24 MB · sha-256 9f3c…e1 and manifest equal · 1.9 s`. */
function tell(
  context: Context,
  job: ExportJob,
  { label, fetched, elapsedMillis }: { label: string; fetched: Fetched; elapsedMillis: number },
): void {
  const parts = [
    `${label}: ${formatNumberOf(job.rows_total ?? 0, 'row')}`,
    formatBytes(job.bytes),
    `sha-256 ${shortSha256(job.sha256 ?? '')} and manifest equal`,
  ];
  if (fetched.resumedAt > 0) parts.push(`went on at ${formatBytes(fetched.resumedAt)}`);
  if (fetched.breaks > 0) parts.push(`broke off ${formatNumberOf(fetched.breaks, 'time')}`);
  parts.push(formatDuration(elapsedMillis));
  context.note(`${styled(context.io, context.io.stderr, 'green', '✓')} ${parts.join(' · ')}`);
}
