import { batchesOf } from '../../kernel/batches.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Log } from '../../platform/log.ts';
import type { StoreFence } from '../../platform/objects/fence.ts';
import type { ObjectStore, OpenUpload } from '../../platform/objects/objects.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import type { VerifyProblem } from '../schemas.contract.ts';
import { listUnknown, objectProblem, ourFolders } from './find-orphans.ts';

/** An upload that is older than this has been abandoned. */
const oldMillis = 24 * 3_600_000;
const batchUploads = 1000;

type Uploads = Pick<ObjectStore, 'location' | 'listUploads' | 'endUpload'>;

/**
 * Reports the uploads whose parts only take space: those of objects that no open move and no export names, and all that
 * are older than a day. Uploads of processes at work are not disturbed. If the store does not allow uploads to be
 * listed, the log says so, and nothing is reported.
 */
export async function findUploads(
  db: Queryable,
  store: Uploads,
  search: {
    prefixes: readonly string[];
    clock: Clock;
    log: Log;
    signal: AbortSignal;
    add: (problems: readonly VerifyProblem[]) => void;
  },
): Promise<void> {
  const { clock, signal, add } = search;
  for await (const batch of batchesOf(listOurs(store, search), batchUploads)) {
    const unknown = new Set(await listUnknown(db, batch));
    const isLeft = (upload: OpenUpload) => unknown.has(upload.key) || isOld(upload, clock());
    add(batch.filter(isLeft).map((upload) => unfinished(upload, store.location)));
  }
  signal.throwIfAborted();
}

/** Ends uploads older than a day, whose processes are gone; none while another database has the store. */
export async function endOldUploads(
  { store, fence }: { store: Uploads; fence: Pick<StoreFence, 'advance'> },
  options: { clock: Clock; log: Log; signal: AbortSignal },
): Promise<void> {
  const { clock, log, signal } = options;
  let ended = 0;
  for await (const upload of listOurs(store, { prefixes: ourFolders, log, signal })) {
    if (!isOld(upload, clock())) continue;
    if (ended === 0) await fence.advance(signal);
    await store.endUpload(upload, signal);
    ended += 1;
  }
  if (ended > 0) log.info({ ended }, 'uploads of killed processes were ended');
}

/** Lists the unfinished uploads under our prefixes. A prefix that cannot be listed is logged and skipped. */
async function* listOurs(
  store: Uploads,
  search: { prefixes: readonly string[]; log: Log; signal: AbortSignal },
): AsyncGenerator<OpenUpload> {
  const { log, signal } = search;
  for (const prefix of search.prefixes) {
    try {
      yield* store.listUploads(prefix, signal);
    } catch (err) {
      signal.throwIfAborted();
      log.warn({ err }, 'unfinished uploads could not be listed');
    }
  }
}

function isOld({ startedAt }: OpenUpload, now: number): boolean {
  return startedAt < now - oldMillis;
}

function unfinished({ key, startedAt }: OpenUpload, location: string): VerifyProblem {
  const since = Number.isFinite(startedAt) ? ` on ${new Date(startedAt).toISOString()}` : '';
  const message = `An upload of this object to ${location} was begun${since} and never finished. No read needs its parts, which take space. The first run of retention that finds it a day old ends it.`;
  return objectProblem('upload_unfinished', key, message);
}
