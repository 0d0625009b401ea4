import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sql from 'sql-template-tag';
import { expect } from 'vitest';
import { createGate } from '../../kernel/gate.ts';
import type { MoverContext } from '../../retention/mover/move.ts';
import {
  addRecords,
  makeRecords,
  startTestMover,
} from '../../retention/mover/testing/test-mover.ts';
import { loadTable, type TableTools } from '../load-table.ts';
import { readAvro } from './read-avro.ts';

export type Row = {
  status: bigint;
  snapshot_id: bigint;
  sequence_number: bigint;
  data_file: DataFile;
};
type DataFile = {
  file_path: string;
  record_count: bigint;
  file_size_in_bytes: bigint;
  partition: { tenant: string };
  lower_bounds: { key: bigint; value: string }[] | null;
  upper_bounds: { key: bigint; value: string }[] | null;
};

export type TableWorld = Awaited<ReturnType<typeof startTableWorld>>;

/** A mover with a store of files, and a reader of the table that is written there. */
export async function startTableWorld() {
  const mover = await startTestMover();
  // Everything before today may be deleted.
  await mover.db.query(sql`update retention_policies set delete_days = 1 where tenant = '*'`);
  const { db, store, fence } = mover;
  const spoolDir = await mkdtemp(join(tmpdir(), 'svcctl-iceberg-'));
  const graceSeconds = 3600;
  const tools: TableTools = {
    db,
    store,
    fence,
    spoolDir,
    graceSeconds,
    key: () => Buffer.alloc(32, 7),
    turns: createGate(1),
  };
  let made = 0;
  return {
    mover,
    tools,
    /** Moves the records of a day of the tenant to a segment of its own; eight such are merged. Returns the day. */
    async addSegment(tenant: string, more: Partial<MoverContext> = {}): Promise<string> {
      made += 1;
      const day = new Date(Date.UTC(2001, 0, made)).toISOString().slice(0, 10);
      await addRecords(db, makeRecords(tenant, { days: [day], perDay: 2 }));
      await mover.move(tenant, day, { graceSeconds, ...more });
      return day;
    },
    /** Where the live segments are, by the catalogue. */
    async livePaths(tenants: readonly string[] | null = null): Promise<string[]> {
      const rows = await db.query<{ key: string }>(sql`
        select object_key as key from segments
        where ${tenants}::text[] is null or tenant = any(${tenants}::text[])`);
      return rows.map(({ key }) => `file://${store.pathOf(key)}`).sort();
    },
    readTable: async (tenants: readonly string[] | null = null, at = -1) =>
      readLoaded(await loadTable(tools, tenants), at),
    fileOf,
    /** As if nobody had ever asked for the table. */
    async forgetAll() {
      await db.query(sql`truncate iceberg_snapshots, iceberg_manifests`);
    },
    async stop() {
      await mover.stop();
      await rm(spoolDir, { recursive: true, force: true });
    },
  };
}

export const fileOf = (uri: string) => readFile(uri.replace('file://', ''));

/** Reads a snapshot as another program does, from the metadata by the list to the manifests; the last one is -1. */
async function readLoaded(loaded: Awaited<ReturnType<typeof loadTable>>, at: number) {
  const metadata = JSON.parse(String(await fileOf(loaded['metadata-location'])));
  expect(metadata).toEqual(loaded.metadata);
  const snapshot = metadata.snapshots.at(at);
  const manifests = readAvro(await fileOf(snapshot['manifest-list'])).rows;
  const entries: Row[] = [];
  for (const manifest of manifests) {
    const bytes = await fileOf(manifest.manifest_path);
    expect(BigInt(bytes.length)).toBe(manifest.manifest_length);
    const { rows } = readAvro(bytes);
    const count = (status: bigint) => BigInt(rows.filter((row) => row.status === status).length);
    expect([count(1n), count(0n), count(2n)]).toEqual([
      manifest.added_files_count,
      manifest.existing_files_count,
      manifest.deleted_files_count,
    ]);
    entries.push(...rows);
  }
  const live = entries.filter(({ status }) => status !== 2n);
  const paths = live.map(({ data_file }) => data_file.file_path).sort();
  return { loaded, metadata, snapshot, manifests, entries, live, paths };
}
