import { join } from 'node:path';
import { systemClock } from '../../kernel/clock.ts';
import { segmentFolders, tenantFolder } from '../../records/index.ts';
import { checkSegment } from './check-segment.ts';
import { checkCounters } from './counters/check-counters.ts';
import { findOrphans, ourFolders } from './find-orphans.ts';
import { type Claimed, listSegments, measureSegments } from './queries.ts';
import type { Report } from './report.ts';
import type { VerifyTools } from './tools.ts';
import { findUploads } from './uploads.ts';

const pageSegments = 100;

/**
 * Holds catalogue, objects, counters and hot records against each other, while others read, ingest and
 * move. Changes nothing. What differs goes to the report; throws when something cannot be looked at.
 */
export async function verify(
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
export function spoolFile({ spoolDir }: { spoolDir: string }, id: string): string {
  return join(spoolDir, `verify-${id}.parquet`);
}

/** Null = all tenants. */
function scopeOf({ tenant, tenants }: Claimed): readonly string[] | null {
  if (tenant === null) return tenants;
  return tenants === null || tenants.includes(tenant) ? [tenant] : [];
}
