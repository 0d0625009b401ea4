import { createHash } from 'node:crypto';

/** What a file system takes as one name. */
const maxFolderBytes = 255;
const hashChars = 16;

/**
 * Where a segment lies: `records/tenant=<percent-encoded>/<first day>_<last day>_<id>.parquet`, as
 * Hive-style readers expect it: below `records/` there is nothing else. An encoded name that no file system
 * takes is cut and told apart by a hash; the file itself has the tenant whole.
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
 * Where a tenant's segments may lie: those that were written before `records/` lie at the store's root until
 * they are merged or written anew.
 */
export function segmentFolders(tenant: string): string[] {
  const folder = tenantFolder(tenant);
  return [`records/${folder}/`, `${folder}/`];
}

/** What a tenant's folder is called, below `records/` and below `exports/`. */
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
