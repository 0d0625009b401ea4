import { resolve } from 'node:path';
import { AppError } from '../../kernel/errors.ts';
import { formatCount, numberOf } from '../../kernel/values.ts';
import { ApiError } from '../api-error.ts';
import { type Client, type RouteAnswer, target } from '../client.ts';
import type { Context } from '../context.ts';
import { formatBytes, shellQuote } from '../format.ts';
import { parseAnswer } from '../parse-answer.ts';
import { interrupted, isUnreachable } from '../retry.ts';
import { Broken } from '../send.ts';
import { type DownloadRequest, download, report, safeName } from './download.ts';
import { askedOf, assertHasFile, type ExportJob } from './jobs.ts';
import { openAnswer } from './open-answer.ts';
import { openPartFile, type Sink } from './part-file.ts';

type Manifest = RouteAnswer<'GET /exports/:id/manifest'>;

/**
 * Downloads the file of a finished job, and goes on with what an earlier run has left. Keeps the file only when size,
 * SHA-256 and manifest are those of the job. Throws `export_mismatch` otherwise. `manifest` is the name of a file for
 * the manifest; null means that it is only compared.
 */
export async function getFile(
  context: Context,
  client: Client,
  {
    job,
    request,
    manifest: manifestName,
  }: { job: ExportJob; request: DownloadRequest; manifest: string | null },
): Promise<void> {
  const { io } = context;
  assertHasFile(context, job);
  const startedAt = io.now();
  const manifest = await client.text('GET /exports/:id/manifest', { params: { id: job.id } });
  const parsed = parseAnswer(manifest) as Manifest;
  assertManifest(job, parsed);
  const got = await download(
    context,
    {
      name: safeName(job.file_name) ?? `${job.id}.${job.format}`,
      sha256: job.sha256 ?? '',
      progress: {
        total: job.bytes,
        describe: (done) => `${formatBytes(done)} of ${formatBytes(job.bytes)}`,
      },
      fetch: (sink, onPiece) =>
        fetchStretch(context, client, {
          job,
          sink,
          stretch: { start: 0, end: job.bytes },
          onPiece: () => onPiece(sink.sizeBytes()),
        }),
      difference: (sink) => difference(job, sink),
      left: (sizeBytes, path) =>
        `${formatBytes(sizeBytes)} of ${formatBytes(job.bytes)} lie in ${path}.part. Go on: svcctl exports get ${job.id} --out ${shellQuote(path)}`,
    },
    request,
  );
  if (manifestName !== null) {
    const file = await openPartFile(resolve(io.cwd, manifestName), {
      mayReplace: request.mayReplace,
      sha256: null,
      signal: io.signal,
    });
    try {
      await file.begin();
      await file.write(Buffer.from(`${manifest.trimEnd()}\n`));
      await file.keep();
    } finally {
      await file.discard();
    }
  }
  await report(context, client, got, {
    request,
    startedAt,
    rows: parsed.rows,
    asked: job.rows_total === 0 ? askedOf(job) : null,
    members: { export_id: job.id, digest: job.digest },
    compared: async () => ({ rows: '', sha256: 'and manifest equal' }),
  });
  noteCounts(context, parsed);
}

const mostNamed = 5;

/** Tells what typed Parquet does not hold in its columns, and what a template has skipped. */
function noteCounts(context: Context, { misfits, skipped }: Manifest): void {
  if (misfits !== undefined && misfits.rows > 0) {
    const named = namedCounts(misfits.fields);
    context.note(
      `note: of ${numberOf(misfits.rows, 'row')} something fits no column, and is in _rest as JSON${named === '' ? '' : `; not of its column’s type: ${named}`}`,
    );
  }
  if (skipped !== undefined && skipped.rows > 0) {
    context.note(
      `note: ${numberOf(skipped.rows, 'record')} skipped, without a value for ${namedCounts(skipped.fields)}`,
    );
  }
}

function namedCounts(counts: Readonly<Record<string, number>>): string {
  const all = Object.entries(counts).sort(([, a], [, b]) => b - a);
  const named = all.slice(0, mostNamed).map(([name, rows]) => `${name} (${formatCount(rows)})`);
  return all.length > mostNamed
    ? `${named.join(', ')} and ${all.length - mostNamed} more`
    : named.join(', ');
}

/** Throws `export_mismatch` unless the manifest agrees with the job, and its parts add up. */
function assertManifest(job: ExportJob, manifest: Manifest): void {
  const rowsOfParts = manifest.parts.reduce((sum, part) => sum + part.rows, 0);
  const pairs = [
    ['rows', manifest.rows + (manifest.skipped?.rows ?? 0), job.rows_total],
    ['rows of its parts', rowsOfParts, manifest.rows],
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

function difference(job: ExportJob, sink: Sink): string | null {
  const size = sink.sizeBytes();
  if (size !== job.bytes) return `it has ${size} bytes, ${job.bytes} were announced`;
  const sha256 = sink.sha256();
  if (sha256 === job.sha256) return null;
  return `its sha-256 is ${sha256}, announced was ${job.sha256 ?? 'none'}`;
}

const firstWaitMillis = 500;
const longestWaitMillis = 30_000;
const mostVainTries = 10;
/** Most tries in all: if a network breaks so often, somebody should look at it. */
const mostTries = 200;

/** A stretch of a file in bytes: `start` is its first byte, `end` is the one after its last. */
export type Stretch = { readonly start: number; readonly end: number };

type Rest = {
  job: ExportJob;
  sink: Pick<Sink, 'sizeBytes' | 'begin' | 'write'>;
  stretch: Stretch;
  onPiece?: () => void;
};

/**
 * Fetches what the sink does not have yet of a stretch of a job's file, and goes on by itself when the connection
 * breaks. It gives up after ten tries in a row without a new byte, or 200 in all, and throws the error of the last try.
 * Returns how often the connection broke.
 */
export async function fetchStretch(context: Context, client: Client, rest: Rest): Promise<number> {
  const { io } = context;
  const { sink } = rest;
  let vainTries = 0;
  for (let tries = 1; ; tries++) {
    const before = sink.sizeBytes();
    try {
      await fetchRest(context, client, rest);
      return tries - 1;
    } catch (error) {
      if (io.signal.aborted) throw interrupted();
      vainTries = sink.sizeBytes() > before ? 0 : vainTries + 1;
      if (!mayPass(error) || vainTries === mostVainTries || tries === mostTries) throw told(error);
      await io.sleep(waitMillis(error, vainTries), io.signal).catch((reason: unknown) => {
        throw io.signal.aborted ? interrupted() : reason;
      });
    }
  }
}

/** Fetches over one connection. Throws `Broken` when it ends too early. */
async function fetchRest(
  { io }: Context,
  client: Client,
  { job, sink, stretch, onPiece }: Rest,
): Promise<void> {
  const length = stretch.end - stretch.start;
  const isWhole = length === job.bytes;
  const start = stretch.start + sink.sizeBytes();
  if (sink.sizeBytes() > 0 && sink.sizeBytes() >= length) return;
  const range = stretch.end === job.bytes ? `bytes=${start}-` : `bytes=${start}-${stretch.end - 1}`;
  const answer = await openAnswer(io, client.connection, {
    ...target('GET /exports/:id/file', { params: { id: job.id } }),
    // A file has its SHA-256 as its ETag.
    headers: isWhole && start === 0 ? {} : { range, 'if-range': `"${job.sha256 ?? ''}"` },
  }).catch(async (error: unknown) => {
    // The file has no such bytes, so what the sink holds is not a part of it.
    if (error instanceof ApiError && error.status === 416 && start > 0) await sink.begin();
    throw error;
  });
  try {
    const isRange = answer.status === 206;
    // This is the first request, or the file is no longer the one that was begun.
    if (!isRange) await sink.begin();
    if (isRange || !isWhole) {
      assertRange(answer.headers['content-range'], { start, end: stretch.end }, job.bytes);
    }
    for await (const piece of answer.pieces) {
      await sink.write(piece);
      onPiece?.();
      if (sink.sizeBytes() > length) return;
    }
  } finally {
    answer.cancel();
  }
  if (sink.sizeBytes() < length) throw new Broken('the answer ended before the file did');
}

function assertRange(header: string | undefined, { start, end }: Stretch, total: number): void {
  if (header === `bytes ${start}-${end - 1}/${total}`) return;
  throw new AppError('answer_unexpected', {
    detail: `The service was asked for the bytes from ${start} to before ${end} of ${total}, and answers "${header ?? 'all'}". If a download was begun before, start anew: remove the .part file.`,
  });
}

const passingStatuses = [416, 429, 502, 503, 504];

function mayPass(error: unknown): boolean {
  if (error instanceof Broken) return true;
  if (error instanceof ApiError) return passingStatuses.includes(error.status);
  return isUnreachable(error);
}

/** The wait before the next try: 0.5 s, 1 s, 2 s … 30 s, or what the service asks for. */
function waitMillis(error: unknown, vainTries: number): number {
  const asked = error instanceof ApiError ? (error.retryAfterSeconds ?? 0) * 1000 : 0;
  const ours = firstWaitMillis * 2 ** Math.max(0, vainTries - 1);
  return Math.min(longestWaitMillis, Math.max(asked, ours));
}

function told(error: unknown): unknown {
  if (!(error instanceof Broken)) return error;
  return new AppError('service_unreachable', {
    detail: `The download broke off again and again: ${error.message}.`,
    cause: error,
  });
}
