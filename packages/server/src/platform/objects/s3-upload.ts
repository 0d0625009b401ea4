import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import type { CompletedPart, S3Client } from '@aws-sdk/client-s3';
import { optionsOf, type S3Sdk } from './s3-client.ts';
import { codeOf } from './s3-errors.ts';

type Upload = {
  readonly sdk: S3Sdk;
  readonly client: S3Client;
  readonly target: { readonly Bucket: string; readonly Key: string };
  readonly path: string;
  readonly signal: AbortSignal | undefined;
};

/** A file larger than this is uploaded in parts. */
const singleBytes = 16 * 1024 * 1024;
/** All parts but the last are of this size, as R2 requires. S3 takes 10,000 of them: a file may have 78 GiB. */
const partBytes = 8 * 1024 * 1024;
const partsAtOnce = 3;
const abortMillis = 30_000;

/**
 * Uploads a local file and returns its size in bytes. What is being sent is held in memory, at most 24 MiB, because the
 * SDK sends it again when a try fails, and with a stream it could not. The server checks each body by its Content-MD5,
 * which is the one checksum that all S3 servers know. The object appears when all of it is sent.
 */
export async function uploadFile(upload: Upload): Promise<number> {
  const file = await open(upload.path, 'r');
  try {
    const { size } = await file.stat();
    const send = size > singleBytes ? uploadInParts : uploadWhole;
    await send(upload, file, size);
    return size;
  } finally {
    await file.close();
  }
}

async function uploadWhole(upload: Upload, file: FileHandle, size: number): Promise<void> {
  const { sdk, client, target } = upload;
  const command = new sdk.PutObjectCommand({
    ...target,
    ...bodyOf(await readRange(file, 0, size)),
    ContentType: contentType,
  });
  await client.send(command, paced(upload.signal, size));
}

const contentType = 'application/vnd.apache.parquet';

async function uploadInParts(upload: Upload, file: FileHandle, size: number): Promise<void> {
  const { sdk, client, target, signal } = upload;
  const created = await client.send(
    new sdk.CreateMultipartUploadCommand({ ...target, ContentType: contentType }),
    optionsOf(signal),
  );
  const part = { ...target, UploadId: created.UploadId };
  try {
    const Parts = await sendParts(upload, { file, size, part });
    await client.send(
      new sdk.CompleteMultipartUploadCommand({ ...part, MultipartUpload: { Parts } }),
      optionsOf(signal),
    );
  } catch (error) {
    // Parts of an upload that nobody completes are invisible and cost money until somebody removes them. Their removal
    // does not use the caller's signal, which may be what ended the upload.
    const abortSignal = AbortSignal.timeout(abortMillis);
    await abortUpload({ sdk, client, abortSignal }, part).catch((abortError: unknown) => {
      throw new AggregateError([error, abortError], 'the parts sent so far could not be removed');
    });
    throw error;
  }
}

type Part = {
  readonly Bucket: string;
  readonly Key: string;
  readonly UploadId: string | undefined;
};

/**
 * Sends a few parts at the same time. After the first failure no more are begun, and those on their way are waited for:
 * a part that arrives after its upload was aborted would stay.
 */
async function sendParts(
  { sdk, client, signal }: Upload,
  { file, size, part }: { file: FileHandle; size: number; part: Part },
): Promise<CompletedPart[]> {
  const sent: CompletedPart[] = [];
  const failures: unknown[] = [];
  let next = 0;
  const sendSome = async () => {
    while (failures.length === 0 && next * partBytes < size) {
      signal?.throwIfAborted();
      const index = next++;
      const start = index * partBytes;
      const body = await readRange(file, start, Math.min(partBytes, size - start));
      const PartNumber = index + 1;
      const command = new sdk.UploadPartCommand({ ...part, ...bodyOf(body), PartNumber });
      const { ETag } = await client.send(command, paced(signal, body.length));
      sent[index] = { ETag, PartNumber };
    }
  };
  const senders = Array.from({ length: partsAtOnce }, () =>
    sendSome().catch((error: unknown) => failures.push(error)),
  );
  await Promise.all(senders);
  if (failures.length > 0) throw failures[0];
  return sent;
}

/** Removes the parts of an upload that nobody will complete. It does no harm when the upload has ended. */
export async function abortUpload(
  { sdk, client, abortSignal }: Pick<Upload, 'sdk' | 'client'> & { abortSignal?: AbortSignal },
  part: Part,
): Promise<void> {
  try {
    await client.send(new sdk.AbortMultipartUploadCommand(part), optionsOf(abortSignal));
  } catch (error) {
    if (codeOf(error) !== 'NoSuchUpload') throw error;
  }
}

/** Options of a request with a body: all tries together may take 30 s, and 1 s more for each 64 KiB. */
function paced(signal: AbortSignal | undefined, sizeBytes: number) {
  const late = AbortSignal.timeout(30_000 + Math.ceil(sizeBytes / 64));
  return { abortSignal: signal === undefined ? late : AbortSignal.any([signal, late]) };
}

/** Returns the body of a request with the checksum and the length that S3 needs. */
export function bodyOf(Body: Buffer) {
  const ContentMD5 = createHash('md5').update(Body).digest('base64');
  return { Body, ContentMD5, ContentLength: Body.length };
}

/** Reads exactly `length` bytes. Throws when the file became shorter, as no complete object could be made from it. */
async function readRange(file: FileHandle, start: number, length: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await file.read(buffer, filled, length - filled, start + filled);
    if (bytesRead === 0) throw new Error(`the file became shorter while it was read, at ${start}`);
    filled += bytesRead;
  }
  return buffer;
}
