import { createReadStream, type ReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { AppError } from '../kernel/errors.ts';
import type { Client, Route } from './client.ts';
import type { Context } from './context.ts';
import { formatBytes } from './format.ts';
import type { Io } from './io.ts';
import { createProgress, type Progress } from './progress.ts';
import { isUnreachable, withRetries } from './retry.ts';

/** A file, or stdin, that is being sent to the service. Only a few pieces of it are in memory at a time. */
export type Upload = {
  readonly label: string;
  /** The path as it was given; null means stdin. */
  readonly path: string | null;
  /** Whether it is compressed. */
  readonly isCoded: boolean;
  /** The size; 0 when it is unknown. */
  readonly sizeBytes: number;
  readonly headers: Record<string, string>;
  /** Whether it is one JSON batch rather than NDJSON. */
  readonly isBatch: boolean;
  /** Whether `read` may be called again from the start. */
  readonly isRepeatable: boolean;
  read(onSent: (sentBytes: number) => void): AsyncIterable<Uint8Array>;
  /** Closes the file. It is needed when an early answer leaves the rest unread. */
  stop(): void;
  /** Why reading has failed, if it has: the error of the call itself then says less. */
  readFailure(): AppError | undefined;
};

const prematureClose = 'ERR_STREAM_PREMATURE_CLOSE';
const pieceBytes = 256 * 1024;

/** Opens a file; `-` is stdin. Throws `file_unreadable`. */
export async function openUpload(io: Io, file: string): Promise<Upload> {
  const path = file === '-' ? null : resolve(io.cwd, file);
  const name = file.replace(/\.gz$/, '');
  const isCoded = file.endsWith('.gz');
  const isBatch = name.endsWith('.json');
  const headers: Record<string, string> = {
    'content-type': isBatch ? 'application/json' : 'application/x-ndjson',
    ...(isCoded ? { 'content-encoding': 'gzip' } : {}),
  };
  let failure: AppError | undefined;
  let opened: ReadStream | undefined;
  return {
    path: path === null ? null : file,
    isCoded,
    label: path === null ? 'stdin' : basename(path),
    sizeBytes: path === null ? 0 : await fileSize(path),
    headers,
    isBatch,
    isRepeatable: path !== null,
    async *read(onSent) {
      opened = path === null ? undefined : createReadStream(path, { highWaterMark: pieceBytes });
      let sent = 0;
      try {
        for await (const piece of opened ?? io.stdin) {
          const bytes = typeof piece === 'string' ? Buffer.from(piece) : piece;
          yield bytes;
          sent += bytes.length;
          onSent(sent);
        }
      } catch (error) {
        // A file is closed early by `stop` alone, behind an answer or a connection that was cut.
        if (path !== null && (error as NodeJS.ErrnoException).code === prematureClose) throw error;
        failure = unreadable(path ?? 'stdin', error);
        throw failure;
      }
    },
    stop: () => void opened?.destroy(),
    readFailure: () => failure,
  };
}

/** The bar that tells how much of a file is read. */
export function uploadProgress(io: Io, { label, sizeBytes }: Upload): Progress {
  return createProgress(io, {
    label,
    total: sizeBytes,
    describe: (done) =>
      sizeBytes === 0 ? formatBytes(done) : `${formatBytes(done)} of ${formatBytes(sizeBytes)}`,
  });
}

/**
 * Sends records to be stored, or only to be checked. A file is sent again while the service is busy. Answers the text of
 * the answer.
 */
export async function sendRecords(
  context: Context,
  client: Client,
  upload: Upload,
  query?: { dry_run: 'true' },
): Promise<string> {
  try {
    return await sendUpload(context, client, upload, { route: 'POST /enrichment/records', query });
  } catch (error) {
    if (!isUnreachable(error)) throw error;
    throw new AppError(error.code, {
      detail: `${error.detail} Sending the same again does no harm: what is stored is not stored twice.`,
      cause: error,
    });
  }
}

/** Sends what is taken twice as if it came once. A file is sent again while the service is busy. */
export async function sendUpload(
  context: Context,
  client: Client,
  upload: Upload,
  to: {
    route: Route;
    query?: Record<string, string> | undefined;
    headers?: Record<string, string>;
  },
): Promise<string> {
  const { route, query, headers } = to;
  const attempt = async () => {
    const progress = uploadProgress(context.io, upload);
    const body = upload.read((sent) => progress.update(sent, sent));
    try {
      return await client.upload(route, body, {
        headers: { ...upload.headers, ...headers },
        query,
      });
    } catch (error) {
      throw upload.readFailure() ?? error;
    } finally {
      progress.clear();
      upload.stop();
    }
  };
  if (!upload.isRepeatable) return attempt();
  return withRetries(context.io, attempt, (seconds, { code }) =>
    context.note(`The service cannot take it now (${code}); trying again in ${seconds} s …`),
  );
}

async function fileSize(path: string): Promise<number> {
  try {
    const found = await stat(path);
    if (found.isDirectory()) throw new Error('it is a folder');
    return found.size;
  } catch (error) {
    throw unreadable(path, error);
  }
}

/** Reads a small file whole. Throws `file_unreadable`. */
export async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw unreadable(path, error);
  }
}

/** The error for a file that cannot be read. */
export function unreadable(path: string, cause: unknown): AppError {
  const isMissing = (cause as NodeJS.ErrnoException).code === 'ENOENT';
  const reason = isMissing ? 'there is no such file' : (cause as Error).message;
  return new AppError('file_unreadable', { detail: `${path} cannot be read: ${reason}.`, cause });
}
