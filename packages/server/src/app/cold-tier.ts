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

/** What reads and writes cold data in this process. */
export type ColdTier = {
  readonly store: ObjectStore;
  readonly objects: ObjectReader;
  readonly fence: StoreFence;
  readonly watch: StoreWatch;
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
    fence,
    watch,
    duckdb: start(0, readerBytes),
    // With 5 pages waited behind it.
    jobDuckdb: start(15, jobBytes, idleMillis),
    moverDuckdb: start(10, moverBytes, idleMillis),
    spoolDir,
  };
}

/** An object that another database has merged or deleted was lost by no disk. */
function explainMissing(reader: ObjectReader, fence: StoreFence): ObjectReader {
  return {
    ...reader,
    async open(ref, options) {
      try {
        return await reader.open(ref, options);
      } catch (error) {
        if (!(error instanceof ObjectMissing)) throw error;
        const { state, marked } = await fence.look(options?.signal).catch(() => ({
          state: 'own' as const,
          marked: null,
        }));
        if (state !== 'elsewhere') throw error;
        throw new AppError('segment_damaged', {
          detail: `${describeFenced(state, marked)} The object ${ref.key} was replaced or deleted there since. Read the other one, or put the object back from a backup.`,
          cause: error,
        });
      }
    },
  };
}
