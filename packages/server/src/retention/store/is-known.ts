import type { ObjectInfo, ObjectStore } from '../../platform/objects/objects.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { listUnknown, ourFolders } from '../verify/find-orphans.ts';
import { listSegments } from '../verify/queries.ts';

const sampled = 10;
const listed = 100;

/**
 * Whether what lies in a store that has no marker is this database's: some of the segments that it knows, or
 * some object that it knows, or nothing at all on either side.
 */
export async function isKnownStore(
  { db, store }: { db: Queryable; store: ObjectStore },
  signal: AbortSignal,
): Promise<boolean> {
  const segments = await listSegments(db, null, { after: null, limit: sampled });
  for (const { object_key } of segments) {
    if ((await store.head(object_key, signal)) !== null) return true;
  }
  const found: ObjectInfo[] = [];
  for (const prefix of ourFolders) {
    let count = 0;
    for await (const object of store.list(prefix, signal)) {
      found.push(object);
      count += 1;
      if (count === listed) break;
    }
  }
  if (found.length === 0) return segments.length === 0;
  return (await listUnknown(db, found)).length < found.length;
}
