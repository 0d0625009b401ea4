import { noteGoneExports } from '../exports/index.ts';
import type { Connection } from '../platform/postgres/database.ts';
import {
  type Gone,
  type GoneEffects,
  noteGoneRecords,
  removeErasedTags,
} from '../records/index.ts';

/**
 * Does what must follow when records leave for good, inside the transaction that removes them. It stands here because
 * it needs both `records` and `exports`, and `retention`, which calls it, must not know of exports.
 */
export async function onGone(connection: Connection, gone: Gone): Promise<GoneEffects> {
  return {
    tagsRemoved: await removeErasedTags(connection, gone),
    versionsChanged: await noteGoneRecords(connection, gone),
    exportsRemoved: await noteGoneExports(connection, gone),
  };
}
