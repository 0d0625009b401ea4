import { createHash } from 'node:crypto';
import { basename, resolve } from 'node:path';
import {
  type Compression,
  type ExportFormat,
  fileExtension,
  type Profile,
} from '../../exports/values.ts';
import { AppError } from '../../kernel/errors.ts';
import type { DatasetName } from '../../records/values.ts';
import type { Client } from '../client.ts';
import type { Context } from '../context.ts';
import { type AskedSlice, noteEmptySlice } from '../empty-slice.ts';
import { formatBytes, formatCount, formatDuration, formatNumberOf } from '../format.ts';
import { type Io, OutputClosed, styled } from '../io.ts';
import { parsePage } from '../pages.ts';
import { checkTarget, createPartFile, type PartFile } from '../part-file.ts';
import { createProgress } from '../progress.ts';
import { afterShortWaits, interrupted } from '../retry.ts';
import { type Days, wholeMonths } from '../slice.ts';
import { type FileAnswer, openAnswer } from './open-answer.ts';
import { createRowCounter } from './row-counter.ts';

export type StreamRequest = {
  slice: Days & { tenant: string; store: string | undefined };
  format: ExportFormat;
  compression: Compression;
  /** The other fields of the request. */
  body: Pick<AskedSlice, 'kind' | 'version' | 'split'> & {
    dataset?: DatasetName | undefined;
    profile?: Profile | undefined;
  };
  /** How many rows the dataset version should have; null without a version, or when that is not known. */
  versionRows: number | null;
  hasHeader: boolean;
  /** The name of the file; `-` means stdout, null the name that the service suggests. */
  out: string | null;
  mayReplace: boolean;
  isJson: boolean;
};

/** What was received. */
type Received = { rows: number; sizeBytes: number; sha256: string };

/**
 * Downloads an export while the service makes it. It counts and hashes what passes through, and keeps the file only
 * when both are what the service announced. Throws `export_mismatch` otherwise, and `file_unreadable` when the file
 * cannot be written.
 */
export async function streamExport(
  context: Context,
  client: Client,
  request: StreamRequest,
): Promise<void> {
  const { io } = context;
  const startedAt = io.now();
  const named = request.out === null || request.out === '-' ? null : resolve(io.cwd, request.out);
  // Checked first, so that the service does not work for nothing.
  if (named !== null) await checkTarget(named, request.mayReplace);
  const call = {
    method: 'POST',
    path: `/exports/${request.format}`,
    body: { ...request.slice, ...request.body },
  } as const;
  const answer = await afterShortWaits(io, () => openAnswer(io, client.connection, call));
  const path =
    request.out === '-' ? null : (named ?? resolve(io.cwd, suggestName(answer, request)));
  let file: PartFile | undefined;
  try {
    const rowCount = announcedRows(client, answer);
    file = path === null ? undefined : await createPartFile(path, request.mayReplace);
    const received = await receive(context, answer, {
      request,
      rowCount,
      label: path === null ? 'stdout' : basename(path),
      advice: path === null ? 'Do not use what was printed.' : 'No file was kept. Try again.',
      write: (piece) => (file === undefined ? context.out : file).write(piece),
    });
    await file?.keep();
    await report(context, client, { request, received, path, startedAt });
    if (received.rows === 0)
      await noteEmptySlice(context, client, { ...request.slice, ...request.body });
  } finally {
    answer.cancel();
    await file?.discard();
  }
}

function announcedRows(client: Client, { headers }: FileAnswer): number {
  const rowCount = Number(headers['x-record-count'] ?? Number.NaN);
  if (Number.isSafeInteger(rowCount)) return rowCount;
  throw new AppError('answer_unexpected', {
    detail: `${client.connection.url} answered an export without X-Record-Count. Is this the right URL?`,
  });
}

/** The name for the file: what the service suggests, or one made of the slice. */
function suggestName(answer: FileAnswer, request: StreamRequest): string {
  const suggested = suggestedName(answer.headers['content-disposition']);
  if (suggested !== null) return suggested;
  const { tenant, store, month, from, to } = request.slice;
  const days = month ?? (from === undefined ? undefined : `${from}_${to}`);
  const words = [tenant, store, days].filter((word) => word !== undefined);
  const extension = fileExtension(request.format, request.compression);
  return `${words.join('-').replace(/[^\w.-]/g, '_')}${extension}`;
}

type Target = {
  request: StreamRequest;
  rowCount: number;
  label: string;
  /** What to do when the export is not complete. */
  advice: string;
  write: (piece: Uint8Array) => Promise<void>;
};

/** Moves the bytes to the target. Resolves only when rows and digest are what was announced. */
async function receive(context: Context, answer: FileAnswer, target: Target): Promise<Received> {
  const { io } = context;
  const { rowCount } = target;
  const counter = createRowCounter(target.request);
  const hash = createHash('sha256');
  const total = formatCount(rowCount);
  let sizeBytes = 0;
  const soFar = (rows: number | null) =>
    rows === null ? formatBytes(sizeBytes) : `${formatCount(rows)} of ${total} rows`;
  const isCounted = counter.rows() !== null;
  const progress = createProgress(io, {
    label: target.label,
    total: isCounted ? rowCount : 0,
    describe: (rows) => soFar(isCounted ? rows : null),
  });
  try {
    for await (const piece of answer.pieces) {
      hash.update(piece);
      sizeBytes += piece.length;
      await target.write(piece);
      await counter.add(piece);
      progress.update(counter.rows() ?? 0, sizeBytes);
    }
    await counter.end();
  } catch (error) {
    if (io.signal.aborted) throw interrupted();
    if (error instanceof AppError || error instanceof OutputClosed) throw error;
    throw mismatch(`it ended after ${soFar(counter.rows())}`, target, error);
  } finally {
    progress.clear();
  }
  const sha256 = hash.digest('hex');
  const announced = parseReprDigest(answer.trailer('repr-digest'));
  const difference = rowDifference(counter.rows(), rowCount) ?? digestDifference(sha256, announced);
  if (difference !== null) throw mismatch(difference, target, undefined);
  return { rows: rowCount, sizeBytes, sha256 };
}

function rowDifference(rows: number | null, announced: number): string | null {
  if (rows === null || rows === announced) return null;
  return `${formatNumberOf(rows, 'row')} came, ${formatCount(announced)} were announced`;
}

function digestDifference(sha256: string, announced: string | null): string | null {
  if (announced === sha256) return null;
  if (announced !== null) return `its sha-256 is ${sha256}, announced was ${announced}`;
  return 'it came without its digest (trailer Repr-Digest). A proxy in between may have dropped it';
}

function mismatch(difference: string, target: Target, cause: unknown): AppError {
  return new AppError('export_mismatch', {
    detail: `The export is not whole: ${difference}. ${target.advice}`,
    cause,
  });
}

type Report = {
  request: StreamRequest;
  received: Received;
  path: string | null;
  startedAt: number;
};

/**
 * Prints the result: `✓ tx-q1.csv: 512,991 rows, as many as its leaves hold · 246 MB · sha-256 9f3c…e1 equal · 1.9 s`.
 */
async function report(context: Context, client: Client, done: Report): Promise<void> {
  const { io } = context;
  const { request, received, path } = done;
  const elapsedMillis = io.now() - done.startedAt;
  if (request.isJson) {
    const { rows, sizeBytes: bytes, sha256 } = received;
    await context.out.write(
      `${JSON.stringify({ file: path, rows, bytes, sha256, elapsed_ms: elapsedMillis })}\n`,
    );
    return;
  }
  // When the data goes to a pipe and stderr is no terminal, nobody would read the line.
  if (path === null && io.stderr.isTTY !== true) return;
  const line = [
    `${path === null ? 'stdout' : basename(path)}: ${formatNumberOf(received.rows, 'row')}, ${await comparison(context, client, done)}`,
    formatBytes(received.sizeBytes),
    `sha-256 ${shortSha256(received.sha256)} equal`,
    formatDuration(elapsedMillis),
  ].join(' · ');
  context.note(`${styled(io, io.stderr, 'green', '✓')} ${line}`);
}

/** A SHA-256 shortened to its two ends: `9f3c…e1`. */
export function shortSha256(sha256: string): string {
  return `${sha256.slice(0, 4)}…${sha256.slice(-2)}`;
}

const narrowing = ['kind', 'dataset', 'version', 'split'];

/** Says with what the number of rows was compared. */
async function comparison(context: Context, client: Client, done: Report): Promise<string> {
  const { slice, body, versionRows } = done.request;
  if (versionRows === done.received.rows) return 'as many as the version holds';
  const isFiltered = Object.entries(body).some(
    ([name, value]) => narrowing.includes(name) && value !== undefined,
  );
  const held = isFiltered ? null : await countLeaves(context.io, client, slice);
  if (held === null) return 'as many as announced';
  if (held === done.received.rows) return 'as many as its leaves hold';
  // Records have come in since the export took its snapshot.
  return `as many as announced (its leaves hold ${formatCount(held)} by now)`;
}

/** The SHA-256 of the header Repr-Digest (`sha-256=:…:`, RFC 9530) in hex; null when it has none. */
export function parseReprDigest(value: string | undefined): string | null {
  const base64 = /(?:^|[,\s])sha-256=:([A-Za-z0-9+/=]+):/.exec(value ?? '')?.[1];
  return base64 === undefined ? null : Buffer.from(base64, 'base64').toString('hex');
}

/** The file name of the header Content-Disposition, made safe as by `safeName`. */
export function suggestedName(header: string | undefined): string | null {
  const encoded = /filename\*=UTF-8''([^;\s]+)/i.exec(header ?? '')?.[1];
  const plain = /filename="((?:[^"\\]|\\.)*)"|filename=([^;\s"]+)/i.exec(header ?? '');
  const name =
    encoded === undefined ? (plain?.[1] ?? plain?.[2])?.replace(/\\(.)/g, '$1') : decode(encoded);
  return name === undefined ? null : safeName(name);
}

/**
 * A foreign name as one for a file in this folder, without anything that could lead elsewhere; null when nothing is
 * left of it.
 */
export function safeName(name: string): string | null {
  const safe = name.replace(/[\u0000-\u001f\u007f-\u009f/\\]/g, '_').replace(/^\.+/, '');
  return safe === '' ? null : safe.slice(0, 200);
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

const mostMonths = 36;

/**
 * How many records the leaves of a slice hold. Null when leaves cannot tell: the slice cuts through months or has too
 * many of them, or the token may export but not browse.
 */
export async function countLeaves(
  io: Io,
  client: Client,
  slice: Days & { tenant: string; store: string | undefined },
): Promise<number | null> {
  const months = wholeMonths(slice);
  if (months === null || months.length > mostMonths) return null;
  const { tenant, store } = slice;
  const level = store === undefined ? 'tenant' : 'store';
  let sum = 0;
  for (const month of months) {
    let page: string;
    try {
      page = await client.text('GET /enrichment/datasets', {
        query: { tenant, store, month, level },
      });
    } catch (error) {
      if (io.signal.aborted) throw error;
      // Failing here does no harm: the export is proved by count and digest, and this only says so in other words.
      return null;
    }
    for (const row of parsePage(page).rows) sum += (JSON.parse(row) as { count: number }).count;
  }
  return sum;
}
