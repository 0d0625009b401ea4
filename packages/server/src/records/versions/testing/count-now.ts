import { join } from 'node:path';
import type { DuckDb } from '../../../platform/duckdb.ts';
import { createLog, type Log } from '../../../platform/log.ts';
import type { ObjectStore } from '../../../platform/objects/objects.ts';
import { createObjectReader } from '../../../platform/objects/reader.ts';
import type { Database } from '../../../platform/postgres/database.ts';
import { type Pace, unpaced } from '../../../platform/work/pace.ts';
import { countVersions } from '../counting.ts';

/** Counts all versions that wait for it, as a process of the role exports does; answers what it could not. */
export async function countNow(
  tools: { db: Database; duckdb: DuckDb; store: ObjectStore; dir: string; pace?: Pace; log?: Log },
  signal: AbortSignal = new AbortController().signal,
): Promise<string[]> {
  const { db, duckdb, store, dir, pace = unpaced, log = createLog('silent') } = tools;
  const objects = createObjectReader(store, { dir: join(dir, 'reader'), maxBytes: 2 ** 30, log });
  try {
    return await countVersions({ db, cold: { objects, duckdb }, log, pace }, { signal });
  } finally {
    await objects.close();
  }
}
