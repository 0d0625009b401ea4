import { createHash } from 'node:crypto';

/** What a file system takes as one name. */
const maxFolderBytes = 255;
const hashChars = 16;

/**
 * Where a segment lies: `tenant=<percent-encoded>/<first day>_<last day>_<id>.parquet`, as Hive-style
 * readers expect it. An encoded name that no file system takes is cut and told apart by a hash; the file
 * itself has the tenant whole.
 */
export function segmentKey(segment: {
  tenant: string;
  id: string;
  firstDay: string;
  lastDay: string;
}): string {
  const { tenant, id, firstDay, lastDay } = segment;
  return `${tenantFolder(tenant)}/${firstDay}_${lastDay}_${id}.parquet`;
}

/** The folder of a tenant's segments, without the slash at its end. */
export function tenantFolder(tenant: string): string {
  const folder = `tenant=${encode(tenant)}`;
  if (folder.length <= maxFolderBytes) return folder;
  const hash = createHash('sha256').update(tenant).digest('hex').slice(0, hashChars);
  const cut = folder.slice(0, maxFolderBytes - hashChars - 1).replace(/%.?$/, '');
  return `${cut}~${hash}`;
}

/** encodeURIComponent leaves `*`, which readers take for a wildcard, and some that shells trip over. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
