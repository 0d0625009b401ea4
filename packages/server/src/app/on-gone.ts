import { noteGoneExports } from '../exports/index.ts';
import type { Connection } from '../platform/postgres/database.ts';
import {
  type Gone,
  type GoneEffects,
  noteGoneRecords,
  removeErasedTags,
} from '../records/index.ts';

/**
 * What follows when records leave for good, inside the transaction that lets them go: here, because
 * retention knows nothing of exports.
 */
export async function onGone(connection: Connection, gone: Gone): Promise<GoneEffects> {
  return {
    tagsRemoved: await removeErasedTags(connection, gone),
    versionsChanged: await noteGoneRecords(connection, gone),
    exportsRemoved: await noteGoneExports(connection, gone),
  };
}
