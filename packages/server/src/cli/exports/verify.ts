import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import type { FileVerdict, PartVerdict } from '../../exports/jobs.contract.ts';
import { AppError } from '../../kernel/errors.ts';
import { numberOf } from '../../kernel/values.ts';
import { ApiError } from '../api-error.ts';
import type { Client } from '../client.ts';
import { columnsOf } from '../columns.ts';
import type { Context } from '../context.ts';
import { formatBytes, formatDuration } from '../format.ts';
import { styled } from '../io.ts';
import { type JsonOption, printObject } from '../output.ts';
import { createProgress } from '../progress.ts';
import { interrupted } from '../retry.ts';
import { createTable, printable } from '../table.ts';
import { readText, unreadable } from '../upload.ts';
import { shortSha256 } from './download.ts';
import { fetchStretch } from './get-file.ts';
import { assertHasFile, type ExportJob } from './jobs.ts';

type FileSource = Parameters<typeof import('../../app.ts')['verifyExport']>[1];

/** `file` and `manifest` are names of files; what is not named comes from the service. */
type VerifyRequest = {
  readonly id: string | undefined;
  readonly file?: string;
  readonly manifest?: string;
  readonly json: JsonOption;
};

/**
 * Verifies a file against its manifest and prints the verdict on each part. Throws `verify_failed` when they differ,
 * `file_unreadable` when one of the two cannot be read, and what the service refuses.
 */
export async function verifyExport(context: Context, request: VerifyRequest): Promise<void> {
  const { io } = context;
  const { file, json } = request;
  const startedAt = io.now();
  const { manifest, source, label } = await open(context, request);
  const progress = createProgress(io, {
    label,
    total: source.sizeBytes,
    describe: (done) => `${formatBytes(done)} of ${formatBytes(source.sizeBytes)}`,
  });
  const app = await import('../../app.ts');
  const verdict = await app
    .verifyExport(manifest, source, {
      log: app.createLog('warn'),
      signal: io.signal,
      onBytes: (bytes) => progress.update(bytes, bytes),
    })
    .catch((error: unknown) => {
      throw io.signal.aborted ? interrupted() : asScratchFault(error);
    })
    .finally(() => progress.clear());
  if (json !== undefined) {
    await printObject(context, JSON.stringify(verdict), json);
  } else await createTable(context, partColumns).write(verdict.parts);
  tell(context, verdict, {
    label,
    elapsedMillis: io.now() - startedAt,
    isLocal: file !== undefined,
  });
}

/** Opens file and manifest, each where it is. */
async function open(
  context: Context,
  { id, file, manifest: name }: VerifyRequest,
): Promise<{ manifest: string; source: FileSource; label: string }> {
  const { cwd } = context.io;
  const saved = name === undefined ? undefined : await readText(resolve(cwd, name));
  const local = file === undefined ? undefined : await openFile(resolve(cwd, file));
  if (saved !== undefined && local !== undefined && id === undefined) {
    return { manifest: saved, ...local };
  }
  const client = await context.connect();
  const job = await client.json('GET /exports/:id', { params: { id: id ?? '' } });
  if (local === undefined) assertHasFile(context, job);
  const manifest =
    saved ?? (await client.text('GET /exports/:id/manifest', { params: { id: job.id } }));
  return { manifest, ...(local ?? remoteFile(context, client, job)) };
}

async function openFile(path: string): Promise<{ source: FileSource; label: string }> {
  const found = await stat(path).catch((error: unknown) => {
    throw unreadable(path, error);
  });
  if (!found.isFile()) throw unreadable(path, new Error('it is not an ordinary file'));
  return {
    label: basename(path),
    source: {
      sizeBytes: found.size,
      async read({ start, end }, write) {
        if (start === end) return null;
        const stream = createReadStream(path, { start, end: end - 1, highWaterMark: 2 ** 20 });
        try {
          for await (const piece of stream) await write(piece as Buffer);
        } catch (error) {
          throw stream.errored === null ? error : unreadable(path, error);
        }
        return null;
      },
    },
  };
}

/** The file of a job as the service sends it. It checks a part before it sends any of it, and refuses one that is lost. */
function remoteFile(
  context: Context,
  client: Client,
  job: ExportJob,
): { source: FileSource; label: string } {
  return {
    label: job.file_name,
    source: {
      sizeBytes: job.bytes,
      async read(stretch, write) {
        let size = 0;
        const sink = {
          sizeBytes: () => size,
          async begin() {
            if (size === 0) return;
            throw new AppError('export_mismatch', {
              detail: 'The file changed while it was read. Verify it again.',
            });
          },
          async write(piece: Uint8Array) {
            size += piece.length;
            await write(piece);
          },
        };
        if (stretch.start === stretch.end) return null;
        try {
          await fetchStretch(context, client, { job, sink, stretch });
          return null;
        } catch (error) {
          if (error instanceof ApiError && error.code === 'segment_damaged') return error.detail;
          throw error;
        }
      },
    },
  };
}

/** A full disk, for instance, is no difference of the file. */
function asScratchFault(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof AppError || error instanceof ApiError) {
    return error;
  }
  return new AppError('verify_failed', {
    detail: `The verification could not be done: ${error.message.split('\n')[0]}. It needs room for two parts of the file in TMPDIR.`,
    cause: error,
  });
}

const { word, count, bytes } = columnsOf<PartVerdict>();

const partColumns = [
  word('PART', 'part', { align: 'right' }),
  word('VERDICT', ({ ok }) => (ok ? 'ok' : 'differs'), {
    shown: ({ ok }) => (ok ? '✓' : '✗ differs'),
  }),
  count('ROWS', 'rows'),
  word('DIGEST', 'digest'),
  bytes('BYTES', 'bytes'),
  word('SHA-256', 'sha256', {
    shown: ({ sha256 }) => (sha256 === null ? '–' : shortSha256(sha256)),
  }),
];

/**
 * Prints `✓ tx.csv.gz: 3 parts, 512,991 rows, 24 MB: rows, digests and SHA-256 are those of the manifest · 1.9 s`, or
 * each difference. Throws `verify_failed` when there are any.
 */
function tell(
  context: Context,
  { ok, proof, rows, bytes, parts, differences }: FileVerdict,
  { label, elapsedMillis, isLocal }: { label: string; elapsedMillis: number; isLocal: boolean },
): void {
  const mark = (text: string, colour: 'red' | 'green') =>
    styled(context.io, context.io.stderr, colour, text);
  if (ok) {
    const read = `${numberOf(parts.length, 'part')}, ${numberOf(rows ?? 0, 'row')}, ${formatBytes(bytes)}`;
    const compared =
      proof === 'content'
        ? 'rows, digests and SHA-256 are those of the manifest'
        : 'rows and SHA-256 are those of the manifest (columns that the digest needs are not in the file)';
    const took = formatDuration(elapsedMillis);
    context.note(`${mark('✓', 'green')} ${label}: ${read}: ${compared} · ${took}`);
    return;
  }
  for (const { kind, message } of differences) {
    context.note(`${mark('✗', 'red')} ${kind}  ${printable(message)}`);
  }
  const advice = isLocal
    ? 'Download it again, or verify the file of the service: svcctl exports verify ID.'
    : 'Start the export again, and do not use this file; the records themselves are not concerned.';
  throw new AppError('verify_failed', {
    detail: `${label} is not what its manifest says: ${numberOf(differences.length, 'difference')}. ${advice}`,
  });
}
