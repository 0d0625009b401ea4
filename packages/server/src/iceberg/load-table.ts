import { createHash, createHmac } from 'node:crypto';
import { AppError } from '../kernel/errors.ts';
import type { Gate } from '../kernel/gate.ts';
import { putBytes } from '../platform/objects/spool.ts';
import { mostSwitches } from './look.ts';
import { tableMetadata } from './metadata.ts';
import type { Scope } from './queries.ts';
import * as queries from './queries.ts';
import { bringUpToDate, folderOf, type SnapshotTools, uriOf } from './write-snapshot.ts';

export type TableTools = SnapshotTools & {
  /** A secret of the database, from which tables have their ids. */
  readonly key: () => Buffer;
  /** One at a time: those who waited find what the first has written. */
  readonly turns: Gate;
};

/** The first snapshot of very many tenants takes long. */
const timeoutMillis = 300_000;

/**
 * Describes the table of cold records as it is now, with the segments of these tenants, or of all (null), as Iceberg's
 * LoadTableResult. All files that it names are written before. Throws 409 `store_fenced`, `store_read_only`, 503
 * `cold_tier_unavailable`.
 */
export async function loadTable(tools: TableTools, tenants: readonly string[] | null) {
  const scope = scopeOf(tenants);
  const signal = AbortSignal.timeout(timeoutMillis);
  return tools.turns.run(async () => {
    try {
      for (;;) {
        await bringUpToDate(tools, scope, signal);
        const described = await describe(tools, scope, signal);
        if (described !== null) return described;
        // A database that was set back knows snapshots whose files were removed since.
        await queries.forgetScope(tools.db, scope);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
      throw new AppError('cold_tier_unavailable', { retryAfterSeconds: 30, cause: error });
    }
  });
}

/** Returns what the metadata's file holds, and where it is; null when its snapshot was swept away. */
async function describe(tools: TableTools, scope: Scope, signal: AbortSignal) {
  const { db, store } = tools;
  const rows = await queries.listSnapshots(db, scope, mostSwitches + 1);
  const [newest, oldest] = [rows[0], rows.at(-1)];
  if (newest === undefined || oldest === undefined) return null;
  if ((await store.head(newest.manifest_list, signal)) === null) return null;
  await queries.noteAsked(db, scope, newest.id);
  const listed = rows.map((row) => ({ ...row, manifest_list: uriOf(store, row.manifest_list) }));
  const metadata = tableMetadata({
    id: toUuid(createHmac('sha256', tools.key()).update(`iceberg ${scope.name}`).digest('hex')),
    location: uriOf(store, `iceberg/${scope.name}`),
    newest,
    snapshots: listed.reverse(),
  });
  const key = `${folderOf(scope)}/${newest.id}-${oldest.id}.metadata.json`;
  if ((await store.head(key, signal)) === null) {
    await tools.fence.advance(signal);
    await putBytes(tools, { key, bytes: JSON.stringify(metadata), signal });
  }
  return { 'metadata-location': uriOf(store, key), metadata, config: {} };
}

function scopeOf(tenants: readonly string[] | null): Scope {
  if (tenants === null) return { name: 'all', tenants };
  const names = JSON.stringify([...tenants].sort());
  return { name: createHash('sha256').update(names).digest('hex').slice(0, 32), tenants };
}

function toUuid(hex: string): string {
  const parts = /^(.{8})(.{4}).(.{3}).(.{3})(.{12})/.exec(hex)?.slice(1) ?? [];
  const [a, b, c, d, e] = parts;
  return `${a}-${b}-8${c}-8${d}-${e}`;
}
