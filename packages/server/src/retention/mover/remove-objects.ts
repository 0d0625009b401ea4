import { isFenced } from '../../platform/objects/fence.ts';
import type { MoverContext } from './move.ts';
import { deleteRemoval, endSwitched, listDueRemovals, type Removal } from './queries.ts';

const pageRows = 100;

/**
 * Removes the objects whose grace is over, and ends the moves that replaced them. Several processes may do this at
 * once, and it may be repeated after a kill. Returns how many objects were removed; none while another database has the
 * store.
 */
export async function removeObjects(
  { db, store, fence }: Pick<MoverContext, 'db' | 'store' | 'fence'>,
  signal: AbortSignal,
): Promise<number> {
  let removedCount = 0;
  for (;;) {
    const page = await listDueRemovals(db, pageRows);
    if (page.length === 0) return removedCount;
    try {
      // The fence is advanced after the objects were dropped from the catalogue, so that no copy of the database that
      // may write from now on still needs them.
      await fence.advance(signal);
      for (const removal of page) {
        // Another database that takes over the store meanwhile may need the remaining objects.
        await fence.assertOwn(signal);
        await store.remove(removal.object_key, signal);
        await deleteRemoval(db, removal);
        removedCount += 1;
      }
    } catch (error) {
      // Every look would find the same, so nothing is logged here: the watch over the store reports it once.
      if (isFenced(error)) return removedCount;
      throw error;
    }
    for (const [tenant, ids] of byTenant(page)) await endSwitched(db, tenant, ids);
    if (page.length < pageRows) return removedCount;
  }
}

function byTenant(removals: readonly Removal[]): Map<string, string[]> {
  const ids = new Map<string, string[]>();
  for (const { tenant, move_id } of removals) {
    ids.set(tenant, [...(ids.get(tenant) ?? []), move_id]);
  }
  return ids;
}
