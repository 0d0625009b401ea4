import type { Queryable } from '../../platform/postgres/database.ts';
import { endBackupKey, listKeysToRemove, noteKeyRemoved } from './erase-queries.ts';
import type { MoverContext } from './move.ts';
import { type EraseScope, mayTakeAll } from './scope.ts';

/**
 * Has the key of the tenant's backups go with an erasure, where that leaves nothing of the tenant. It is called in each
 * transaction that may take the last of it: what is stored afterwards has another key.
 */
export async function endKey(
  { removeKeys }: Pick<MoverContext, 'removeKeys'>,
  db: Queryable,
  { scope, id }: { scope: EraseScope; id: string },
): Promise<void> {
  if (removeKeys === undefined || !mayTakeAll(scope)) return;
  await endBackupKey(db, { tenant: scope.tenant, id });
}

/**
 * Removes the keys of backups of tenants that were erased whole. It may be repeated, and done by several at once: a key
 * for what came after an erasure has another name.
 */
export async function removeDueKeys(
  { db, removeKeys }: Pick<MoverContext, 'db' | 'removeKeys'>,
  signal: AbortSignal,
): Promise<void> {
  if (removeKeys === undefined) return;
  for (const { id, ...key } of await listKeysToRemove(db)) {
    if (await removeKeys(key, signal)) await noteKeyRemoved(db, id);
  }
}
