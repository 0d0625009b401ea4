import { AppError } from '../../kernel/errors.ts';
import { ApiError } from '../api-error.ts';
import { reasonOf } from '../client.ts';
import type { Connection } from '../connection.ts';
import type { Context } from '../context.ts';
import { formatBytes, formatClock } from '../format.ts';
import { OutputClosed } from '../io.ts';
import { createProgress } from '../progress.ts';
import { interrupted } from '../retry.ts';
import type { ExportJob } from './jobs.ts';
import { openAnswer } from './open-answer.ts';
import type { Sink } from './resumable-file.ts';

const firstWaitMillis = 500;
const longestWaitMillis = 30_000;
const mostVainTries = 10;
/** Most tries in all: if a network breaks so often, somebody should look at it. */
const mostTries = 200;

/** A stretch of a file in bytes: `start` is its first byte, `end` is the one after its last. */
export type Stretch = { readonly start: number; readonly end: number };

/** `resumedAt`: bytes that were there already; `breaks`: how often the connection broke. */
export type Fetched = { resumedAt: number; breaks: number };

/**
 * Fetches the rest of a job's file into the sink, and goes on by itself when the connection breaks. It gives up after
 * ten tries in a row without a new byte, or 200 in all. Throws `export_mismatch` when the bytes are not those of the
 * job, else the error of the last try.
 */
export async function fetchFile(
  context: Context,
  connection: Connection,
  { job, sink, label }: { job: ExportJob; sink: Sink; label: string },
): Promise<Fetched> {
  const resumedAt = sink.sizeBytes();
  const progress = createDownloadProgress(context, job, { label, resumedAt });
  let breaks: number;
  try {
    breaks = await fetchStretch(context, connection, {
      job,
      sink,
      stretch: { start: 0, end: job.bytes },
      onPiece: () => progress.update(sink.sizeBytes()),
    });
  } finally {
    progress.clear();
  }
  assertSame(job, sink);
  return { resumedAt, breaks };
}

type Rest = {
  job: ExportJob;
  sink: Pick<Sink, 'sizeBytes' | 'etag' | 'begin' | 'write'>;
  stretch: Stretch;
  onPiece: () => void;
};

/**
 * Fetches what the sink does not have yet of a stretch of a job's file, and goes on by itself as `fetchFile` does.
 * Returns how often the connection broke.
 */
export async function fetchStretch(
  context: Context,
  connection: Connection,
  rest: Rest,
): Promise<number> {
  const { io } = context;
  const { sink } = rest;
  let vainTries = 0;
  for (let tries = 1; ; tries++) {
    const before = sink.sizeBytes();
    try {
      await fetchRest(context, connection, rest);
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
  connection: Connection,
  { job, sink, stretch, onPiece }: Rest,
): Promise<void> {
  const length = stretch.end - stretch.start;
  const isWhole = length === job.bytes;
  const start = stretch.start + sink.sizeBytes();
  const etag = sink.etag();
  if (etag !== null && sink.sizeBytes() >= length) return;
  const range = stretch.end === job.bytes ? `bytes=${start}-` : `bytes=${start}-${stretch.end - 1}`;
  const answer = await openAnswer(io, connection, {
    method: 'GET',
    path: `/exports/${encodeURIComponent(job.id)}/file`,
    headers: etag === null || (isWhole && start === 0) ? {} : { range, 'if-range': etag },
  }).catch(async (error: unknown) => {
    // The file has no such bytes, so what the sink holds is not a part of it.
    if (error instanceof ApiError && error.status === 416 && start > 0) await sink.begin(null);
    throw error;
  });
  try {
    if (answer.status === 206) {
      assertRange(answer.headers['content-range'], { start, end: stretch.end }, job.bytes);
    } else {
      // This is the first request, or the file is no longer the one that was begun.
      await sink.begin(answer.headers.etag ?? null);
      if (!isWhole) assertRange(undefined, { start, end: stretch.end }, job.bytes);
    }
    for await (const piece of pieces(answer.pieces)) {
      await sink.write(piece);
      onPiece();
      if (sink.sizeBytes() > length) return;
    }
  } finally {
    answer.cancel();
  }
  if (sink.sizeBytes() < length) {
    throw new Broken('the answer ended before the file did');
  }
}

/** The connection broke, or no bytes came for too long. */
class Broken extends Error {}

/** Marks errors of the network, to tell them from those of the disk. */
async function* pieces(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const iterator = source[Symbol.asyncIterator]();
  try {
    for (;;) {
      let next: IteratorResult<Buffer>;
      try {
        next = await iterator.next();
      } catch (error) {
        throw new Broken(reasonOf(error), { cause: error });
      }
      if (next.done) return;
      yield next.value;
    }
  } finally {
    await iterator.return?.();
  }
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
  return error instanceof AppError && error.code === 'service_unreachable';
}

/** The wait before the next try: 0.5 s, 1 s, 2 s … 30 s, or what the service asks for. */
function waitMillis(error: unknown, vainTries: number): number {
  const asked = error instanceof ApiError ? (error.retryAfterSeconds ?? 0) * 1000 : 0;
  const ours = firstWaitMillis * 2 ** Math.max(0, vainTries - 1);
  return Math.min(longestWaitMillis, Math.max(asked, ours));
}

function told(error: unknown): unknown {
  if (!(error instanceof Broken) || error instanceof OutputClosed) return error;
  return new AppError('service_unreachable', {
    detail: `The download broke off again and again: ${error.message}.`,
    cause: error,
  });
}

/** Throws `export_mismatch` unless size and SHA-256 are those of the job. */
function assertSame(job: ExportJob, sink: Sink): void {
  const size = sink.sizeBytes();
  if (size !== job.bytes) throw differs(`it has ${size} bytes, ${job.bytes} were announced`);
  const sha256 = sink.sha256();
  if (sha256 !== job.sha256) {
    throw differs(`its sha-256 is ${sha256}, announced was ${job.sha256 ?? 'none'}`);
  }
}

function differs(difference: string): AppError {
  return new AppError('export_mismatch', {
    detail: `The file is not the job’s: ${difference}. Nothing was kept. Try again.`,
  });
}

/** Shows the progress of the whole file. Speed and time left are those of this run alone. */
function createDownloadProgress(
  { io }: Context,
  job: ExportJob,
  { label, resumedAt }: { label: string; resumedAt: number },
) {
  const startedAt = io.now();
  let size = resumedAt;
  const progress = createProgress(io, {
    label,
    total: job.bytes,
    describe: (done) => `${formatBytes(done)} of ${formatBytes(job.bytes)}`,
    pace() {
      const perMillis = (size - resumedAt) / Math.max(1, io.now() - startedAt);
      if (perMillis <= 0) return '';
      const left = formatClock(Math.max(0, job.bytes - size) / perMillis);
      return `${formatBytes(Math.round(perMillis * 1000))}/s   ${left} left`;
    },
  });
  return {
    update(sizeBytes: number) {
      size = sizeBytes;
      progress.update(sizeBytes, sizeBytes);
    },
    clear: () => progress.clear(),
  };
}
