import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTestDatabase, type TestDatabase } from '../../../../test/database.ts';
import type { Actor } from '../../../kernel/actor.ts';
import { createIngest, type Ingest } from '../../../records/index.ts';
import { createFreezer, type Freezer } from '../../../records/ingest/testing/freeze.ts';

/** A database with ingest and a cold tier made by hand. */
export type World = {
  readonly db: TestDatabase;
  readonly freezer: Freezer;
  readonly dir: string;
  /** Stores records; throws unless all of them are new. */
  send(records: readonly unknown[]): Promise<void>;
  stop(): Promise<void>;
};

export const testActor: Actor = {
  tokenId: 'tok_test',
  name: 'test',
  scopes: ['admin'],
  tenants: null,
  expiresAt: null,
};

export async function createWorld(): Promise<World> {
  const db = await createTestDatabase();
  const dir = await mkdtemp(join(tmpdir(), 'svcctl-test-'));
  const freezer = createFreezer(db, dir);
  const ingest: Ingest = createIngest(db, {
    maxRecords: 10_000,
    maxBatchBytes: 2 ** 25,
    maxEnrichmentBytes: 2 ** 18,
    inFlightBytes: 2 ** 26,
    writers: 2,
    clock: () => Date.parse('2026-06-01T00:00:00Z'),
    cold: freezer,
  });
  return {
    db,
    freezer,
    dir,
    async send(records) {
      const body = {
        isStream: false,
        sizeBytes: null,
        sentBytes: () => 0,
        async *chunks() {
          yield Buffer.from(JSON.stringify({ records }));
        },
        discard: async () => {},
      };
      const answer = await ingest.batch(body, testActor);
      if (answer.accepted !== records.length) throw new Error(JSON.stringify(answer));
    },
    async stop() {
      await freezer.duckdb.close();
      await db.drop();
      await rm(dir, { recursive: true });
    },
  };
}
