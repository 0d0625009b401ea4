import { randomUUID } from 'node:crypto';
import { markerName, storeUnavailable } from './objects.ts';
import { locate, optionsOf, type S3Store } from './s3-client.ts';
import { isMissingKey, statusOf } from './s3-errors.ts';
import { bodyOf } from './s3-upload.ts';

type Condition = { readonly IfMatch: string | undefined } | { readonly IfNoneMatch: '*' };

const mostBytes = 1024;

/** Reads the marker and the ETag that a conditional write needs; null when there is no marker. */
export async function readMarker(
  { sdk, client, place, location }: S3Store,
  signal: AbortSignal | undefined,
): Promise<{ text: string; etag: string | undefined } | null> {
  try {
    const command = new sdk.GetObjectCommand({
      ...locate(place, markerName),
      Range: `bytes=0-${mostBytes}`,
    });
    const { Body, ETag } = await client.send(command, optionsOf(signal));
    if (Body === undefined || ETag === undefined) {
      throw storeUnavailable(`The marker of ${location} cannot be read`, 'it has no ETag');
    }
    return { text: await Body.transformToString(), etag: ETag };
  } catch (error) {
    if (isMissingKey(error)) return null;
    throw error;
  }
}

/** Replaces the marker if it is as read (If-Match), or makes it if there is none (If-None-Match); returns whether. */
export async function swapMarker(
  store: S3Store,
  { expected, text }: { expected: string | null; text: string },
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const found = await readMarker(store, signal);
  if ((found?.text ?? null) !== expected) return false;
  const condition: Condition = found === null ? { IfNoneMatch: '*' } : { IfMatch: found.etag };
  if (await putIf(store, { key: markerName, text, condition }, signal)) return true;
  // The SDK repeats a request whose answer was lost. In that case the first one has replaced the marker, and the second
  // was refused.
  return (await readMarker(store, signal))?.text === text;
}

/** So many writers try a condition at the same moment. Of a server that looks first and writes then, most succeed. */
const racers = 4;

/**
 * Writes and removes an object without meaning, and checks that the store refuses what it must refuse: a server that
 * accepts conditions and ignores them, or keeps them only while nobody else writes, would let two databases write.
 * Throws 503 `cold_tier_unavailable`.
 */
export async function tryConditions(
  store: S3Store,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { sdk, client, place, location } = store;
  const key = `${markerName}.try-${randomUUID()}`;
  const target = locate(place, key);
  const what = `Nothing can be written to ${location}`;
  const advice =
    'Use a store that has conditional writes (If-None-Match and If-Match of PutObject), or a newer release of its server.';
  const race = async (condition: Condition, writers = racers) => {
    // With the same text in all of them they would have the same ETag, and all might follow each other.
    const taken = await Promise.allSettled(
      Array.from({ length: writers }, () =>
        putIf(store, { key, text: randomUUID(), condition }, signal),
      ),
    );
    for (const each of taken) if (each.status === 'rejected') throw each.reason;
    return taken.filter((each) => each.status === 'fulfilled' && each.value).length;
  };
  try {
    const made = await race({ IfNoneMatch: '*' });
    if (made === 0) {
      throw storeUnavailable(what, 'it refuses a new object with If-None-Match', { advice });
    }
    const { ETag } = await client.send(new sdk.HeadObjectCommand(target), optionsOf(signal));
    const changed = await race({ IfMatch: ETag });
    if (changed === 0) {
      throw storeUnavailable(what, 'it refuses a change with If-Match', { advice });
    }
    const isKept =
      (await race({ IfNoneMatch: '*' }, 1)) === 0 &&
      (await race({ IfMatch: '"another"' }, 1)) === 0;
    if (made > 1 || changed > 1 || !isKept) {
      throw storeUnavailable(
        what,
        isKept
          ? 'of writes at the same moment it lets several have their If-None-Match or If-Match'
          : 'it does not keep If-None-Match or If-Match',
        { advice },
      );
    }
  } catch (error) {
    throw statusOf(error) === 501
      ? storeUnavailable(what, 'it knows no conditional writes', { advice, cause: error })
      : error;
  } finally {
    await client.send(new sdk.DeleteObjectCommand(target), optionsOf(signal)).catch(() => {});
  }
}

/** Writes an object under a condition; false when that does not hold. A 409: another write came in between. */
async function putIf(
  { sdk, client, place }: S3Store,
  { key, text, condition }: { key: string; text: string; condition: Condition },
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const command = new sdk.PutObjectCommand({
    ...locate(place, key),
    ...bodyOf(Buffer.from(text)),
    ...condition,
    ContentType: 'text/plain',
  });
  try {
    await client.send(command, optionsOf(signal));
    return true;
  } catch (error) {
    const status = statusOf(error);
    if (status === 412 || status === 409 || isMissingKey(error)) return false;
    throw error;
  }
}
