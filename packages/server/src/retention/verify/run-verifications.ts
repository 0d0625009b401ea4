import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock } from '../../kernel/clock.ts';
import { AppError } from '../../kernel/errors.ts';
import { type Repeated, repeat } from '../../platform/work/repeat.ts';
import { withSessionLock } from '../../platform/work/session-lock.ts';
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
  measureSegments,
} from './queries.ts';
import { createReport, type Report, VerificationTaken } from './report.ts';
import { findUploads } from './uploads.ts';

/** How often verifications are looked for without a poke, since other processes take requests, too. */
const lookMillis = 2000;

/**
 * Does the verifications that were asked for, one at a time over all processes. One that is under way when its process
 * stops is begun anew by another process, or at the next start.
 */
export function startVerifications(context: VerifyTools): Repeated {
  return repeat((signal) => runOpenVerifications(context, signal), {
    everyMillis: lookMillis,
    onError: (err) => context.log.warn({ err }, 'a verification was broken off and starts anew'),
  });
}

/** Does all verifications that wait, unless another process does so. */
export async function runOpenVerifications(
  context: VerifyTools,
  signal: AbortSignal,
): Promise<void> {
  const { db } = context;
  if (!(await hasOpenVerification(db))) return;
  const lost = 'The lock on verifications was lost with its connection.';
  const work = async (ending: AbortSignal) => {
    for (;;) {
      ending.throwIfAborted();
      const claimed = await claimVerification(db);
      if (claimed === undefined) return;
      await runVerification(context, claimed, ending);
    }
  };
  await withSessionLock(db, { name: 'verifications' }, { signal, lost, work });
}

async function runVerification(
  context: VerifyTools,
  claimed: Claimed,
  signal: AbortSignal,
): Promise<void> {
  const { db, log } = context;
  const report = createReport(db, claimed, () => performance.now());
  try {
    await verify(context, claimed, { report, signal });
    await report.save();
    await finishVerification(db, claimed, { state: 'completed', error: null });
  } catch (error) {
    // The verification itself has not failed: whoever holds the lock next begins it anew.
    if (signal.aborted || error instanceof VerificationTaken || isDatabaseFault(error)) throw error;
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
 * Compares catalogue, objects, counters and hot records with each other, while others read, ingest and move. It changes
 * nothing. Differences go into the report; it throws when something cannot be read at all.
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
  const rest = tools.pace.begin();
  let after: readonly [string, string] | null = null;
  for (;;) {
    const page = await listSegments(db, tenants, { after, limit: pageSegments });
    for (const segment of page) {
      signal.throwIfAborted();
      await checkSegment(tools, segment, { spoolPath, report, rest, signal });
      after = [segment.tenant, segment.id];
    }
    if (page.length < pageSegments) break;
  }

  const prefixes = tenants === null ? ourFolders : tenants.flatMap(objectFolders);
  const add: Report['add'] = (problems, count) => report.add(problems, count);
  await findOrphans(db, objects, prefixes, { signal, add });
  await findUploads(db, objects, { prefixes, clock: systemClock, log, signal, add });
  await report.save();
  await checkCounters(db, tenants, { signal, rest, add });
}

/** The folders of a tenant's segments and of its export files. */
function objectFolders(tenant: string): string[] {
  return [...segmentFolders(tenant), `exports/${tenantFolder(tenant)}/`];
}

/** Where an object is kept while it is read, if its store is no file system. */
function spoolFile({ spoolDir }: { spoolDir: string }, id: string): string {
  return join(spoolDir, `verify-${id}.parquet`);
}

/** The tenants to verify; null means all. */
function scopeOf({ tenant, tenants }: Claimed): readonly string[] | null {
  if (tenant === null) return tenants;
  return tenants === null || tenants.includes(tenant) ? [tenant] : [];
}
