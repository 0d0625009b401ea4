import { isFenced } from '../../platform/objects/fence.ts';
import type { MoverContext } from './move.ts';
import { deleteRemoval, endSwitched, listDueRemovals, type Removal } from './queries.ts';

const pageRows = 100;

/**
 * Removes the objects whose grace is over, and ends the moves that replaced them. Harmless when several
 * processes do it at once, and again after a kill. Answers how many were removed: none while another
 * database has the store.
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
      // After they were let go: no copy of the database that may write from now on still needs them.
      await fence.advance(signal);
      for (const removal of page) {
        // Who adopts the store meanwhile may need the rest.
        await fence.assertOwn(signal);
        await store.remove(removal.object_key, signal);
        await deleteRemoval(db, removal);
        removedCount += 1;
      }
    } catch (error) {
      // Each look finds the same; who watches the store says so once.
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
