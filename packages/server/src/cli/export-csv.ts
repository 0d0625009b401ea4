import { createHash } from 'node:crypto';
import { basename, resolve } from 'node:path';
import { AppError } from '../kernel/errors.ts';
import type { Client } from './client.ts';
import type { Context } from './context.ts';
import { createCsvCounter } from './csv-counter.ts';
import { type CsvDownload, requestCsv } from './csv-download.ts';
import { formatBytes, formatCount, formatDuration, formatNumberOf } from './format.ts';
import { countLeaves } from './leaf-count.ts';
import { checkTarget, createPartFile, type PartFile } from './part-file.ts';
import { createProgress } from './progress.ts';
import { interrupted } from './retry.ts';
import type { Days } from './slice.ts';
import { styled } from './style.ts';
import { OutputClosed } from './writer.ts';

export type ExportRequest = {
  slice: Days & { tenant: string; store: string | undefined };
  /** What else the call says. */
  body: object;
  hasHeader: boolean;
  /** The file, `-` for stdout, null for the name the service suggests. */
  out: string | null;
  mayReplace: boolean;
  isJson: boolean;
};

/** What passed through. */
type Received = { rows: number; sizeBytes: number; sha256: string };

/**
 * Downloads a CSV, counts and hashes it as it passes, and keeps it only when both are what the service
 * announced. Throws `export_mismatch` otherwise, `file_unreadable` when the file cannot be written.
 */
export async function exportCsv(context: Context, request: ExportRequest): Promise<void> {
  const { io } = context;
  const startedAt = io.now();
  const named = request.out === null || request.out === '-' ? null : resolve(io.cwd, request.out);
  // Before the service works for nothing.
  if (named !== null) await checkTarget(named, request.mayReplace);
  const client = await context.connect();
  const download = await requestCsv(io, client.connection, { ...request.slice, ...request.body });
  const path =
    request.out === '-' ? null : (named ?? resolve(io.cwd, suggestName(download, request)));
  let file: PartFile | undefined;
  try {
    file = path === null ? undefined : await createPartFile(path, request.mayReplace);
    const received = await receive(context, download, {
      label: path === null ? 'stdout' : basename(path),
      advice: path === null ? 'Do not use what was printed.' : 'No file was kept. Try again.',
      hasHeader: request.hasHeader,
      write: (piece) => (file === undefined ? context.out : file).write(piece),
    });
    await file?.keep();
    await report(context, client, { request, received, path, startedAt });
  } finally {
    download.cancel();
    await file?.discard();
  }
}

function suggestName(download: CsvDownload, { slice }: ExportRequest): string {
  const days = slice.month ?? `${slice.from}_${slice.to}`;
  const words = [slice.tenant, slice.store, days].filter((word) => word !== undefined);
  return download.fileName ?? `${words.join('-').replace(/[^\w.-]/g, '_')}.csv`;
}

type Target = {
  label: string;
  /** What to do when the export is not whole. */
  advice: string;
  hasHeader: boolean;
  write: (piece: Uint8Array) => Promise<void>;
};

/** Moves the bytes. Answers only when rows and digest are what was announced. */
async function receive(context: Context, download: CsvDownload, target: Target): Promise<Received> {
  const { io } = context;
  const counter = createCsvCounter(target.hasHeader);
  const hash = createHash('sha256');
  const total = formatCount(download.rowCount);
  const progress = createProgress(io, {
    label: target.label,
    total: download.rowCount,
    describe: (rows) => `${formatCount(rows)} of ${total} rows`,
  });
  let sizeBytes = 0;
  try {
    for await (const piece of download.pieces) {
      counter.add(piece);
      hash.update(piece);
      sizeBytes += piece.length;
      await target.write(piece);
      progress.update(counter.rows(), sizeBytes);
    }
  } catch (error) {
    if (io.signal.aborted) throw interrupted();
    if (error instanceof AppError || error instanceof OutputClosed) throw error;
    throw mismatch(`it ended after ${formatCount(counter.rows())} of ${total} rows`, target, error);
  } finally {
    progress.clear();
  }
  const received = { rows: counter.rows(), sizeBytes, sha256: hash.digest('hex') };
  const difference = differenceOf(received, download);
  if (difference !== null) throw mismatch(difference, target, undefined);
  return received;
}

function differenceOf(received: Received, download: CsvDownload): string | null {
  if (received.rows !== download.rowCount) {
    return `${formatNumberOf(received.rows, 'row')} came, ${formatCount(download.rowCount)} were announced`;
  }
  const announced = download.announcedSha256();
  if (announced === null) {
    return 'it came without its digest (trailer Repr-Digest). A proxy in between may have dropped it';
  }
  if (announced !== received.sha256) {
    return `its sha-256 is ${received.sha256}, announced was ${announced}`;
  }
  return null;
}

function mismatch(difference: string, target: Target, cause: unknown): AppError {
  return new AppError('export_mismatch', {
    detail: `The export is not whole: ${difference}. ${target.advice}`,
    cause,
  });
}

type Report = {
  request: ExportRequest;
  received: Received;
  path: string | null;
  startedAt: number;
};

/** ✓ tx-q1.csv: 512,991 rows, as many as its leaves hold · 246 MB · sha-256 9f3c…e1 equal · 1.9 s */
async function report(context: Context, client: Client, done: Report): Promise<void> {
  const { io } = context;
  const { request, received, path } = done;
  const elapsedMs = io.now() - done.startedAt;
  if (request.isJson) {
    const { rows, sizeBytes: bytes, sha256 } = received;
    await context.out.write(
      `${JSON.stringify({ file: path, rows, bytes, sha256, elapsed_ms: elapsedMs })}\n`,
    );
    return;
  }
  // Printed to a pipe, the data speaks for itself: only a person gets the line.
  if (path === null && io.stderr.isTTY !== true) return;
  const line = [
    `${path === null ? 'stdout' : basename(path)}: ${formatNumberOf(received.rows, 'row')}, ${await comparison(context, client, done)}`,
    formatBytes(received.sizeBytes),
    `sha-256 ${received.sha256.slice(0, 4)}…${received.sha256.slice(-2)} equal`,
    formatDuration(elapsedMs),
  ].join(' · ');
  context.note(`${styled(io, io.stderr, 'green', '✓')} ${line}`);
}

async function comparison(context: Context, client: Client, done: Report): Promise<string> {
  const { slice, body } = done.request;
  const isFiltered = Object.entries(body).some(
    ([name, value]) => (name === 'kind' || name === 'dataset') && value !== undefined,
  );
  const held = isFiltered ? null : await countLeaves(context.io, client, slice);
  if (held === null) return 'as many as announced';
  if (held === done.received.rows) return 'as many as its leaves hold';
  // Records came in since the export's snapshot.
  return `as many as announced (its leaves hold ${formatCount(held)} by now)`;
}
