import { createWriteStream } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as wait } from 'node:timers/promises';
import type { S3Client } from '@aws-sdk/client-s3';
import {
  assertObjectKey,
  type ByteSink,
  type ByteStretch,
  isDiskFault,
  markerName,
  ObjectDamaged,
  type ObjectInfo,
  ObjectMissing,
  type ObjectStore,
  type OpenUpload,
  storeUnavailable,
} from './objects.ts';
import { fromS3, isMissingKey, statusOf } from './s3-errors.ts';
import { type MarkerStore, readMarker, swapMarker, tryConditions } from './s3-marker.ts';
import {
  abortUpload,
  createGrowth,
  type Growth,
  optionsOf,
  type S3Sdk,
  uploadFile,
  wholeFile,
} from './s3-upload.ts';
import { invalidBlobUrl, parseS3Url, type S3Place } from './s3-url.ts';

/** How long a request to S3 may take, and how often it is tried. */
export type S3Limits = {
  /** How often one request is tried, counting the first try. */
  readonly attempts: number;
  readonly connectMillis: number;
  /** The time from the first byte of the request to the first byte of the answer. */
  readonly answerMillis: number;
  /** The longest time in which no byte moves in either direction. */
  readonly idleMillis: number;
  /** The time for a read with all its tries. It may take one second more for each 256 KiB that came. */
  readonly readMillis: number;
};

const usualLimits: S3Limits = {
  attempts: 4,
  connectMillis: 5_000,
  answerMillis: 120_000,
  idleMillis: 30_000,
  readMillis: 15_000,
};

const leastBytesPerMilli = 256;

/**
 * Keeps objects in a bucket of S3, or of a server that speaks its protocol, below
 * `s3://bucket/prefix?endpoint=…&region=…&pathStyle=true|false`. The credentials come from where the SDK looks for
 * them: the environment, a profile or a role. Throws `settings_invalid`.
 */
export async function createS3Store(
  url: string,
  limits: S3Limits = usualLimits,
): Promise<ObjectStore> {
  const place = parseS3Url(url);
  // The SDK costs 60 ms and 20 MB, so it is loaded only by those who use S3.
  const sdk = await import('@aws-sdk/client-s3');
  const client = createClient(sdk, place, limits);
  await client.config.region().catch((error: unknown) => {
    client.destroy();
    throw invalidBlobUrl('names no region, nor does AWS_REGION: add ?region=', error);
  });
  const { bucket, prefix } = place;
  const location = `s3://${bucket}${prefix === '' ? '' : `/${prefix}`}`;
  const store = { sdk, client, place, location };
  const read = <T>(what: string, signal: AbortSignal | undefined, work: Reading<T>) =>
    guarded(what, signal, () => inTime(what, signal, { limits, work }));
  const beside: MarkerStore = { sdk, client, location, at: (key) => locate(place, key) };
  let isTried = false;
  const tryWrite = async (signal: AbortSignal | undefined) => {
    await guarded(`Nothing can be written to ${location}`, signal, () =>
      tryConditions(beside, signal),
    );
    isTried = true;
  };
  return {
    location,
    async put(key, path, signal) {
      await guarded(`The object ${key} cannot be written to ${location}`, signal, async () => {
        const { size } = await stat(path);
        await put(store, { key, path, signal, growth: wholeFile(size) });
      });
    },
    beginPut(key, path, signal) {
      targetOf(store, key);
      const gone = new AbortController();
      const own = signal === undefined ? gone.signal : AbortSignal.any([signal, gone.signal]);
      const growth = createGrowth();
      const done = guarded(`The object ${key} cannot be written to ${location}`, own, () =>
        put(store, { key, path, signal: own, growth }),
      );
      // Whoever finishes it gets the error; before that nobody waits for it.
      done.catch(() => {});
      return {
        grown: (bytes) => growth.grown(bytes),
        async finish() {
          growth.end((await stat(path)).size);
          await done;
        },
        async giveUp() {
          gone.abort(new Error('the object is not wanted any more'));
          await done.catch(() => {});
        },
      };
    },
    get: (key, target, signal, stretch) =>
      read(`The object ${key} cannot be read from ${location}`, signal, (own, onBytes) =>
        get(store, { key, target, signal: own, stretch }, { attempts: limits.attempts, onBytes }),
      ),
    head: (key, signal) =>
      read(`The object ${key} cannot be read from ${location}`, signal, (own) =>
        head(store, key, own),
      ),
    async *list(prefix, signal) {
      let token: string | undefined;
      do {
        const page = await read(`The objects in ${location} cannot be listed`, signal, (own) =>
          listPage(store, { prefix, token, signal: own }),
        );
        yield* page.objects;
        token = page.next;
      } while (token !== undefined);
    },
    async *listUploads(prefix, signal) {
      let after: UploadMarker | undefined = {};
      do {
        const from: UploadMarker = after;
        const page = await guarded(`The uploads to ${location} cannot be listed`, signal, () =>
          listUploadsPage(store, { prefix, after: from, signal }),
        );
        yield* page.uploads;
        after = page.next;
      } while (after !== undefined);
    },
    endUpload: ({ id, key }, signal) =>
      guarded(`An upload of ${key} to ${location} cannot be ended`, signal, () =>
        abortUpload(
          { sdk, client, ...optionsOf(signal) },
          { ...targetOf(store, key), UploadId: id },
        ),
      ),
    remove: (key, signal) =>
      guarded(`The object ${key} cannot be removed from ${location}`, signal, () =>
        remove(store, key, signal),
      ),
    marker: {
      read: (signal) =>
        guarded(
          `The marker of ${location} cannot be read`,
          signal,
          async () => (await readMarker(beside, signal))?.text ?? null,
        ),
      async swap(expected, text, signal) {
        // The store is tried before the first swap: a server that ignores the condition would make every swap look as
        // if it had succeeded.
        if (!isTried) await tryWrite(signal);
        return guarded(`The marker of ${location} cannot be written`, signal, () =>
          swapMarker(beside, { expected, text }, signal),
        );
      },
    },
    tryWrite,
    pathOf: () => null,
    async close() {
      client.destroy();
    },
  };
}

type S3Store = {
  readonly sdk: S3Sdk;
  readonly client: S3Client;
  readonly place: S3Place;
  readonly location: string;
};

type Transfer = {
  readonly key: string;
  readonly path: string;
  readonly signal: AbortSignal | undefined;
};

type Download = {
  readonly key: string;
  readonly target: string | ByteSink;
  readonly signal: AbortSignal | undefined;
  readonly stretch: Stretch | undefined;
};

function createClient(sdk: S3Sdk, place: S3Place, limits: S3Limits): S3Client {
  const { endpoint, region, pathStyle } = place;
  return new sdk.S3Client({
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(region === undefined ? {} : { region }),
    forcePathStyle: pathStyle,
    maxAttempts: limits.attempts,
    // By default newer SDKs send a CRC in a trailer after an aws-chunked body, and ask for one with every answer. Older
    // MinIO and Ceph, R2 and Garage refuse one or the other. All of them check the Content-MD5 that every upload
    // carries, and what is downloaded is checked by its SHA-256.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      connectionTimeout: limits.connectMillis,
      requestTimeout: limits.answerMillis,
      throwOnRequestTimeout: true,
      socketTimeout: limits.idleMillis,
    },
  });
}

/**
 * Throws the reason of the signal when the work was aborted, and any other error as a 503 that says what could not be
 * done.
 */
async function guarded<T>(
  what: string,
  signal: AbortSignal | undefined,
  work: () => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted();
  try {
    return await work();
  } catch (error) {
    signal?.throwIfAborted();
    throw error instanceof RangeError ? error : fromS3(error, what);
  }
}

type Reading<T> = (signal: AbortSignal, onBytes: (count: number) => void) => Promise<T>;

/**
 * Ends a read when the store hangs, because all tries together would take minutes. A read whose bytes keep coming may
 * take long.
 */
async function inTime<T>(
  what: string,
  signal: AbortSignal | undefined,
  { limits, work }: { limits: S3Limits; work: Reading<T> },
): Promise<T> {
  const late = new AbortController();
  const startedAt = performance.now();
  let bytes = 0;
  let timer: NodeJS.Timeout | undefined;
  const look = () => {
    const dueAt = startedAt + limits.readMillis + bytes / leastBytesPerMilli;
    const left = dueAt - performance.now();
    if (left > 0) timer = setTimeout(look, left);
    else late.abort();
  };
  look();
  try {
    const either = signal === undefined ? late.signal : AbortSignal.any([signal, late.signal]);
    return await work(either, (count) => {
      bytes += count;
    });
  } catch (error) {
    if (!late.signal.aborted) throw error;
    const why = `the store sent ${bytes} bytes in ${Math.round(performance.now() - startedAt)} ms`;
    throw storeUnavailable(what, why, { cause: error });
  } finally {
    clearTimeout(timer);
  }
}

/** Uploads a file and asks for its size afterwards, because some servers acknowledge what they did not keep whole. */
async function put(
  store: S3Store,
  { key, growth, ...file }: Transfer & { growth: Growth },
): Promise<void> {
  const { sdk, client } = store;
  const { signal } = file;
  const target = targetOf(store, key);
  const sizeBytes = await uploadFile({ sdk, client, target, growth, ...file });
  const found = await head(store, key, signal);
  if (found?.sizeBytes === sizeBytes) return;
  throw storeUnavailable(
    `The object ${key} cannot be written to ${store.location}`,
    `of its ${sizeBytes} bytes ${found?.sizeBytes ?? 0} are there`,
  );
}

type Stretch = ByteStretch & { readonly sizeBytes: number };

/** Downloads an object or a stretch of it. It tries again when the body breaks off, because the SDK retries only until the body begins. */
async function get(
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
  { signal, onBytes }: Pick<Transfer, 'signal'> & { onBytes: (count: number) => void },
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

async function head(
  store: S3Store,
  key: string,
  signal: AbortSignal | undefined,
): Promise<ObjectInfo | null> {
  const { sdk, client, place } = store;
  try {
    const command = new sdk.HeadObjectCommand(targetOf(store, key));
    const { ContentLength } = await client.send(command, optionsOf(signal));
    return { key, sizeBytes: ContentLength ?? 0 };
  } catch (error) {
    if (statusOf(error) !== 404) throw error;
    // The answer to a HEAD has no body, so a missing object and a missing bucket look the same.
    const bucket = new sdk.HeadBucketCommand({ Bucket: place.bucket });
    await client.send(bucket, optionsOf(signal)).catch((fault: unknown) => {
      // A user may be allowed to read objects without being allowed to ask for their bucket.
      if (statusOf(fault) === 403) return;
      throw statusOf(fault) === 404
        ? Object.assign(new Error(`there is no bucket ${place.bucket}`), { code: 'NoSuchBucket' })
        : fault;
    });
    return null;
  }
}

async function listPage(
  { sdk, client, place }: S3Store,
  {
    prefix,
    token,
    signal,
  }: { prefix: string; token: string | undefined } & Pick<Transfer, 'signal'>,
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
  const objects = (page.Contents ?? []).flatMap(({ Key, Size }) =>
    // Some tools store empty objects as folders, with a `/` at the end. The marker is not an object either.
    Key === undefined || Key.endsWith('/') || Key.startsWith(`${root}${markerName}`)
      ? []
      : [{ key: Key.slice(root.length), sizeBytes: Size ?? 0 }],
  );
  return { objects, next: page.IsTruncated === true ? page.NextContinuationToken : undefined };
}

type UploadMarker = { readonly KeyMarker?: string; readonly UploadIdMarker?: string };

async function listUploadsPage(
  { sdk, client, place }: S3Store,
  { prefix, after, signal }: { prefix: string; after: UploadMarker } & Pick<Transfer, 'signal'>,
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

async function remove(store: S3Store, key: string, signal: AbortSignal | undefined): Promise<void> {
  const { sdk, client } = store;
  try {
    await client.send(new sdk.DeleteObjectCommand(targetOf(store, key)), optionsOf(signal));
  } catch (error) {
    if (!isMissingKey(error)) throw error;
  }
}

function targetOf({ place }: S3Store, key: string): { Bucket: string; Key: string } {
  assertObjectKey(key);
  return locate(place, key);
}

function locate({ bucket, prefix }: S3Place, key: string): { Bucket: string; Key: string } {
  return { Bucket: bucket, Key: prefix === '' ? key : `${prefix}/${key}` };
}
