import { createHash } from 'node:crypto';

/** The longest name that file systems take, in bytes. */
const maxFolderBytes = 255;
const hashChars = 16;

/**
 * Returns the key of a segment's object: `records/tenant=<percent-encoded>/<first day>_<last day>_<id>.parquet`, as
 * readers of Hive-style data sets expect it. There is nothing else below `records/`. A tenant's name that is too long
 * for file systems is cut and made unique with a hash; the file itself holds the whole name.
 */
export function segmentKey(segment: {
  tenant: string;
  id: string;
  firstDay: string;
  lastDay: string;
}): string {
  const { tenant, id, firstDay, lastDay } = segment;
  return `records/${tenantFolder(tenant)}/${firstDay}_${lastDay}_${id}.parquet`;
}

/**
 * Returns the folders in which a tenant's segments may lie. Segments that were written before there was `records/` lie
 * at the root of the store, until they are merged or written again.
 */
export function segmentFolders(tenant: string): string[] {
  const folder = tenantFolder(tenant);
  return [`records/${folder}/`, `${folder}/`];
}

/** Returns the name of a tenant's folder below `records/` and below `exports/`. */
export function tenantFolder(tenant: string): string {
  const folder = `tenant=${encode(tenant)}`;
  if (folder.length <= maxFolderBytes) return folder;
  const hash = createHash('sha256').update(tenant).digest('hex').slice(0, hashChars);
  const cut = folder.slice(0, maxFolderBytes - hashChars - 1).replace(/%.?$/, '');
  return `${cut}~${hash}`;
}

/**
 * Percent-encodes more than encodeURIComponent does: it leaves `*`, which readers take for a wildcard, and characters
 * that shells interpret.
 */
function encode(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
