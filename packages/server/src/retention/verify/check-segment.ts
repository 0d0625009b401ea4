import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { ObjectMissing } from '../../platform/objects/objects.ts';
import { readSegmentDays, SegmentFault } from '../../records/index.ts';
import type { VerifyProblem } from '../schemas.contract.ts';
import { compareDays } from './compare-days.ts';
import { number, restoreAdvice, segmentProblem } from './problems.ts';
import { isLive, type LiveSegment, listSegmentDays } from './queries.ts';
import type { Report } from './report.ts';
import type { VerifyTools } from './tools.ts';

type Check = {
  /** Where an object is copied to that cannot be read in place. */
  spoolPath: string;
  report: Report;
  signal: AbortSignal;
};

/**
 * Reads a live segment's object whole, anew from the store, and holds it against the catalogue. A segment
 * that was replaced meanwhile is passed over: its object may be gone, and what replaced it is checked by
 * its own place in the catalogue or by the next verification.
 */
export async function checkSegment(
  tools: VerifyTools,
  segment: LiveSegment,
  check: Check,
): Promise<void> {
  const problems = await findProblems(tools, segment, check);
  if (problems.length > 0 && (await isLive(tools.db, segment))) check.report.add(problems);
  await check.report.advance({ segments: 1 });
}

async function findProblems(
  { db, objects, duckdb }: VerifyTools,
  segment: LiveSegment,
  { spoolPath, report, signal }: Check,
): Promise<VerifyProblem[]> {
  const { object_key: key, size_bytes: sizeBytes } = segment;
  try {
    // Also tells a store that is away from an object that is missing.
    if ((await objects.head(key, signal)) === null) throw new ObjectMissing(key);
    let path = objects.pathOf(key);
    if (path === null) {
      path = spoolPath;
      await objects.get(key, path, signal);
    }
    const { size } = await stat(path);
    if (size !== sizeBytes) {
      const message = `The object holds ${number(size)} bytes, but ${number(sizeBytes)} were written. ${restoreAdvice(segment)}`;
      return [segmentProblem('object_size', segment, message)];
    }
    const sha256 = await hashFile(path, { report, signal });
    if (!sha256.equals(segment.sha256)) {
      const message = `The object is not what was written: its SHA-256 is ${sha256.toString('hex')}. ${restoreAdvice(segment)}`;
      return [segmentProblem('object_damaged', segment, message)];
    }
    const held = await readSegmentDays(duckdb, { tenant: segment.tenant, path, signal });
    await report.advance({ records: held.reduce((sum, day) => sum + day.count, 0) });
    return compareDays(segment, await listSegmentDays(db, segment), held);
  } catch (error) {
    if (isMissing(error)) {
      const message = `There is no such object in ${objects.location}. ${restoreAdvice(segment)}`;
      return [segmentProblem('object_missing', segment, message)];
    }
    if (error instanceof SegmentFault) return [faultProblem(segment, error)];
    throw error;
  }
}

/** An object with the right SHA-256 that is no good segment all the same. */
function faultProblem(segment: LiveSegment, fault: SegmentFault): VerifyProblem {
  const kind = fault.kind === 'order' ? 'order_mismatch' : 'object_damaged';
  const message = `The object is what the catalogue says was written, but ${fault.message}. Reads of it fail or pass over records. Restore the records from a copy, then verify again.`;
  return segmentProblem(kind, segment, message);
}

async function hashFile(
  path: string,
  { report, signal }: { report: Report; signal: AbortSignal },
): Promise<Buffer> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path, { highWaterMark: 2 ** 20, signal })) {
    hash.update(chunk as Buffer);
    await report.advance({ bytes: (chunk as Buffer).length });
  }
  return hash.digest();
}

function isMissing(error: unknown): boolean {
  if (error instanceof ObjectMissing) return true;
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
