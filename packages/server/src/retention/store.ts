import type { Actor } from '../kernel/actor.ts';
import { AppError } from '../kernel/errors.ts';
import { type Act, type Audit, noteAct } from '../platform/audit.ts';
import type { Foreseen } from '../platform/http/server.ts';
import type { Log } from '../platform/log.ts';
import { refuseReadOnly, type StoreFence } from '../platform/objects/fence.ts';
import type { ObjectInfo, ObjectStore } from '../platform/objects/objects.ts';
import type { StoreFinding, StoreWatch } from '../platform/objects/store-watch.ts';
import type { Database, Queryable } from '../platform/postgres/database.ts';
import type { StoreRow, StoreSummary } from './contract.ts';
import { disownObjects } from './mover/run-move.ts';
import { listUnknown, ourFolders } from './verify/find-orphans.ts';
import { eachSegment, listSegments } from './verify/queries.ts';

/** What the routes about the store of cold data need. */
type StoreTools = {
  readonly fence: StoreFence;
  readonly watch: StoreWatch;
  readonly store: ObjectStore;
};

/** What the retention routes need from the process that they run in. */
export type RetentionOptions = {
  readonly cursorKey: () => Buffer;
  readonly audit: Audit;
  readonly log: Log;
  readonly store: StoreTools;
  /** How long objects are kept that nothing refers to any more. */
  readonly graceSeconds: number;
  /** Tells the runner of this process, if it has that role, that a run or a verification was queued. */
  poke(): void;
};

/** The part of the store's state that every reader of the plan may see. */
export function toStoreSummary({ state, problem }: StoreFinding): StoreSummary {
  return { state, problem: problem === null ? null : problem.detail };
}

/** The store as it is now. Who wrote it last is shown only to callers that are not limited to tenants. */
export async function getStore({ watch }: StoreTools, actor: Actor): Promise<StoreRow> {
  return toStoreRow(await watch.look(), actor);
}

/** As `getStore`, and for callers that are not limited to tenants how many segments the store lacks. */
export async function getStoreCounted(
  db: Queryable,
  tools: StoreTools,
  actor: Actor,
): Promise<StoreRow> {
  const row = await getStore(tools, actor);
  if (actor.tenants !== null) return row;
  const signal = AbortSignal.timeout(listMillis);
  const there = new Set<string>();
  for (const prefix of ourFolders.filter((folder) => !folder.startsWith('exports/'))) {
    for await (const { key } of tools.store.list(prefix, signal)) there.add(key);
  }
  let [segments, missing] = [0, 0];
  const all = { tenants: null, after: null, limit: pageSegments };
  for await (const { object_key } of eachSegment(db, all)) {
    segments += 1;
    if (!there.has(object_key)) missing += 1;
  }
  return { ...row, segments, segments_missing: missing };
}

/** The time limit for listing the store. */
const listMillis = 300_000;
const pageSegments = 1000;

function toStoreRow(state: StoreFinding, actor: Actor): StoreRow {
  const { marked } = state;
  return {
    ...toStoreSummary(state),
    written_at: marked?.at ?? null,
    written_by: actor.tenants === null ? (marked?.by ?? null) : null,
    segments: null,
    segments_missing: null,
  };
}

/**
 * Makes this database the one that the store belongs to, whichever it was before. Throws 403 `scope_missing` for a
 * token that is limited to tenants, 409 `store_read_only`, 503 `cold_tier_unavailable`.
 *
 * The audit entry is written before the attempt: the store takes no part in a transaction, and a transaction that
 * waited for it would hold a connection and, if it were retried, take the store twice. A failed attempt is recorded
 * afterwards; it may have succeeded all the same, since an answer can be lost.
 */
export async function adoptStore(db: Database, tools: StoreTools, act: Act): Promise<StoreRow> {
  const { actor } = act;
  if (actor.tenants !== null) {
    throw new AppError('scope_missing', {
      detail:
        'A token limited to tenants cannot take over the store, in which all tenants lie. Use one that is not limited.',
    });
  }
  const before = await getStore(tools, actor);
  refuseReadOnly(tools.fence);
  const entry = { action: 'retention.adopt_store', target: null, tenant: null };
  await noteAct(db, act, { ...entry, before, after: { state: 'own' } });
  try {
    await disownObjects(db);
    await tools.fence.adopt(AbortSignal.timeout(adoptMillis));
  } catch (error) {
    const failed = error instanceof AppError ? error.code : 'internal_error';
    // The error of the store is the one to report, not that of the audit.
    await noteAct(db, act, { ...entry, after: { failed } }).catch(() => {});
    throw error;
  }
  return getStore(tools, actor);
}

/** Says from whom `adoptStore` would take the store. */
export async function foreseeAdoption(tools: StoreTools, actor: Actor): Promise<Foreseen> {
  const { state, written_by: owner } = await getStore(tools, actor);
  const from = owner === null ? '' : `, which ${owner} wrote last`;
  return {
    acts: ['adopt_store'],
    tenant: null,
    about: { state, owner },
    says: `Takes the store of cold data over for this database${from}.`,
  };
}

/** The time limit for taking over the store. */
const adoptMillis = 20_000;

/** How many known segments are looked for, and how many objects are listed in each folder. */
const sampled = 10;
const listed = 100;

/**
 * Whether the content of a store without a marker belongs to this database: the store has one of the segments that the
 * database knows, or some object that it knows, or there is nothing on either side.
 */
export async function isKnownStore(
  { db, store }: { db: Queryable; store: ObjectStore },
  signal: AbortSignal,
): Promise<boolean> {
  const segments = await listSegments(db, { tenants: null, after: null, limit: sampled });
  for (const { object_key } of segments) {
    if ((await store.head(object_key, signal)) !== null) return true;
  }
  const found: ObjectInfo[] = [];
  for (const prefix of ourFolders) {
    let count = 0;
    for await (const object of store.list(prefix, signal)) {
      found.push(object);
      count += 1;
      if (count === listed) break;
    }
  }
  if (found.length === 0) return segments.length === 0;
  return (await listUnknown(db, found)).length < found.length;
}
