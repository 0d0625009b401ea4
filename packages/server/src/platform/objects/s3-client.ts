import type { S3Client } from '@aws-sdk/client-s3';
import { assertObjectKey } from './objects.ts';
import type { S3Place } from './s3-url.ts';

export type S3Sdk = typeof import('@aws-sdk/client-s3');

/** A place in S3, and what it is reached with. */
export type S3Store = {
  readonly sdk: S3Sdk;
  readonly client: S3Client;
  readonly place: S3Place;
  /** For people to read: `s3://bucket/prefix`. */
  readonly location: string;
};

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

export const usualLimits: S3Limits = {
  attempts: 4,
  connectMillis: 5_000,
  answerMillis: 120_000,
  idleMillis: 30_000,
  readMillis: 15_000,
};

/** A key of S3. */
export type S3Credentials = { readonly accessKeyId: string; readonly secretAccessKey: string };

export function createClient(
  sdk: S3Sdk,
  place: S3Place,
  { limits, credentials }: { limits: S3Limits; credentials: S3Credentials | undefined },
): S3Client {
  const { endpoint, region, pathStyle } = place;
  return new sdk.S3Client({
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(region === undefined ? {} : { region }),
    ...(credentials === undefined ? {} : { credentials }),
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

/** An answer that took longer says little about the difference of two clocks. */
const clockMillis = 1000;

/** Reads from each answer of S3, a refusal too, how far the clock of this machine is ahead of the store's. */
export function watchClock(client: S3Client): () => number | null {
  let aheadMillis: number | null = null;
  client.middlewareStack.add(
    (next) => async (args) => {
      const startedAt = performance.now();
      const result = await next(args);
      const tookMillis = performance.now() - startedAt;
      const { headers } = result.response as { headers?: Readonly<Record<string, string>> };
      // It tells whole seconds.
      const toldMillis = Date.parse(headers?.date ?? '') + 500;
      if (tookMillis < clockMillis && Number.isFinite(toldMillis)) {
        aheadMillis = Math.round(Date.now() - tookMillis / 2 - toldMillis);
      }
      return result;
    },
    // Before the SDK makes an error of a refusal.
    { step: 'deserialize', priority: 'low', name: 'watchClock' },
  );
  return () => aheadMillis;
}

/** Returns the bucket and the full key of an object. Throws a RangeError for keys that no object has. */
export function targetOf({ place }: S3Store, key: string): { Bucket: string; Key: string } {
  assertObjectKey(key);
  return locate(place, key);
}

/** Does the same for any key, also for that of the marker. */
export function locate({ bucket, prefix }: S3Place, key: string): { Bucket: string; Key: string } {
  return { Bucket: bucket, Key: prefix === '' ? key : `${prefix}/${key}` };
}

export function optionsOf(abortSignal: AbortSignal | undefined): { abortSignal?: AbortSignal } {
  return abortSignal === undefined ? {} : { abortSignal };
}
