import { basename, resolve } from 'node:path';
import { AppError } from '../../kernel/errors.ts';
import { numberOf } from '../../kernel/values.ts';
import type { Client } from '../client.ts';
import type { Context } from '../context.ts';
import { type AskedSlice, noteEmptySlice } from '../empty-slice.ts';
import { formatBytes, formatDuration } from '../format.ts';
import { usage } from '../help.ts';
import { styled } from '../io.ts';
import { createProgress, type ProgressOptions } from '../progress.ts';
import { checkTarget, createStdoutSink, openPartFile, type Sink } from './part-file.ts';

/** Where a file goes, and how its download is told. */
export type DownloadRequest = {
  /** The name of the file; `-` means stdout, null the name that the service suggests. */
  readonly out: string | null;
  readonly mayReplace: boolean;
  readonly isJson: boolean;
  /** Opens what takes the bytes; by default a file that gets its name in the end. */
  readonly open?: typeof openPartFile;
};

/** The request by the options --out, --force and --json. Throws `usage_invalid` when they contradict each other. */
export function requestOf(
  context: Context,
  { out, force, json }: { out?: string; force?: true; json?: true },
): DownloadRequest {
  if (json && (out === undefined || out === '-')) {
    throw usage('--json needs --out FILE: stdout holds one of the two.');
  }
  return {
    out: out ?? (context.isTerminal ? null : '-'),
    mayReplace: force === true,
    isJson: json === true,
  };
}

/** Throws `usage_invalid` when two are one, and `file_unreadable` when one is taken. This is checked before the service works for nothing. */
export async function checkNames(
  { io }: Context,
  names: readonly (string | null)[],
  mayReplace: boolean,
): Promise<void> {
  const paths = names.flatMap((name) =>
    name === null || name === '-' ? [] : [resolve(io.cwd, name)],
  );
  if (new Set(paths).size < paths.length) throw usage('Each file needs a name of its own.');
  for (const path of paths) await checkTarget(path, mayReplace);
}

/** A file of the service. */
export type RemoteFile = {
  /** The name that the service suggests. */
  readonly name: string;
  /** The SHA-256 of a file that was made before; null for one that is made while it comes, which nothing can go on with. */
  readonly sha256: string | null;
  readonly progress: Pick<ProgressOptions, 'total' | 'describe'>;
  /**
   * Brings what the sink does not have yet, and calls `onPiece` after each piece with how much is done of the total.
   * Answers how often the connection broke.
   */
  fetch(sink: Sink, onPiece: (done: number) => void): Promise<number>;
  /** In what the bytes differ from what was announced; null when they do not. */
  difference(sink: Sink): string | null;
  /** Says what is left in FILE.part, and the command that goes on with it. */
  left?(sizeBytes: number, path: string): string;
};

/** What was downloaded. `resumedAt`: bytes that were there already; `breaks`: how often the connection broke. */
type Downloaded = {
  readonly path: string | null;
  readonly label: string;
  readonly sizeBytes: number;
  readonly sha256: string;
  readonly resumedAt: number;
  readonly breaks: number;
};

/**
 * Downloads a file and shows its progress. The file gets its name only when it is what was announced. Throws
 * `export_mismatch` otherwise. After a failure it keeps what a later run can go on with.
 */
export async function download(
  context: Context,
  file: RemoteFile,
  { out, mayReplace, open = openPartFile }: DownloadRequest,
): Promise<Downloaded> {
  const { io } = context;
  const path = out === '-' ? null : resolve(io.cwd, out ?? file.name);
  const label = path === null ? 'stdout' : basename(path);
  const { sha256 } = file;
  const sink =
    path === null
      ? createStdoutSink(context.out)
      : await open(path, { mayReplace, sha256, signal: io.signal });
  const resumedAt = sink.sizeBytes();
  const progress = createProgress(io, { ...file.progress, label, doneBefore: resumedAt });
  let isOfUse = sha256 !== null;
  try {
    const breaks = await file.fetch(sink, (done) => progress.update(done, sink.sizeBytes()));
    progress.clear();
    // If a complete file is another one, or cannot get its name because another run was faster, it is of no use.
    isOfUse = false;
    const difference = file.difference(sink);
    if (difference !== null) throw notWhole(difference, sink);
    await sink.keep();
    return { path, label, resumedAt, breaks, sizeBytes: sink.sizeBytes(), sha256: sink.sha256() };
  } catch (error) {
    progress.clear();
    if (!isOfUse || sink.sizeBytes() === 0) await sink.discard();
    const left = await sink.leave();
    if (left > 0 && path !== null) context.note(file.left?.(left, path) ?? '');
    throw error;
  }
}

/** The error for bytes that are not the file which was announced. */
export function notWhole(difference: string, sink: Sink, cause?: unknown): AppError {
  const advice = sink.isPrinted ? 'Do not use what was printed.' : 'No file was kept. Try again.';
  return new AppError('export_mismatch', {
    detail: `The export is not whole: ${difference}. ${advice}`,
    cause,
  });
}

type Report = {
  readonly request: DownloadRequest;
  /** What is told of when there are no rows; null when it had records, and they make none. */
  readonly asked: AskedSlice | null;
  readonly rows: number;
  readonly startedAt: number;
  /** More members of the JSON. */
  readonly members?: object;
  /** With what rows and SHA-256 were compared. */
  compared: () => Promise<{ rows: string; sha256: string }>;
};

/**
 * Prints what was downloaded: `✓ tx-q1.csv: 512,991 rows, as many as its leaves hold · 246 MB · sha-256 9f3c…e1 equal ·
 * 1.9 s`.
 */
export async function report(
  context: Context,
  client: Client,
  { path, label, sizeBytes, sha256, resumedAt, breaks }: Downloaded,
  { request, asked, rows, startedAt, members, compared }: Report,
): Promise<void> {
  const { io } = context;
  const elapsedMillis = io.now() - startedAt;
  if (request.isJson) {
    const written = { file: path, rows, bytes: sizeBytes, sha256, elapsed_ms: elapsedMillis };
    await context.out.write(`${JSON.stringify({ ...written, ...members })}\n`);
  } else if (path !== null || io.stderr.isTTY === true) {
    // When the data goes to a pipe and stderr is no terminal, nobody would read the line.
    const equal = await compared();
    const parts = [
      `${label}: ${numberOf(rows, 'row')}${equal.rows}`,
      formatBytes(sizeBytes),
      `sha-256 ${shortSha256(sha256)} ${equal.sha256}`,
      ...(resumedAt > 0 ? [`went on at ${formatBytes(resumedAt)}`] : []),
      ...(breaks > 0 ? [`broke off ${numberOf(breaks, 'time')}`] : []),
      formatDuration(elapsedMillis),
    ];
    context.note(`${styled(io, io.stderr, 'green', '✓')} ${parts.join(' · ')}`);
  }
  if (rows === 0 && asked !== null) await noteEmptySlice(context, client, asked);
}

/** A SHA-256 shortened to its two ends: `9f3c…e1`. */
export function shortSha256(sha256: string): string {
  return `${sha256.slice(0, 4)}…${sha256.slice(-2)}`;
}

/**
 * A foreign name as one for a file in this folder, without anything that could lead elsewhere; null when nothing is
 * left of it.
 */
export function safeName(name: string): string | null {
  const safe = name.replace(/[\u0000-\u001f\u007f-\u009f/\\]/g, '_').replace(/^\.+/, '');
  return safe === '' ? null : safe.slice(0, 200);
}
