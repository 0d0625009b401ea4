import { batchesOf } from '../kernel/batches.ts';
import type { Log } from '../platform/log.ts';
import type { ObjectInfo } from '../platform/objects/objects.ts';
import * as queries from './queries.ts';
import type { SnapshotTools } from './write-snapshot.ts';

/** What is younger may be of a snapshot that is being written. */
const youngMillis = 3_600_000;
/** A table for which nobody has asked for so long begins anew when somebody asks again. */
const keptDays = 30;
const batchObjects = 1000;

/** Forgets unreadable snapshots, and removes objects an hour old that none needs, while the store is ours. */
export async function sweepSnapshots(
  { db, store, fence }: Pick<SnapshotTools, 'db' | 'store' | 'fence'>,
  { log, signal, now }: { log: Log; signal: AbortSignal; now: () => number },
): Promise<void> {
  await queries.forgetOld(db, keptDays);
  let removed = 0;
  const isOld = ({ writtenAt = Number.POSITIVE_INFINITY }: ObjectInfo) =>
    writtenAt <= now() - youngMillis;
  for await (const batch of batchesOf(store.list('iceberg/', signal), batchObjects)) {
    const named = batch.filter(isOld).flatMap(({ key }) => {
      const [, scope = '', id = ''] = /^iceberg\/([^/]+)\/metadata\/(\d{1,18})-/.exec(key) ?? [];
      return id === '' ? [] : [{ key, scope, id: Number(id) }];
    });
    for (const key of await queries.listUnneeded(db, named)) {
      // A copy of the database that was made before may need them no more either.
      if (removed === 0) await fence.advance(signal);
      else await fence.assertOwn(signal);
      await store.remove(key, signal);
      removed += 1;
    }
  }
  if (removed > 0) log.info({ removed }, 'files of old Iceberg snapshots were removed');
}
