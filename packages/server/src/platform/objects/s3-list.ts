import { markerName, type ObjectInfo, type OpenUpload } from './objects.ts';
import { optionsOf, type S3Store } from './s3-client.ts';

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
