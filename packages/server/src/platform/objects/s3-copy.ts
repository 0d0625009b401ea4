import { locate, optionsOf, type S3Store, targetOf } from './s3-client.ts';
import { statusOf } from './s3-errors.ts';
import type { S3Place } from './s3-url.ts';

/**
 * Has the server copy an object into a store, from another store on the same server. Returns false where that is another
 * server, or where this one refuses: because the credentials cannot read both, because the object is larger than the 5
 * GiB that S3 copies, or because it has no such request.
 */
export async function copyOnServer(
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

export type S3Object = { readonly place: S3Place; readonly key: string };
