import { createHash } from 'node:crypto';

/** The longest name that file systems take, in bytes. */
const maxFolderBytes = 255;
const hashChars = 16;
/** How much of a longer name stands before its hash. */
const cutBytes = maxFolderBytes - hashChars - 1;

/**
 * Returns the key of an object: `records/tenant=<percent-encoded>/<first day>_<last day>_<id>.parquet`, as readers of
 * Hive-style data expect. There is nothing else below `records/`.
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
 * Returns the name of the folder below `records/` and below `exports/` in which a tenant's objects are written. A name
 * that is too long is cut between two characters: readers of Hive-style data sets decode it, and refuse half a one.
 */
export function tenantFolder(tenant: string): string {
  const folder = wholeFolder(tenant);
  if (folder.length <= maxFolderBytes) return folder;
  let cut = 'tenant=';
  for (const char of tenant) {
    const longer = cut + encode(char);
    if (longer.length > cutBytes) break;
    cut = longer;
  }
  return cut + hashOf(tenant);
}

/** A character takes no more than this of a folder's name. */
const longestChar = 12;

/** Returns whose a folder is; null for nobody's, and a name that may be cut: it would be another tenant's. */
export function tenantOfFolder(folder: string): string | null {
  const tenant = decode(folder.slice('tenant='.length));
  if (tenant === null || tenantFolder(tenant) !== folder) return null;
  const isLong = folder.length > maxFolderBytes - longestChar;
  return isLong && /~[0-9a-f]{16}$/.test(folder) ? null : tenant;
}

function decode(text: string): string | null {
  try {
    return text === '' ? null : decodeURIComponent(text);
  } catch {
    return null;
  }
}

function wholeFolder(tenant: string): string {
  return `tenant=${encode(tenant)}`;
}

function hashOf(tenant: string): string {
  return `~${createHash('sha256').update(tenant).digest('hex').slice(0, hashChars)}`;
}

/** Also encodes what encodeURIComponent leaves: `*`, a wildcard to readers, and characters that shells interpret. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
