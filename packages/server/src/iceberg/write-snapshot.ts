import { sumDigests } from '../kernel/digest.ts';
import { createGate } from '../kernel/gate.ts';
import { randomText } from '../kernel/ids.ts';
import type { StoreFence } from '../platform/objects/fence.ts';
import type { ObjectStore } from '../platform/objects/objects.ts';
import { putBytes } from '../platform/objects/spool.ts';
import type { Database } from '../platform/postgres/database.ts';
import { type Bounds, countEntries, encodeManifest, encodeManifestList } from './manifest.ts';
import { columnId, type SnapshotRow } from './metadata.ts';
import type { CatalogueFile, ManifestRow, Scope, ToldFile } from './queries.ts';
import * as queries from './queries.ts';

export type SnapshotTools = {
  readonly db: Database;
  readonly store: ObjectStore;
  readonly fence: Pick<StoreFence, 'advance' | 'assertOwn'>;
  readonly spoolDir: string;
  /** How long objects are kept that nothing refers to any more. */
  readonly graceSeconds: number;
};

/** The catalogue at one moment, beside what readers were last told of it. */
type Look = {
  /** In microseconds since 1970. */
  readonly moment: number;
  readonly newest: SnapshotRow | undefined;
  /** All that the newest snapshot names. */
  readonly manifests: readonly Omit<ManifestRow, 'files'>[];
  /** The tenants whose segments are not those of the newest snapshot. */
  readonly changed: readonly TenantLook[];
};

type TenantLook = {
  readonly tenant: string;
  readonly fingerprint: string;
  readonly live: readonly CatalogueFile[];
  readonly told: readonly ToldFile[];
};

/**
 * Has readers told of the catalogue as it is at a moment after the call: writes a snapshot unless the newest one shows
 * it. Throws 409 `store_fenced`, `store_read_only`, 503 `cold_tier_unavailable`.
 */
export async function bringUpToDate(
  tools: SnapshotTools,
  scope: Scope,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    const seen = await look(tools.db, scope);
    if (seen.newest !== undefined && seen.changed.length === 0) return;
    // Another process that came first may have shown an earlier moment.
    if (await writeSnapshot(tools, scope, { seen, signal })) return;
  }
}

/** Everything is read in one transaction, so that the snapshot is of one moment. */
async function look(db: Database, scope: Scope): Promise<Look> {
  return db.transaction(
    async (connection) => {
      const moment = await queries.readMoment(connection);
      const fingerprints = await queries.listFingerprints(connection, scope);
      const manifests = await queries.listManifests(connection, scope);
      const [newest] = await queries.listSnapshots(connection, scope, 1);
      const now = new Map(fingerprints.map((row) => [row.tenant, row.fingerprint]));
      const before = new Map(manifests.map((row) => [row.tenant, row.fingerprint]));
      const tenants = [...new Set([...now.keys(), ...before.keys()])].filter(
        (tenant) => (now.get(tenant) ?? '') !== (before.get(tenant) ?? ''),
      );
      const rows = await queries.listToldFiles(connection, scope, tenants);
      const told = new Map(rows.map(({ tenant, files }) => [tenant, files]));
      const live = new Map<string, CatalogueFile[]>(tenants.map((tenant) => [tenant, []]));
      for (const file of await queries.listFiles(connection, tenants))
        live.get(file.tenant)?.push(file);
      const changed = [...live].map(([tenant, files]) => ({
        tenant,
        fingerprint: now.get(tenant) ?? '',
        live: files,
        told: told.get(tenant) ?? [],
      }));
      return { moment, newest, manifests, changed };
    },
    { isolation: 'repeatable read' },
  );
}

/** So many objects are written at once. */
const putsAtOnce = 16;

/** Writes the manifests of changed tenants and a list of all. False when another process noted the next one first. */
async function writeSnapshot(
  tools: SnapshotTools,
  scope: Scope,
  { seen, signal }: { seen: Look; signal: AbortSignal },
): Promise<boolean> {
  const { db, store, fence, graceSeconds } = tools;
  // Snapshots a millisecond apart have different times, by which readers find them.
  const id = Math.max(seen.moment, (seen.newest?.id ?? 0) + 1000);
  const attempt = `${folderOf(scope)}/${id}-${randomText(8)}`;
  await fence.advance(signal);
  const changes = seen.changed.map((tenant) => changesOf(id, tenant));
  const gate = createGate(putsAtOnce);
  const written = await Promise.all(
    changes.map(({ tenant, fingerprint, entries }, number) =>
      gate.run(async () => {
        const bytes = encodeManifest(
          id,
          entries.map((entry) => ({ ...entry, path: uriOf(store, entry.object_key) })),
        );
        const key = `${attempt}-m${number}.avro`;
        await putBytes(tools, { key, bytes, signal });
        const files = entries.filter(({ isGone }) => !isGone);
        return {
          tenant,
          snapshot_id: id,
          object_key: key,
          size_bytes: bytes.length,
          fingerprint,
          oldest_id: Math.min(id, ...files.map(({ since }) => since)),
          files: files.map(toldOf),
          counts: countEntries(id, entries),
        };
      }),
    ),
  );
  const renewed = new Set(changes.map(({ tenant }) => tenant));
  const manifests = [
    ...seen.manifests.filter((row) => row.fingerprint !== '' && !renewed.has(row.tenant)),
    ...written,
  ];
  const listed = manifests.map((row) => ({ ...row, path: uriOf(store, row.object_key) }));
  const row = { id, parent_id: seen.newest?.id ?? 0, manifest_list: `${attempt}-list.avro` };
  const bytes = encodeManifestList(row, listed);
  await putBytes(tools, { key: row.manifest_list, bytes, signal });
  const entries = changes.flatMap((change) => change.entries);
  const firstRemoval = await queries.findFirstRemoval(
    db,
    entries.filter(({ isGone }) => isGone),
  );
  const summary = summaryOf(id, entries, manifests);
  return db.transaction(async (connection) => {
    const snapshot = { ...row, summary, manifests: written };
    if (!(await queries.insertSnapshot(connection, scope, snapshot))) return false;
    await queries.endSnapshots(connection, scope, { before: id, graceSeconds, firstRemoval });
    return true;
  });
}

type Entry = ToldFile & {
  readonly tenant: string;
  readonly isGone: boolean;
  readonly bounds: Bounds | null;
};

/** The entries of the new manifest of a tenant: what it has now, and what went since the snapshot before. */
function changesOf(id: number, { tenant, fingerprint, live, told }: TenantLook) {
  const since = new Map(told.map((file) => [file.id, file.since]));
  const stays = new Set(live.map((file) => file.id));
  const entries: Entry[] = [
    ...live.map((file) => ({
      ...file,
      since: since.get(file.id) ?? id,
      isGone: false,
      bounds: boundsOf(file),
    })),
    ...told
      .filter((file) => !stays.has(file.id))
      .map((file) => ({ ...file, tenant, isGone: true, bounds: null })),
  ];
  return { tenant, fingerprint, entries };
}

function toldOf({ id, since, object_key, size_bytes, count, digest }: Entry): ToldFile {
  return { id, since, object_key, size_bytes, count, digest };
}

/** By these a reader leaves out the files of other stores and times. */
function boundsOf(file: CatalogueFile): Bounds | null {
  const { first_store, last_store, first_micros, last_micros } = file;
  if (first_store === null || last_store === null) return null;
  if (first_micros === null || last_micros === null) return null;
  return [
    { id: columnId('store'), low: Buffer.from(first_store), high: Buffer.from(last_store) },
    { id: columnId('occurred_at'), low: longBytes(first_micros), high: longBytes(last_micros) },
  ];
}

function longBytes(decimal: string): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64LE(BigInt(decimal));
  return bytes;
}

/** What a snapshot changed, in the words of Iceberg. */
function summaryOf(
  id: number,
  entries: readonly Entry[],
  manifests: readonly Pick<queries.ManifestRow, 'counts'>[],
): Record<string, string> {
  const added = sumsOf(entries.filter((entry) => !entry.isGone && entry.since === id));
  const gone = sumsOf(entries.filter((entry) => entry.isGone));
  const isSame = added.count === gone.count && added.digest === gone.digest;
  const total = (kind: 'files' | 'rows') =>
    manifests.reduce(
      (sum, { counts }) => sum + counts[`added_${kind}_count`] + counts[`existing_${kind}_count`],
      0,
    );
  const operation =
    gone.files === 0 ? 'append' : isSame ? 'replace' : added.files === 0 ? 'delete' : 'overwrite';
  const figures = {
    'added-data-files': added.files,
    'added-records': added.count,
    'added-files-size': added.bytes,
    'deleted-data-files': gone.files,
    'deleted-records': gone.count,
    'removed-files-size': gone.bytes,
    'total-data-files': total('files'),
    'total-records': total('rows'),
    'total-delete-files': 0,
  };
  const texts = Object.entries(figures).map(([name, value]) => [name, String(value)]);
  return { operation, ...Object.fromEntries(texts) };
}

function sumsOf(files: readonly ToldFile[]) {
  const sum = (value: (file: ToldFile) => number) =>
    files.reduce((whole, file) => whole + value(file), 0);
  return {
    files: files.length,
    count: sum((file) => file.count),
    bytes: sum((file) => file.size_bytes),
    digest: sumDigests(files.map((file) => BigInt(file.digest))),
  };
}

/** The folder of what is written for a scope. There is nothing else below `iceberg/`. */
export function folderOf({ name }: Pick<Scope, 'name'>): string {
  return `iceberg/${name}/metadata`;
}

/** Returns where an object, or the folder of a table, is for readers of other programs. */
export function uriOf(store: ObjectStore, key: string): string {
  const path = store.pathOf(key);
  return path === null ? `${store.location}/${key}` : `file://${path}`;
}
