import { dayAfter } from '../../kernel/day.ts';
import type { Log } from '../../platform/log.ts';
import { isFenced, type StoreFence } from '../../platform/objects/fence.ts';
import type { ObjectStore } from '../../platform/objects/objects.ts';
import type { Connection, Database } from '../../platform/postgres/database.ts';
import { type Repeated, repeat } from '../../platform/work/repeat.ts';
import { type Gone, type GoneEffects, hasLost, type Named } from '../../records/index.ts';
import { dropPlaceSecrets, listDeliveries } from './delivery-queries.ts';
import { endJobs, type JobDays, listFetched, listWithRecords } from './erasure-queries.ts';
import { type JobId, jobFolder } from './job.ts';
import * as queries from './queries.ts';

type SweepContext = {
  readonly db: Database;
  readonly store: ObjectStore;
  readonly fence: Pick<StoreFence, 'advance' | 'assertOwn'>;
  readonly log: Log;
};

const batchJobs = 100;

/** Removes again and again what jobs leave behind. Every process of the role exports does this. */
export function startSweeps(context: SweepContext, lookMillis: number): Repeated {
  return repeat((signal) => sweep(context, signal), {
    everyMillis: lookMillis,
    onError: (err) => context.log.warn({ err }, 'exports could not be looked through'),
  });
}

/** Sweeps once. What cannot be removed is left to the next sweep. */
export async function sweep(context: SweepContext, signal: AbortSignal): Promise<void> {
  const { db, log } = context;
  for (const job of await queries.listSweepable(db, batchJobs)) {
    signal.throwIfAborted();
    await removeEndedFiles(context, job, signal).catch((err: unknown) => {
      // Every sweep would find the same, so nothing is logged here: the watch over the store reports it once.
      if (!signal.aborted && !isFenced(err))
        log.warn({ err, exportId: job.id }, 'a file of an export stays for now');
    });
  }
  await queries.pruneJobs(db);
  await dropPlaceSecrets(db);
}

/** Removes the objects of an ended job, of all its attempts, and stores that; the next sweep does what a kill left. */
async function removeEndedFiles(
  { db, store, fence }: SweepContext,
  job: JobId,
  signal: AbortSignal,
): Promise<void> {
  let isAdvanced = false;
  for await (const { key } of store.list(jobFolder(job), signal)) {
    // The fence is advanced after the job let go of the objects, so that no copy of the database that may write from
    // now on still needs them.
    if (!isAdvanced) await fence.advance(signal);
    isAdvanced = true;
    // Another database that takes over the store meanwhile may keep the file.
    await fence.assertOwn(signal);
    await store.remove(key, signal);
  }
  await queries.markRemoved(db, job);
}

const causes = {
  erase: 'Records of its slice were erased on request',
  delete: 'Records of its slice were deleted by retention',
} as const;

/**
 * Ends the jobs, and removes the files, whose slices have days that lose records. Runs in the transaction that lets the
 * records go; a job that is made meanwhile waits for it and pins what is left. Returns the exports whose files are removed.
 */
export async function noteGoneExports(connection: Connection, gone: Gone): Promise<Named[]> {
  const { tenant, kind } = gone;
  await queries.lockQueue(connection, tenant);
  const jobs = await listWithRecords(connection, tenant);
  const ids = jobs.filter((job) => mayHave(job, gone)).map(({ id }) => id);
  if (ids.length === 0) return [];
  return endJobs(connection, {
    tenant,
    ids,
    text: {
      job: `${causes[kind]}. Start the export again without them.`,
      run: `${causes[kind]}. The next run delivers what is left.`,
    },
    fileText: {
      job: `${causes[kind]}, so its file was removed. Start the export again without them.`,
      run: `${causes[kind]}, so its file was removed. What was delivered stays where it is.`,
    },
  });
}

/** Whether a job may have records that go. A run of a schedule may be of any day; once it is cut, its parts tell which. */
function mayHave({ slice, first_day: first, last_day: last }: JobDays, gone: Gone): boolean {
  const days = first === null || last === null ? {} : { from: first, until: dayAfter(last) };
  return hasLost({ ...slice, ...days }, gone);
}

/** The exports with some of these records whose files were fetched, as far as the audit log knows, the latest first. */
export async function listGoneDownloads(
  connection: Connection,
  gone: Gone,
): Promise<NonNullable<GoneEffects['downloads']>> {
  const fetched = await listFetched(connection, gone.tenant);
  return fetched
    .filter((job) => mayHave(job, gone))
    .map(({ id, name, at, by }) => ({ id, name, at, by }));
}

/** Folders in which schedules may have delivered some of these records, the newest first, so many at most. */
export function listGoneDeliveries(connection: Connection, gone: Gone): Promise<string[]> {
  const { tenant, days } = gone;
  const distinct = (of: readonly string[]) => [...new Set(of)];
  return listDeliveries(connection, tenant, {
    stores: distinct(days.map(({ store }) => store)),
    days: distinct(days.map(({ day }) => day)),
    limit: mostDeliveries,
  });
}

const mostDeliveries = 1000;
