import type { FastifyRequest } from 'fastify';
import { type Actor, mayTouchTenant } from '../kernel/actor.ts';
import { formatDigest } from '../kernel/digest.ts';
import { AppError } from '../kernel/errors.ts';
import { formatMicros } from '../kernel/instant.ts';
import { emptyPage, type Page, toKeyset, toPage } from '../kernel/page.ts';
import type { ObjectInfo } from '../platform/objects/objects.ts';
import type { Database, Queryable } from '../platform/postgres/database.ts';
import { type busy, withSessionLock } from '../platform/work/session-lock.ts';
import type { OrphanRow, SegmentRow } from './contract.ts';
import * as queries from './queries.ts';
import type { RetentionOptions } from './store.ts';
import type { SegmentState } from './values.ts';
import { eachOrphan, listUnknown, ourFolders, partsOf } from './verify/find-orphans.ts';

type SegmentsRequest = { tenant?: string; state?: SegmentState; limit?: number; cursor?: string };

/** One page of the objects that hold cold records, by tenant and key. Throws 400 `cursor_invalid`. */
export async function listSegments(
  db: Queryable,
  cursorKey: Buffer,
  actor: Actor,
  { limit, cursor, ...filters }: SegmentsRequest,
): Promise<Page<SegmentRow>> {
  const { tenant, state } = filters;
  const page = { cursorKey, scope: { list: 'retention.segments', filters }, limit, cursor };
  const keyset = toKeyset<queries.ObjectKey>(page);
  if (tenant !== undefined && !mayTouchTenant(actor, tenant)) return emptyPage();
  const tenants = tenant === undefined ? actor.tenants : [tenant];
  const rows = await queries.listObjects(db, { tenants, state }, keyset);
  const { data, next_cursor } = toPage(page, rows, (row) => [row.tenant, row.object_key]);
  const shown = data.map((row) => ({
    ...row,
    digest: row.digest === null ? null : formatDigest(BigInt(row.digest)),
  }));
  return { data: shown, next_cursor };
}

/** So many are listed. */
const listed = 1000;
/** The time limit for listing the store, and for removing what was asked for. */
const timeoutMillis = 300_000;

/** Lists objects that nobody knows and that are older than the grace. Throws 403 `scope_missing`. */
export async function listOrphans(
  db: Queryable,
  { store: { store }, graceSeconds }: RetentionOptions,
  actor: Actor,
): Promise<{ data: OrphanRow[] }> {
  refuseLimited(actor);
  const data: OrphanRow[] = [];
  const signal = AbortSignal.timeout(timeoutMillis);
  for await (const batch of eachOrphan(db, store, ourFolders, signal)) {
    for (const object of batch) {
      if (!isOldEnough(object, graceSeconds)) continue;
      const { tenant, firstDay: first_day, lastDay: last_day } = partsOf(object.key);
      data.push({
        object_key: object.key,
        tenant,
        first_day,
        last_day,
        size_bytes: object.sizeBytes,
        written_at: formatMicros(Math.floor(object.writtenAt) * 1000),
      });
    }
    if (data.length >= listed) break;
  }
  return { data: data.slice(0, listed) };
}

/**
 * Removes those of these objects that nobody knows and that are older than the grace. Throws 403 `scope_missing`, 409
 * `store_fenced`, `store_read_only`, 503 `cold_tier_unavailable`.
 */
export async function removeOrphans(
  db: Database,
  { store: { store, fence }, graceSeconds, audit }: RetentionOptions,
  { actor, request, keys }: { actor: Actor; request: FastifyRequest; keys: readonly string[] },
): Promise<{ removed: string[] }> {
  refuseLimited(actor);
  const signal = AbortSignal.timeout(timeoutMillis);
  // Nobody who made a copy of the database before can make these objects live any more.
  await fence.advance(signal);
  const doomed: string[] = [];
  for (const key of keys.filter((each) => ourFolders.some((folder) => each.startsWith(folder)))) {
    for await (const batch of eachOrphan(db, store, [key], signal)) {
      const found = batch.find((object) => object.key === key);
      if (found !== undefined && isOldEnough(found, graceSeconds)) doomed.push(key);
    }
  }
  const entry = { actor, request, action: 'retention.orphans.remove', target: null, tenant: null };
  await audit(db, { ...entry, after: { object_keys: doomed } });
  const removed: string[] = [];
  for (const key of doomed) {
    await withOrphan(db, key, {
      signal,
      async work(own) {
        // Somebody may have taken it back since it was looked for.
        if ((await listUnknown(db, [{ key }])).length === 0) return;
        await fence.assertOwn(own);
        await store.remove(key, own);
        removed.push(key);
      },
    });
  }
  return { removed };
}

/** Removes an object that nobody knows, or takes it back, while nobody else does; `busy` when somebody does. */
export function withOrphan<T>(
  db: Database,
  key: string,
  options: { signal: AbortSignal; work: (signal: AbortSignal) => Promise<T> },
): Promise<T | typeof busy> {
  const lost = 'The lock on the object was lost with its connection. Ask again.';
  return withSessionLock(db, { name: 'removals', of: key }, { lost, ...options });
}

/** Whether an object was written longer ago than the grace. */
export function isOldEnough(
  object: ObjectInfo,
  graceSeconds: number,
): object is ObjectInfo & { writtenAt: number } {
  const { writtenAt } = object;
  return writtenAt !== undefined && Date.now() - writtenAt >= graceSeconds * 1000;
}

/** Throws 403 `scope_missing` for a caller that is limited to tenants. */
export function refuseLimited(actor: Actor): void {
  if (actor.tenants === null) return;
  throw new AppError('scope_missing', {
    detail:
      'A token limited to tenants sees no objects of the store, in which all tenants lie. Use one that is not limited.',
  });
}
