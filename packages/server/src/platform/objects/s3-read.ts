import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as wait } from 'node:timers/promises';
import {
  type ByteSink,
  type ByteStretch,
  isDiskFault,
  markerName,
  ObjectDamaged,
  type ObjectInfo,
  ObjectMissing,
  type OpenUpload,
  storeUnavailable,
} from './objects.ts';
import { optionsOf, type S3Store, targetOf } from './s3-client.ts';
import { isMissingKey, statusOf } from './s3-errors.ts';

type Download = {
  readonly key: string;
  readonly target: string | ByteSink;
  readonly signal: AbortSignal | undefined;
  readonly stretch: Stretch | undefined;
};

type Stretch = ByteStretch & { readonly sizeBytes: number };

/** Downloads an object or a stretch, again when the body breaks off: the SDK retries only until it begins. */
export async function get(
  store: S3Store,
  { key, target, signal, stretch }: Download,
  { attempts, onBytes }: { attempts: number; onBytes: (count: number) => void },
): Promise<void> {
  const Range = stretch && `bytes=${stretch.start}-${stretch.end - 1}`;
  for (let attempt = 1; ; attempt += 1) {
    const command = new store.sdk.GetObjectCommand({ ...targetOf(store, key), Range });
    const answer = await store.client.send(command, optionsOf(signal)).catch((error: unknown) => {
      if (statusOf(error) === 416) throw new ObjectDamaged(key, 'is shorter than it was');
      throw isMissingKey(error) ? new ObjectMissing(key) : error;
    });
    try {
      if (stretch !== undefined) assertStretch(store, answer.ContentRange, { key, stretch });
    } catch (error) {
      if (answer.Body instanceof Readable) answer.Body.destroy();
      throw error;
    }
    try {
      await writeBody(answer, target, { signal, onBytes });
      return;
    } catch (error) {
      if (typeof target === 'string') await rm(target, { force: true });
      if (attempt >= attempts || isDiskFault(error)) throw error;
      signal?.throwIfAborted();
      await wait(100 * 2 ** attempt, undefined, signal === undefined ? {} : { signal });
    }
  }
}

/** Checks that a store answers with the stretch that was asked for, and of an object of the right size. */
function assertStretch(
  { location }: S3Store,
  contentRange: string | undefined,
  { key, stretch: { start, end, sizeBytes } }: { key: string; stretch: Stretch },
): void {
  const [, from, to, size] = /^bytes (\d+)-(\d+)\/(\d+|\*)$/.exec(contentRange ?? '') ?? [];
  if (size !== undefined && size !== '*' && Number(size) !== sizeBytes) {
    throw new ObjectDamaged(key, `has ${size} bytes instead of ${sizeBytes}`);
  }
  if (Number(from) === start && Number(to) === end - 1) return;
  throw storeUnavailable(
    `The object ${key} cannot be read from ${location}`,
    'the store does not answer with the bytes that were asked for',
    { advice: 'Use a store, or a proxy before it, that keeps the header Range of GetObject.' },
  );
}

async function writeBody(
  answer: { Body?: unknown; ContentLength?: number | undefined },
  target: string | ByteSink,
  { signal, onBytes }: Pick<Download, 'signal'> & { onBytes: (count: number) => void },
): Promise<void> {
  const { Body, ContentLength } = answer;
  if (!(Body instanceof Readable)) throw new Error('the store answered without a body');
  let sizeBytes = 0;
  const count = (chunk: Buffer) => {
    sizeBytes += chunk.length;
    onBytes(chunk.length);
  };
  const options = signal === undefined ? {} : { signal };
  if (typeof target === 'string') {
    const file = createWriteStream(target, { highWaterMark: fileBufferBytes });
    Body.on('data', count);
    try {
      await pipeline(Body, file, options);
    } catch (error) {
      // The body may fail while the file is still being opened. It must not appear after the caller has removed it.
      if (!file.closed)
        await new Promise<void>((done) => file.destroy().once('close', () => done()));
      throw error;
    }
  } else {
    target.begin();
    const takeAll = async (chunks: AsyncIterable<Buffer>) => {
      for await (const chunk of chunks) {
        count(chunk);
        await target.write(chunk);
      }
    };
    await pipeline(Body, takeAll, options);
  }
  if (ContentLength !== undefined && sizeBytes !== ContentLength) {
    throw new Error(`the store sent ${sizeBytes} of ${ContentLength} bytes`);
  }
}

/** So much is written to a file at once, where it waits for the disk: by 64 KiB it took a third more CPU time. */
const fileBufferBytes = 1024 * 1024;

/** Returns the size of an object, or null when there is none. A bucket that is missing is an error. */
export async function head(
  store: S3Store,
  key: string,
  signal: AbortSignal | undefined,
): Promise<ObjectInfo | null> {
  const { sdk, client } = store;
  const target = targetOf(store, key);
  try {
    const command = new sdk.HeadObjectCommand(target);
    const { ContentLength } = await client.send(command, optionsOf(signal));
    return { key, sizeBytes: ContentLength ?? 0 };
  } catch (error) {
    const status = statusOf(error) ?? 0;
    if (status < 300 || status >= 500) throw error;
  }
  // The answer to a HEAD has no body, so a missing object, a missing bucket, a wrong region and a wrong key cannot be
  // told apart. The answer to a GET names what is wrong.
  try {
    const command = new sdk.GetObjectCommand(target);
    const { Body, ContentLength } = await client.send(command, optionsOf(signal));
    if (Body instanceof Readable) Body.destroy();
    return { key, sizeBytes: ContentLength ?? 0 };
  } catch (error) {
    if (isMissingKey(error)) return null;
    throw error;
  }
}

type Signal = { readonly signal: AbortSignal | undefined };

/** Lists the objects below a prefix: one page, and the token of the next. */
export async function listPage(
  { sdk, client, place }: S3Store,
  { prefix, token, signal }: { prefix: string; token: string | undefined } & Signal,
): Promise<{ objects: ObjectInfo[]; next: string | undefined }> {
  const root = place.prefix === '' ? '' : `${place.prefix}/`;
  const page = await client.send(
    new sdk.ListObjectsV2Command({
      Bucket: place.bucket,
      Prefix: `${root}${prefix}`,
      ...(token === undefined ? {} : { ContinuationToken: token }),
    }),
    optionsOf(signal),
  );
  const objects = (page.Contents ?? []).flatMap(({ Key, Size, LastModified }) =>
    // Some tools store empty objects as folders, with a `/` at the end. The marker is not an object either.
    Key === undefined || Key.endsWith('/') || Key.startsWith(`${root}${markerName}`)
      ? []
      : [
          {
            key: Key.slice(root.length),
            sizeBytes: Size ?? 0,
            ...(LastModified === undefined ? {} : { writtenAt: LastModified.getTime() }),
          },
        ],
  );
  return { objects, next: page.IsTruncated === true ? page.NextContinuationToken : undefined };
}

/** After which upload a page begins. */
export type UploadMarker = { readonly KeyMarker?: string; readonly UploadIdMarker?: string };

/** Lists the open uploads below a prefix in the same way. */
export async function listUploadsPage(
  { sdk, client, place }: S3Store,
  { prefix, after, signal }: { prefix: string; after: UploadMarker } & Signal,
): Promise<{ uploads: OpenUpload[]; next: UploadMarker | undefined }> {
  const root = place.prefix === '' ? '' : `${place.prefix}/`;
  const page = await client.send(
    new sdk.ListMultipartUploadsCommand({
      Bucket: place.bucket,
      Prefix: `${root}${prefix}`,
      ...after,
    }),
    optionsOf(signal),
  );
  const uploads = (page.Uploads ?? []).flatMap(({ Key, UploadId, Initiated }) =>
    // Some servers take the prefix only as a hint and list other keys too.
    Key === undefined || UploadId === undefined || !Key.startsWith(`${root}${prefix}`)
      ? []
      : [
          {
            id: UploadId,
            key: Key.slice(root.length),
            startedAt: Initiated?.getTime() ?? Number.POSITIVE_INFINITY,
          },
        ],
  );
  const { IsTruncated, NextKeyMarker: KeyMarker, NextUploadIdMarker: UploadIdMarker } = page;
  const hasMore = IsTruncated === true && KeyMarker !== undefined && KeyMarker !== '';
  return {
    uploads,
    next: hasMore
      ? { KeyMarker, ...(UploadIdMarker === undefined ? {} : { UploadIdMarker }) }
      : undefined,
  };
}
