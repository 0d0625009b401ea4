import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock } from '../../kernel/clock.ts';
import { AppError } from '../../kernel/errors.ts';
import type { Session } from '../../platform/postgres/database.ts';
import { segmentFolders, tenantFolder } from '../../records/segments.ts';
import { checkCounters } from './check-counters.ts';
import { checkSegment, type VerifyTools } from './check-segment.ts';
import { findOrphans, ourFolders } from './find-orphans.ts';
import {
  type Claimed,
  claimVerification,
  finishVerification,
  hasOpenVerification,
  listSegments,
  lockVerifier,
  measureSegments,
  unlockVerifier,
} from './queries.ts';
import { createReport, type Report, VerificationTaken } from './report.ts';
import { findUploads } from './uploads.ts';

/** Works off the verifications that were asked for, one at a time over all processes. */
type Verifications = {
  /** Looks for work now: one was asked for here. */
  poke(): void;
  /** Gives up what is under way: another process, or the next start, does it from its beginning. */
  stop(): Promise<void>;
};

/** Also looked for by themselves: other processes take the requests too. */
const lookMillis = 2000;

export function startVerifications(context: VerifyTools): Verifications {
  const stopping = new AbortController();
  let isPoked = false;
  let underWay: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;

  async function workOff(): Promise<void> {
    try {
      do {
        isPoked = false;
        await runOpenVerifications(context, stopping.signal);
      } while (isPoked && !stopping.signal.aborted);
    } catch (error) {
      if (!stopping.signal.aborted) {
        context.log.warn({ err: error }, 'a verification was broken off and starts anew');
      }
    }
  }
  function look(): void {
    clearTimeout(timer);
    if (stopping.signal.aborted) return;
    isPoked = true;
    underWay ??= workOff().then(() => {
      underWay = undefined;
      lookLater();
    });
  }
  function lookLater(): void {
    if (stopping.signal.aborted) return;
    timer = setTimeout(look, lookMillis);
    timer.unref();
  }

  lookLater();
  return {
    poke: look,
    async stop() {
      stopping.abort();
      clearTimeout(timer);
      await underWay;
    },
  };
}

/** Does all that wait, unless another process is at it. */
export async function runOpenVerifications(
  context: VerifyTools,
  signal: AbortSignal,
): Promise<void> {
  if (!(await hasOpenVerification(context.db))) return;
  const session = await context.db.openSession();
  try {
    if (!(await lockVerifier(session))) return;
    for (;;) {
      signal.throwIfAborted();
      const claimed = await claimVerification(context.db);
      if (claimed === undefined) break;
      await runVerification(context, claimed, { session, signal });
    }
    await unlockVerifier(session);
  } finally {
    await session.close();
  }
}

async function runVerification(
  context: VerifyTools,
  claimed: Claimed,
  { session, signal }: { session: Session; signal: AbortSignal },
): Promise<void> {
  const { db, log } = context;
  const report = createReport(db, claimed, () => performance.now());
  const ending = AbortSignal.any([signal, session.lost]);
  try {
    await verify(context, claimed, { report, signal: ending });
    await report.save();
    await finishVerification(db, claimed, { state: 'completed', error: null });
  } catch (error) {
    // Not at fault itself: whoever holds the lock next begins it anew.
    if (ending.aborted || error instanceof VerificationTaken || isDatabaseFault(error)) throw error;
    log.error({ err: error, verification: claimed.id }, 'a verification could not be done');
    await finishVerification(db, claimed, { state: 'failed', error: reasonOf(error) });
  } finally {
    await rm(spoolFile(context, claimed.id), { force: true });
  }
}

function isDatabaseFault(error: unknown): boolean {
  return error instanceof AppError && error.code === 'database_unavailable';
}

function reasonOf(error: unknown): string {
  if (error instanceof AppError) return `${error.code}: ${error.detail}`;
  return 'internal_error: The service made a mistake; its log tells which. Verify again.';
}

const pageSegments = 100;

/**
 * Holds catalogue, objects, counters and hot records against each other, while others read, ingest and
 * move. Changes nothing. What differs goes to the report; throws when something cannot be looked at.
 */
async function verify(
  tools: VerifyTools,
  claimed: Claimed,
  { report, signal }: { report: Report; signal: AbortSignal },
): Promise<void> {
  const { db, objects, log } = tools;
  const tenants = scopeOf(claimed);
  report.setTotals(await measureSegments(db, tenants));
  await report.save();

  const spoolPath = spoolFile(tools, claimed.id);
  let after: readonly [string, string] | null = null;
  for (;;) {
    const page = await listSegments(db, tenants, { after, limit: pageSegments });
    for (const segment of page) {
      signal.throwIfAborted();
      await checkSegment(tools, segment, { spoolPath, report, signal });
      after = [segment.tenant, segment.id];
    }
    if (page.length < pageSegments) break;
  }

  const prefixes = tenants === null ? ourFolders : tenants.flatMap(objectFolders);
  const add: Report['add'] = (problems, count) => report.add(problems, count);
  await findOrphans(db, objects, prefixes, { signal, add });
  await findUploads(db, objects, { prefixes, clock: systemClock, log, signal, add });
  await report.save();
  await checkCounters(db, tenants, { signal, add });
}

/** Of segments, and of files of exports. */
function objectFolders(tenant: string): string[] {
  return [...segmentFolders(tenant), `exports/${tenantFolder(tenant)}/`];
}

/** Where an object lies while it is read, if its store is no file system. */
function spoolFile({ spoolDir }: { spoolDir: string }, id: string): string {
  return join(spoolDir, `verify-${id}.parquet`);
}

/** Null = all tenants. */
function scopeOf({ tenant, tenants }: Claimed): readonly string[] | null {
  if (tenant === null) return tenants;
  return tenants === null || tenants.includes(tenant) ? [tenant] : [];
}
