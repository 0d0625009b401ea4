import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Settings } from '../config/settings.ts';
import { AppError } from '../kernel/errors.ts';
import { createDuckDb, type DuckDb } from '../platform/duckdb.ts';
import type { Log } from '../platform/log.ts';
import {
  createStoreFence,
  describeFenced,
  onlyRead,
  type StoreFence,
} from '../platform/objects/fence.ts';
import { ObjectMissing, type ObjectReader, type ObjectStore } from '../platform/objects/objects.ts';
import { makeSpoolDir, openObjectStore } from '../platform/objects/open-store.ts';
import { createObjectReader } from '../platform/objects/reader.ts';
import { createStoreWatch, type StoreWatch } from '../platform/objects/store-watch.ts';
import type { Database } from '../platform/postgres/database.ts';
import { isKnownStore } from '../retention/index.ts';

/** Everything that one process uses to read and write cold data: Parquet segments in the object store. */
export type ColdTier = {
  readonly store: ObjectStore;
  readonly objects: ObjectReader;
  readonly fence: StoreFence;
  readonly watch: StoreWatch;
  /** Pages, single records, streamed exports and the check of late records query with it. */
  readonly duckdb: DuckDb;
  /** Export jobs query with it. It runs at a low priority, so that pages do not wait for jobs. */
  readonly jobDuckdb: DuckDb;
  /** Movers, verifications and the counting of versions query with it, below the priority of pages. */
  readonly moverDuckdb: DuckDb;
  /** A folder for temporary files that belongs to this process alone and is empty when the process starts. */
  readonly spoolDir: string;
};

// These are limits, not reservations: each DuckDB process starts only when it is first needed. Readers have more memory
// than the mover, so that a segment the mover could write can always be read, even if all its records are large.
const readerBytes = 256 * 2 ** 20;
const jobBytes = 192 * 2 ** 20;
const moverBytes = 128 * 2 ** 20;
const idleMillis = 5_000;

/**
 * Opens the object store and what stands on it. What must be closed joins `closers` in order, also when this throws.
 */
export async function openColdTier(
  settings: Settings,
  { db, log }: { db: Database; log: Log },
  closers: (() => Promise<unknown>)[],
): Promise<ColdTier> {
  const isReadOnly = settings.store === 'read-only';
  const opened = await openObjectStore(settings.blobUrl, settings.dataDir);
  closers.push(() => opened.close());
  const store = isReadOnly ? onlyRead(opened) : opened;
  const spoolDir = await makeSpoolDir(join(settings.dataDir, 'spool'));
  closers.push(() => rm(spoolDir, { recursive: true, force: true }));
  const fence = createStoreFence({
    db,
    store,
    isKnown: (signal) => isKnownStore({ db, store }, signal),
    isReadOnly,
  });
  const watch = createStoreWatch({ store, fence, log });
  closers.push(() => watch.stop());
  const objects = explainMissing(
    createObjectReader(store, {
      dir: join(settings.dataDir, 'object-cache'),
      maxBytes: settings.coldCacheBytes,
      log,
    }),
    fence,
  );
  closers.push(() => objects.close());
  const start = (
    niceness: number,
    memoryBytes: number,
    more: { idleMillis?: number; cachesFiles?: boolean } = {},
  ) => {
    const duckdb = createDuckDb({
      memoryBytes,
      ...more,
      // One thread only: more threads took twice the CPU for the same CSV, and several queries run side by side anyway.
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
    fence,
    watch,
    duckdb: start(0, readerBytes),
    // With a niceness of 5, pages still waited behind export jobs.
    jobDuckdb: start(15, jobBytes, { idleMillis }),
    moverDuckdb: start(10, moverBytes, { idleMillis, cachesFiles: false }),
    spoolDir,
  };
}

/** A store that has gone on with another database explains a missing object: that one merged or deleted it. */
function explainMissing(reader: ObjectReader, fence: StoreFence): ObjectReader {
  return {
    ...reader,
    async open(ref, options) {
      try {
        return await reader.open(ref, options);
      } catch (error) {
        if (!(error instanceof ObjectMissing)) throw error;
        const { state, marked } = await fence
          .look(options?.signal)
          .catch(() => ({ state: 'own' as const, marked: null }));
        if (state !== 'elsewhere') throw error;
        throw new AppError('segment_damaged', {
          detail: `${describeFenced(state, marked)} The object ${ref.key} was replaced or deleted there since. Read the other one, or put the object back from a backup.`,
          cause: error,
        });
      }
    },
  };
}
