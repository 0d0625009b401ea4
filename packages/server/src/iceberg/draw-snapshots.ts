import { sumDigests } from '../kernel/digest.ts';
import { randomText } from '../kernel/ids.ts';
import type { Step } from './history.ts';
import type { Look } from './look.ts';
import { type Bounds, countEntries } from './manifest.ts';
import { columnId, type SnapshotRow } from './metadata.ts';
import type { CatalogueFile, ManifestRow, NewManifest, ToldFile } from './queries.ts';

/** A manifest to be written. Its size is known when it is. */
type Draft = NewManifest & {
  size_bytes: number;
  until_id: number | null;
  readonly entries: readonly Entry[];
};

/** A snapshot to be written: the manifests of those who changed, and all that it names. */
type Drawn = {
  readonly row: SnapshotRow;
  readonly drafts: readonly Draft[];
  readonly manifests: readonly ManifestRow[];
};

/**
 * Decides what the snapshots of these steps say, which follow the newest one and each other, and with which of them the
 * manifests of before end. Their objects are named for `folder`.
 */
export function drawSnapshots(
  folder: string,
  { moment, newest, manifests, tenants }: Look,
  steps: readonly Step[],
): { snapshots: Drawn[]; ended: { tenant: string; until: number }[] } {
  const fingerprints = new Map(tenants.map((each) => [each.tenant, each.fingerprint]));
  const told = new Map(tenants.map((each) => [each.tenant, each.told]));
  const current = new Map<string, ManifestRow | Draft>(manifests.map((row) => [row.tenant, row]));
  const ended: { tenant: string; until: number }[] = [];
  let last = { id: newest?.id ?? 0, at: newest?.at ?? 0 };
  const snapshots = steps.map((step) => {
    const id = Math.max(moment, last.id + 1);
    const key = `${folder}/${id}-${randomText(8)}`;
    const drafts = step.changes.map(({ tenant, files }, number): Draft => {
      const entries = entriesOf(id, { tenant, live: files, told: told.get(tenant) ?? [] });
      const left = entries.filter(({ isGone }) => !isGone);
      const now = left.map(toldOf);
      told.set(tenant, now);
      return {
        tenant,
        snapshot_id: id,
        until_id: null,
        object_key: `${key}-m${number}.avro`,
        size_bytes: 0,
        // Only that of the last manifest is ever compared.
        fingerprint: left.length === 0 ? '' : fingerprints.get(tenant) || 'past',
        oldest_id: Math.min(id, ...now.map(({ since }) => since)),
        files: now,
        counts: countEntries(id, entries),
        entries,
      };
    });
    const renewed = new Set(drafts.map(({ tenant }) => tenant));
    for (const row of current.values()) {
      if (row.fingerprint !== '' && !renewed.has(row.tenant)) continue;
      current.delete(row.tenant);
      if ('entries' in row) row.until_id = id;
      else ended.push({ tenant: row.tenant, until: id });
    }
    for (const draft of drafts) current.set(draft.tenant, draft);
    const named = [...current.values()];
    // Snapshots a millisecond apart have different times, by which readers find them.
    const at = Math.max(step.at, last.at + 1000);
    const summary = summaryOf(
      id,
      drafts.flatMap(({ entries }) => entries),
      named,
    );
    const row = { id, parent_id: last.id, manifest_list: `${key}-list.avro`, summary, at };
    last = { id, at };
    return { row, drafts, manifests: named };
  });
  return { snapshots, ended };
}

type Entry = ToldFile & {
  readonly tenant: string;
  readonly isGone: boolean;
  readonly bounds: Bounds | null;
};

/** The entries of the new manifest of a tenant: what it has from then on, and what went since the snapshot before. */
function entriesOf(
  id: number,
  {
    tenant,
    live,
    told,
  }: { tenant: string; live: readonly CatalogueFile[]; told: readonly ToldFile[] },
): Entry[] {
  const since = new Map(told.map((file) => [file.id, file.since]));
  const stays = new Set(live.map((file) => file.id));
  return [
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
  manifests: readonly Pick<ManifestRow, 'counts'>[],
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
