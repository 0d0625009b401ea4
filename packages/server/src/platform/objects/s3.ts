import { type ObjectStore, storeUnavailable } from './objects.ts';
import {
  createClient,
  locate,
  optionsOf,
  type S3Credentials,
  type S3Limits,
  type S3Store,
  targetOf,
  usualLimits,
  watchClock,
} from './s3-client.ts';
import { fromS3, isMissingKey, statusOf } from './s3-errors.ts';
import { readMarker, swapMarker, tryConditions } from './s3-marker.ts';
import { get, head, listPage, listUploadsPage, type UploadMarker } from './s3-read.ts';
import { abortUpload, uploadFile } from './s3-upload.ts';
import { invalidBlobUrl, parseS3Url, type S3Place } from './s3-url.ts';

const leastBytesPerMilli = 256;

/**
 * Keeps objects in a bucket of S3, or of a server that speaks its protocol, below
 * `s3://bucket/prefix?endpoint=…&region=…&pathStyle=true|false`. Credentials that are not given come from where the SDK
 * looks for them: the environment, a profile or a role. Throws `settings_invalid`.
 */
export async function createS3Store(
  url: string,
  limits: S3Limits = usualLimits,
  credentials?: S3Credentials,
): Promise<ObjectStore> {
  const place = parseS3Url(url);
  // The SDK costs 60 ms and 20 MB, so it is loaded only by those who use S3.
  const sdk = await import('@aws-sdk/client-s3');
  const client = createClient(sdk, place, { limits, credentials });
  await client.config.region().catch((error: unknown) => {
    client.destroy();
    throw invalidBlobUrl('names no region, nor does AWS_REGION: add ?region=', error);
  });
  const { bucket, prefix } = place;
  const location = `s3://${bucket}${prefix === '' ? '' : `/${prefix}`}`;
  const store = { sdk, client, place, location };
  return {
    location,
    s3: place,
    clockAheadMillis: watchClock(client),
    ...writesTo(store),
    ...readsFrom(store, limits),
    ...uploadsOf(store),
    ...markerOf(store),
    remove: (key, signal) =>
      guarded(`The object ${key} cannot be removed from ${location}`, signal, () =>
        remove(store, key, signal),
      ),
    pathOf: () => null,
    async close() {
      client.destroy();
    },
  };
}

/** How objects come into the store: from a file, and from another bucket. */
function writesTo(store: S3Store): Pick<ObjectStore, 'put' | 'copyFrom'> {
  const { location } = store;
  return {
    put: (key, path, signal) =>
      guarded(`The object ${key} cannot be written to ${location}`, signal, () =>
        put(store, { key, path, signal }),
      ),
    copyFrom: async ({ s3: other }, { from, to }, signal) =>
      other !== undefined &&
      guarded(`The object ${from} cannot be copied to ${location}`, signal, () =>
        copyOnServer(store, { from: { place: other, key: from }, key: to, signal }),
      ),
  };
}

/** What is read of objects. Each read ends in time. */
function readsFrom(store: S3Store, limits: S3Limits): Pick<ObjectStore, 'get' | 'head' | 'list'> {
  const { location } = store;
  const read = <T>(what: string, signal: AbortSignal | undefined, work: Reading<T>) =>
    guarded(what, signal, () => inTime(what, signal, { limits, work }));
  return {
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
  };
}

/** The uploads in parts that have not ended, which lists of objects do not show. */
function uploadsOf(store: S3Store): Pick<ObjectStore, 'listUploads' | 'endUpload'> {
  const { sdk, client, location } = store;
  return {
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
  };
}

/** The marker, and the test whether the server has the conditional writes that it needs. */
function markerOf(store: S3Store): Pick<ObjectStore, 'marker' | 'tryWrite'> {
  const { location } = store;
  let isTried = false;
  const tryWrite = async (signal: AbortSignal | undefined) => {
    await guarded(`Nothing can be written to ${location}`, signal, () =>
      tryConditions(store, signal),
    );
    isTried = true;
  };
  return {
    tryWrite,
    marker: {
      read: (signal) =>
        guarded(
          `The marker of ${location} cannot be read`,
          signal,
          async () => (await readMarker(store, signal))?.text ?? null,
        ),
      async swap(expected, text, signal) {
        // The store is tried before the first swap: a server that ignores the condition would make every swap look as
        // if it had succeeded.
        if (!isTried) await tryWrite(signal);
        return guarded(`The marker of ${location} cannot be written`, signal, () =>
          swapMarker(store, { expected, text }, signal),
        );
      },
    },
  };
}

/** Throws the signal's reason after an abort, and other errors as a 503 that says what could not be done. */
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

/** Ends a read when the store hangs: all tries would take minutes. One whose bytes keep coming may take long. */
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
  { key, path, signal }: { key: string; path: string; signal: AbortSignal | undefined },
): Promise<void> {
  const { sdk, client } = store;
  const sizeBytes = await uploadFile({ sdk, client, target: targetOf(store, key), path, signal });
  const found = await head(store, key, signal);
  if (found?.sizeBytes === sizeBytes) return;
  throw storeUnavailable(
    `The object ${key} cannot be written to ${store.location}`,
    `of its ${sizeBytes} bytes ${found?.sizeBytes ?? 0} are there`,
  );
}

async function remove(store: S3Store, key: string, signal: AbortSignal | undefined): Promise<void> {
  const { sdk, client } = store;
  try {
    await client.send(new sdk.DeleteObjectCommand(targetOf(store, key)), optionsOf(signal));
  } catch (error) {
    if (!isMissingKey(error)) throw error;
  }
}

/**
 * Has the server copy an object into a store, from another store on the same server. Returns false where that is another
 * server, or where this one refuses: because the credentials cannot read both, because the object is larger than the 5
 * GiB that S3 copies, or because it has no such request.
 */
async function copyOnServer(
  store: S3Store,
  { from, key, signal }: { from: S3Object; key: string; signal: AbortSignal | undefined },
): Promise<boolean> {
  const { sdk, client, place } = store;
  const target = targetOf(store, key);
  if (from.place.endpoint !== place.endpoint || from.place.region !== place.region) return false;
  const { Bucket, Key } = locate(from.place, from.key);
  // Some servers decode all but what has a meaning in URLs, and keys of segments hold `tenant=`.
  const CopySource = `${Bucket}/${encodeURIComponent(Key).replaceAll('%2F', '/').replaceAll('%3D', '=')}`;
  try {
    await client.send(new sdk.CopyObjectCommand({ ...target, CopySource }), optionsOf(signal));
    return true;
  } catch (error) {
    // Whatever the server has answered: reading the object will tell what is wrong, if anything is.
    if (statusOf(error) === undefined) throw error;
    return false;
  }
}

type S3Object = { readonly place: S3Place; readonly key: string };
