import type { Clock } from '../../../kernel/clock.ts';
import { AppError, type ErrorCode } from '../../../kernel/errors.ts';
import { type Repeated, repeat } from '../../../kernel/repeat.ts';
import type { Log } from '../../../platform/log.ts';
import { isSameTriple } from '../../segments/triple.ts';
import { readVersionSlice } from '../read-version-slice.ts';
import * as queries from './queries.ts';
import { type ContentTools, readContent } from './read-content.ts';

export type CountingOptions = ContentTools & { readonly clock: Clock; readonly log: Log };

/** Also looked for by itself: other processes freeze versions, and leave some uncounted when killed. */
const lookMillis = 2000;
/** What could not be read is read again after this long. */
const pauseMillis = 60_000;

/** Counts the versions that wait for it, one at a time over all processes. */
export function startCounting(options: CountingOptions): Repeated {
  const { log, clock } = options;
  const pausedUntil = new Map<string, number>();
  return repeat(
    async (signal) => {
      for (const [id, until] of pausedUntil) if (until <= clock()) pausedUntil.delete(id);
      const failed = await countVersions(options, { except: [...pausedUntil.keys()], signal });
      for (const id of failed) pausedUntil.set(id, clock() + pauseMillis);
    },
    {
      everyMillis: lookMillis,
      onError: (err) => log.warn({ err }, 'the counting of a dataset version starts anew'),
    },
  );
}

/**
 * Counts all that wait but those of `except`, unless another process is at it: the lock is a session's, and
 * ends with the process, however that ends. Answers which could not be read.
 */
export async function countVersions(
  options: Omit<CountingOptions, 'clock'>,
  { except = [], signal }: { except?: readonly string[]; signal: AbortSignal },
): Promise<string[]> {
  const { db, log } = options;
  if ((await queries.findCounting(db, except)) === undefined) return [];
  const failed: string[] = [];
  const session = await db.openSession();
  try {
    if (!(await queries.lockCounting(session))) return [];
    const ending = AbortSignal.any([signal, session.lost]);
    for (;;) {
      ending.throwIfAborted();
      const version = await queries.findCounting(db, [...except, ...failed]);
      if (version === undefined) return failed;
      try {
        await countVersion(options, version, ending);
      } catch (error) {
        if (ending.aborted || isFault(error, 'database_unavailable')) throw error;
        // Deleted meanwhile.
        if (isFault(error, 'version_not_found')) continue;
        const about = { tenant: version.tenant, version: version.id };
        log.error({ err: error, ...about }, 'a dataset version could not be counted');
        await queries.setTrouble(db, version, reasonOf(error));
        failed.push(version.id);
      }
    }
  } finally {
    await session.close();
  }
}

/** Reads a version and compares it with what was frozen, or after a change with nothing. */
async function countVersion(
  options: Omit<CountingOptions, 'clock'>,
  version: queries.CountingVersion,
  signal: AbortSignal,
): Promise<void> {
  const { db, log } = options;
  const { tenant, id } = version;
  const { slice, parts } = await readVersionSlice(db, { tenant, id, tenants: null });
  const counted = await readContent(options, { slice, parts }, signal);
  signal.throwIfAborted();
  const difference = differenceOf(version, counted.triple);
  // When records of it went meanwhile it is counted anew: it waits for that still.
  if (!(await queries.setCounted(db, version, counted, difference))) return;
  if (difference === null) log.debug({ tenant, version: id }, 'a dataset version is counted');
  else log.error({ tenant, version: id, difference }, 'a dataset version is not what was frozen');
}

type CountedTriple = queries.Counted['triple'];

/** Null when all is there, or, once records of it went, when there is less. */
function differenceOf(version: queries.CountingVersion, found: CountedTriple): string | null {
  if (isSameTriple(version, found)) return null;
  if (version.change !== null && found.count < version.count) return null;
  return `${tell(version)} were frozen, ${tell(found)} are read. svcctl retention verify tells where data differs from its counters; freeze a new version once that is mended.`;
}

function tell({ count, bytes, digest }: CountedTriple): string {
  return `${count} records (${bytes} bytes, digest ${BigInt(digest).toString(16).padStart(16, '0')})`;
}

function isFault(error: unknown, code: ErrorCode): boolean {
  return error instanceof AppError && error.code === code;
}

function reasonOf(error: unknown): string {
  return error instanceof AppError
    ? `Not counted yet. ${error.detail}`
    : 'Not counted yet: the service made a mistake, its log tells which. It is tried again in a minute.';
}
