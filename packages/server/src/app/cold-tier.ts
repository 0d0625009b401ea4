import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Settings } from '../config/settings.ts';
import type { Log } from '../platform/log.ts';
import type { ObjectReader, ObjectStore } from '../platform/objects/objects.ts';
import { openObjectStore } from '../platform/objects/open-store.ts';
import { createObjectReader } from '../platform/objects/reader.ts';
import { makeSpoolDir } from '../platform/objects/spool-dir.ts';
import { createDuckDb, type DuckDb } from '../platform/parquet/duckdb.ts';

/** What reads and writes cold data in this process. */
export type ColdTier = {
  readonly store: ObjectStore;
  readonly objects: ObjectReader;
  /** For pages, single records, exports and late records. */
  readonly duckdb: DuckDb;
  /** For export jobs: gives way to pages. */
  readonly jobDuckdb: DuckDb;
  /** For movers and verifications: gives way to all else. */
  readonly moverDuckdb: DuckDb;
  /** A folder of this process, empty at its start. */
  readonly spoolDir: string;
};

// Limits, not reservations; each process starts when it is first needed. What a mover could write with the
// smaller one a reader can read with the larger one, even if all records are large.
const readerBytes = 256 * 2 ** 20;
const jobBytes = 192 * 2 ** 20;
const moverBytes = 128 * 2 ** 20;
const idleMillis = 5_000;

export async function openColdTier(
  settings: Settings,
  log: Log,
  closers: (() => Promise<unknown>)[],
): Promise<ColdTier> {
  const store = await openObjectStore(settings.blobUrl, settings.dataDir);
  closers.push(() => store.close());
  const spoolDir = await makeSpoolDir(join(settings.dataDir, 'spool'));
  closers.push(() => rm(spoolDir, { recursive: true, force: true }));
  const objects = createObjectReader(store, {
    dir: join(settings.dataDir, 'object-cache'),
    maxBytes: settings.coldCacheBytes,
    log,
  });
  closers.push(() => objects.close());
  const start = (niceness: number, memoryBytes: number, endsAfterMillis?: number) => {
    const duckdb = createDuckDb({
      memoryBytes,
      ...(endsAfterMillis === undefined ? {} : { idleMillis: endsAfterMillis }),
      // More threads took twice the CPU for the same CSV; several queries run beside each other anyway.
      threads: 1,
      tempDir: join(spoolDir, `duckdb-${niceness}`),
      niceness,
      log,
    });
    closers.push(() => duckdb.close());
    return duckdb;
  };
  return {
    store,
    objects,
    duckdb: start(0, readerBytes),
    // With 5 pages waited behind it.
    jobDuckdb: start(15, jobBytes, idleMillis),
    moverDuckdb: start(10, moverBytes, idleMillis),
    spoolDir,
  };
}
