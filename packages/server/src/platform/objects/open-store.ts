import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createFileStore } from './file-system.ts';
import type { ObjectStore } from './objects.ts';
import { createS3Store } from './s3.ts';
import { invalidBlobUrl } from './s3-url.ts';

/**
 * The store that SVC_BLOB_URL names: `file:///folder`, `s3://bucket/prefix?endpoint=…&region=…`, or
 * the folder `cold` below the data folder when it is not set. Throws `settings_invalid`.
 */
export async function openObjectStore(
  blobUrl: string | undefined,
  dataDir: string,
): Promise<ObjectStore> {
  if (blobUrl === undefined) return createFileStore(join(dataDir, 'cold'));
  const scheme = /^([a-z0-9]+):\/\//i.exec(blobUrl)?.[1]?.toLowerCase();
  if (scheme === 's3') return await createS3Store(blobUrl);
  if (scheme === 'file') return createFileStore(folderOf(blobUrl));
  throw invalidBlobUrl('does not begin with file:/// or s3://');
}

function folderOf(blobUrl: string): string {
  const url = URL.canParse(blobUrl) ? new URL(blobUrl) : null;
  if (url === null) throw invalidBlobUrl('is not a URL');
  if (url.search !== '' || url.hash !== '') {
    throw invalidBlobUrl('has ? or # behind its folder: write them as %3F and %23');
  }
  // The root of the machine is never meant: file:// alone reads as it.
  if (url.host !== '' || url.pathname === '/') {
    throw invalidBlobUrl('names no folder: it is file:///folder, with three slashes');
  }
  try {
    return fileURLToPath(url);
  } catch (error) {
    throw invalidBlobUrl('names no folder: it is file:///folder, with three slashes', error);
  }
}
