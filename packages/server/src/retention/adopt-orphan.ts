import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '../kernel/errors.ts';
import type { Caller } from '../platform/audit.ts';
import type { HttpServer } from '../platform/http/server.ts';
import { inSpoolFolder } from '../platform/objects/spool.ts';
import type { Queryable } from '../platform/postgres/database.ts';
import { hashFile } from '../platform/thread-hash.ts';
import { busy } from '../platform/work/session-lock.ts';
import {
  lockRemovals,
  type NewSegment,
  readTenant,
  readWhole,
  replaceSegments,
  SegmentFault,
  sumTriples,
  tenantFolder,
} from '../records/segments.ts';
import { type AdoptedOrphan, type AdoptOrphanRequest, retentionContract } from './contract.ts';
import { type EraseContext, waitForTenant } from './mover/erase-records.ts';
import { hasOpenExports, listHeldDays } from './mover/import-queries.ts';
import { listKeepers } from './mover/queries.ts';
import { tellDays, toTripleRow } from './mover/receipt.ts';
import { isOldEnough, refuseLimited, withOrphan } from './objects.ts';
import { eachOrphan } from './verify/find-orphans.ts';

/** A segment that was proved, and whose it is. */
type Proved = NewSegment & { readonly tenant: string };

/** The time limit for reading the object. */
const timeoutMillis = 600_000;

export function addAdoptRoute(http: HttpServer, context: EraseContext): void {
  http.route(retentionContract.adoptOrphan, ({ body, actor, request }) =>
    adoptOrphan(context, body, { actor, request }),
  );
}

/**
 * Puts a segment that nobody knows into the catalogue and the counters, once its content proves it. Its days must have no
 * records yet: of others nothing tells which records they have in common. What its records add is added to the tenant's
 * sums, which stay wrong if they were: `svcctl records recount` mends those. Throws 403 `scope_missing`, 404
 * `segment_not_found`, 409 `orphan_refused`, `tenant_busy`, `store_fenced`, `store_read_only`, and 503.
 */
export async function adoptOrphan(
  context: EraseContext,
  { object_key: key, dry_run: isDry = false }: AdoptOrphanRequest,
  { actor, request }: Caller,
): Promise<AdoptedOrphan> {
  const { db, spoolDir, lockMillis } = context;
  refuseLimited(actor);
  const signal = AbortSignal.timeout(timeoutMillis);
  return inSpoolFolder(spoolDir, async (dir) => {
    const found = await prove(context, key, { path: join(dir, 'orphan.parquet'), signal });
    await refuseTaken(db, found);
    if (isDry) return tell(found, true);
    await waitForTenant(db, found.tenant, {
      waitMillis: lockMillis,
      signal,
      async work(whole) {
        await context.fence.advance(whole);
        const done = await withOrphan(db, key, {
          signal: whole,
          work: (own) => takeBack(context, { found, actor, request }, own),
        });
        if (done === busy) throw notFound(key);
      },
    });
    return tell(found, false);
  });
}

/** Puts a segment that was proved into the catalogue and the counters. Nobody else removes its object meanwhile. */
async function takeBack(
  context: EraseContext,
  { found, actor, request }: Caller & { found: Proved },
  signal: AbortSignal,
): Promise<void> {
  const { tenant, object_key: key } = found;
  await findOrphan(context, key, signal);
  await context.db.transaction(async (connection) => {
    await lockRemovals(connection, tenant);
    await replaceSegments(connection, {
      tenant,
      add: [found],
      remove: [],
      areNew: true,
      // The counters of its days are locked by now, so that nobody stores records of them meanwhile.
      async removeHot() {
        await refuseTaken(connection, found);
        return [];
      },
    });
    await context.audit(connection, {
      actor,
      request,
      action: 'retention.orphans.adopt',
      target: found.id,
      tenant,
      after: { object_key: key, ...tell(found, false).adopted },
    });
  });
}

/** Throws 404 `segment_not_found` unless nobody knows the object, and it is old enough that nobody is about to. */
async function findOrphan(
  { db, store, graceSeconds }: EraseContext,
  key: string,
  signal: AbortSignal,
): Promise<void> {
  if (key.startsWith('records/tenant=')) {
    for await (const batch of eachOrphan(db, store, [key], signal)) {
      if (batch.some((each) => each.key === key && isOldEnough(each, graceSeconds))) return;
    }
  }
  throw notFound(key);
}

function notFound(key: string): AppError {
  return new AppError('segment_not_found', {
    detail: `${key} is no segment that nobody knows and that is older than SVC_COLD_GRACE_SECONDS: svcctl retention orphans ls lists those.`,
  });
}

/** Reads the object and computes from its content what the catalogue is to say of it. */
async function prove(
  context: EraseContext,
  key: string,
  { path, signal }: { path: string; signal: AbortSignal },
): Promise<Proved> {
  const { store, duckdb } = context;
  await findOrphan(context, key, signal);
  const [, first_day = '', last_day = '', id = ''] =
    /\/(\d{4}-\d\d-\d\d)_(\d{4}-\d\d-\d\d)_([^/]+)\.parquet$/.exec(key) ?? [];
  if (id === '') throw refused(key, 'its name is not that of a segment');
  await store.get(key, path, signal);
  try {
    const tenant = await readTenant(duckdb, { path, signal });
    if (!key.startsWith(`records/${tenantFolder(tenant)}/`)) {
      throw refused(key, `it holds records of ${tenant}, and lies in the folder of another tenant`);
    }
    const held = await readWhole(duckdb, { tenant, path, signal });
    if (held.days.some(({ day }) => day < first_day || day > last_day)) {
      throw refused(key, 'it holds other days than its name says');
    }
    const { size: size_bytes } = await stat(path);
    const sha256 = await hashFile(path, { signal });
    return { tenant, id, object_key: key, size_bytes, sha256, ...held };
  } catch (error) {
    if (error instanceof SegmentFault) throw refused(key, error.message);
    throw error;
  }
}

async function refuseTaken(
  db: Queryable,
  { tenant, object_key: key, days }: Proved,
): Promise<void> {
  const taken = await listHeldDays(db, tenant, days);
  const [first] = taken;
  if (first !== undefined) {
    throw refused(
      key,
      `the database has records of ${taken.length} of its days already, such as ${first.day} of the store ${first.store}. Fetch the object from the store and run svcctl records import FILE, which stores what of it is missing`,
    );
  }
  const all = days.map(({ day }) => day).sort();
  const [firstDay = '', lastDay = ''] = [all[0], all.at(-1)];
  const names = await listKeepers(db, { tenant, firstDay, lastDay });
  if (names.length > 0) {
    throw refused(key, `the dataset version ${names.join(', ')} was frozen without its records`);
  }
  if (await hasOpenExports(db, tenant)) {
    throw refused(
      key,
      'exports of its tenant are under way that were asked for without its records',
    );
  }
}

function refused(key: string, why: string): AppError {
  return new AppError('orphan_refused', {
    detail: `${key} cannot be taken back: ${why}. Nothing was changed.`,
  });
}

function tell({ tenant, object_key, days }: Proved, isDry: boolean): AdoptedOrphan {
  return {
    dry_run: isDry,
    tenant,
    object_key,
    adopted: toTripleRow(sumTriples(days)),
    days: tellDays(days),
  };
}
