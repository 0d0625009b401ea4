import { createGate } from '../kernel/gate.ts';
import type { StoreFence } from '../platform/objects/fence.ts';
import type { ObjectStore } from '../platform/objects/objects.ts';
import { putBytes } from '../platform/objects/spool.ts';
import type { Database } from '../platform/postgres/database.ts';
import { drawSnapshots } from './draw-snapshots.ts';
import { planSteps, type Step } from './history.ts';
import { findHorizon, type Look, look, mostSwitches, objectsAtOnce } from './look.ts';
import { encodeManifest, encodeManifestList } from './manifest.ts';
import type { Scope } from './queries.ts';
import * as queries from './queries.ts';

export type SnapshotTools = {
  readonly db: Database;
  readonly store: ObjectStore;
  readonly fence: Pick<StoreFence, 'advance' | 'assertOwn'>;
  readonly spoolDir: string;
  /** How long objects are kept that nothing refers to any more. */
  readonly graceSeconds: number;
};

/**
 * Has readers told of the catalogue as it is at a moment after the call: writes a snapshot for each switch since the
 * newest one. Throws 409 `store_fenced`, `store_read_only`, 503 `cold_tier_unavailable`.
 */
export async function bringUpToDate(
  tools: SnapshotTools,
  scope: Scope,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    const seen = await look(tools, scope);
    const steps = planSteps(seen.tenants, {
      ...seen,
      horizon: await findHorizon(tools.store, seen, signal),
      looked: seen.newest?.id ?? null,
      most: mostSwitches,
    });
    if (steps.length === 0) return;
    // Another process that came first may have shown an earlier moment.
    if (await writeSnapshots(tools, scope, { seen, steps, signal })) return;
  }
}

/** Writes manifests of those who changed, then a list of all for each step. False when another process was first. */
async function writeSnapshots(
  tools: SnapshotTools,
  scope: Scope,
  { seen, steps, signal }: { seen: Look; steps: readonly Step[]; signal: AbortSignal },
): Promise<boolean> {
  const { db, store, fence, graceSeconds } = tools;
  const { snapshots, ended } = drawSnapshots(folderOf(scope), seen, steps);
  const drafts = snapshots.flatMap((snapshot) => snapshot.drafts);
  await fence.advance(signal);
  const gate = createGate(objectsAtOnce);
  const located = <Row extends { object_key: string }>(rows: readonly Row[]) =>
    rows.map((row) => ({ ...row, path: uriOf(store, row.object_key) }));
  await Promise.all(
    drafts.map((draft) =>
      gate.run(async () => {
        const bytes = encodeManifest(draft.snapshot_id, located(draft.entries));
        await putBytes(tools, { key: draft.object_key, bytes, signal });
        draft.size_bytes = bytes.length;
      }),
    ),
  );
  await Promise.all(
    snapshots.map(({ row, manifests }) =>
      gate.run(async () => {
        const bytes = encodeManifestList(row, located(manifests));
        await putBytes(tools, { key: row.manifest_list, bytes, signal });
      }),
    ),
  );
  const gone = await findRemovals(db, drafts);
  const rows = snapshots.map(({ row }) => row);
  // Who has files of a manifest compared needs those of the newest alone.
  const manifests = drafts.map((draft) => ({
    ...draft,
    entries: [],
    files: draft.until_id === null ? draft.files : [],
  }));
  return db.transaction(async (connection) => {
    const added = { snapshots: rows, manifests, ended };
    if (!(await queries.insertSnapshots(connection, scope, added))) return false;
    const newest = rows.at(-1)?.id ?? 0;
    await queries.endSnapshots(connection, scope, { newest, graceSeconds, gone });
    return true;
  });
}

/**
 * Finds of each snapshot when the first object goes that it deletes. One that is gone, or that nobody removes, could go any
 * time.
 */
async function findRemovals(
  db: Database,
  drafts: ReturnType<typeof drawSnapshots>['snapshots'][number]['drafts'],
): Promise<{ id: number; at: string }[]> {
  const goneOf = ({ entries }: (typeof drafts)[number]) => entries.filter(({ isGone }) => isGone);
  const rows = await queries.listRemovals(db, drafts.flatMap(goneOf));
  const times = new Map(rows.map(({ object_key: key, at }) => [key, at]));
  return drafts.flatMap((draft) => {
    const [at] = goneOf(draft)
      .map(({ object_key: key }) => times.get(key) ?? '-infinity')
      .sort();
    return at === undefined ? [] : [{ id: draft.snapshot_id, at }];
  });
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
