import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { use } from '../../../../test/use.ts';
import { createDuckDb } from '../../../platform/duckdb.ts';
import { createLog } from '../../../platform/log.ts';
import { createFileStore } from '../../../platform/objects/file-system.ts';
import type { ObjectStore } from '../../../platform/objects/objects.ts';
import { createObjectReader } from '../../../platform/objects/reader.ts';
import type { ColdReader } from '../../segments/segment.ts';

export type ColdStore = ColdReader & {
  /** Where the objects lie. */
  readonly dir: string;
  readonly store: ObjectStore;
  /** For files in between. */
  readonly spoolDir: string;
  close(): Promise<void>;
};

/** A store of objects, in a folder of its own unless one is given, and a DuckDB to read them. */
export async function openColdStore(blobDir?: string): Promise<ColdStore> {
  const root = await mkdtemp(join(tmpdir(), 'svcctl-cold-'));
  const log = createLog('silent');
  const dir = blobDir ?? join(root, 'blobs');
  const store = createFileStore(dir);
  const objects = createObjectReader(store, { dir: join(root, 'reader'), maxBytes: 2 ** 28, log });
  const duckdb = createDuckDb({
    memoryBytes: 256 * 2 ** 20,
    // As in the service: with several, DuckDB writes files in another way.
    threads: 1,
    tempDir: join(root, 'duckdb'),
    niceness: 0,
    log,
  });
  return {
    dir,
    store,
    objects,
    duckdb,
    spoolDir: root,
    async close() {
      await duckdb.close();
      await objects.close();
      await store.close();
      await rm(root, { recursive: true, force: true });
    },
  };
}

/** Such a store for all tests of a file, in a folder of its own or in that of a service. */
export function useColdStore(service?: { readonly dataDir: string }): ColdStore {
  return use(
    () => openColdStore(service && join(service.dataDir, 'cold')),
    (cold) => cold.close(),
  );
}
