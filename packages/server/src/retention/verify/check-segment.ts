import { stat } from 'node:fs/promises';
import { AppError } from '../../kernel/errors.ts';
import { formatCount } from '../../kernel/values.ts';
import type { DuckDb } from '../../platform/duckdb.ts';
import type { Log } from '../../platform/log.ts';
import {
  fromFileSystem,
  isDiskFault,
  ObjectMissing,
  type ObjectStore,
  systemCode,
} from '../../platform/objects/objects.ts';
import type { StoreWaitOptions } from '../../platform/objects/store-wait.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { hashFile } from '../../platform/thread-hash.ts';
import type { Pace, Rest } from '../../platform/work/pace.ts';
import {
  dayKey,
  isSameTriple,
  type SegmentDay,
  type SegmentFault,
  sumTriples,
} from '../../records/segments.ts';
import type { VerifyProblem } from '../schemas.contract.ts';
import type { CataloguedDay, LiveSegment } from './queries.ts';
import {
  counterAdvice,
  describeTriple,
  type Report,
  restoreAdvice,
  segmentProblem,
} from './report.ts';

export type Check = {
  /**
   * Returns a path to which an object is copied if it cannot be read in place. It is another one each time: DuckDB may
   * take a file for one that it read before under the same path. Of 1,000 objects of nearly the same size, 16 were found
   * damaged that were not.
   */
  newSpoolPath: () => string;
  report: Report;
  /** Is awaited between pieces of the work, so that clients go first. */
  rest: Rest;
  signal: AbortSignal;
};

/** The problem of an object that has the right SHA-256 and is no proper segment all the same. */
export function faultProblem(segment: LiveSegment, fault: SegmentFault): VerifyProblem {
  const kind = fault.kind === 'order' ? 'order_mismatch' : 'object_damaged';
  const message = `The object is what the catalogue says was written, but ${fault.message}. Reads of it fail or pass over records. Restore the records from a copy, then verify again.`;
  return segmentProblem(kind, segment, message);
}

/** Brings the object of a segment to `path`, unless it lies there. Returns what is wrong with it; null if nothing is. */
export async function fetchObject(
  objects: ObjectStore,
  segment: LiveSegment,
  options: { path: string; signal: AbortSignal; onChunk?: (bytes: number) => Promise<void> },
): Promise<VerifyProblem | null> {
  const { object_key: key, size_bytes: sizeBytes } = segment;
  const { path, signal } = options;
  const problem = (kind: VerifyProblem['kind'], message: string) =>
    segmentProblem(kind, segment, `${message} ${restoreAdvice(segment)}`);
  try {
    if (objects.pathOf(key) === null) await objects.get(key, path, signal);
    // This also throws when the store is unavailable, which must not be taken for a missing object.
    else if ((await objects.head(key, signal)) === null) throw new ObjectMissing(key);
    const { size } = await stat(path);
    if (size !== sizeBytes) {
      const message = `The object holds ${formatCount(size)} bytes, but ${formatCount(sizeBytes)} were written.`;
      return problem('object_size', message);
    }
    const sha256 = await hashFile(path, options);
    if (sha256.equals(segment.sha256)) return null;
    const found = sha256.toString('hex');
    return problem(
      'object_damaged',
      `The object is not what was written: its SHA-256 is ${found}.`,
    );
  } catch (error) {
    if (error instanceof ObjectMissing || systemCode(error) === 'ENOENT') {
      return problem('object_missing', `There is no such object in ${objects.location}.`);
    }
    // What is not read in place is written to a disk of this machine, which may be at fault itself.
    const fault = fromFileSystem(error, 'The object cannot be read');
    const isOfDisk = fault instanceof AppError && isDiskFault(fault.cause);
    if (!isOfDisk || objects.pathOf(key) === null) throw error;
    return problem('object_damaged', fault.detail);
  }
}

/** What a verification needs from the process that it runs in. */
export type VerifyTools = Partial<Pick<StoreWaitOptions, 'now' | 'sleep'>> & {
  readonly db: Database;
  /** Whether this database removes objects from the store. A copy of it, or one that was restored just now, does not. */
  readonly removes?: (() => boolean) | undefined;
  /** The store itself, not copies of its objects. */
  readonly objects: ObjectStore;
  readonly duckdb: DuckDb;
  /** A folder for objects of a store that is no file system: one at a time, or a batch of small ones. */
  readonly spoolDir: string;
  readonly log: Log;
  readonly pace: Pace;
};

/** Compares the days that the catalogue has of a segment with those that its object holds. */
export function compareDays(
  segment: LiveSegment,
  catalogued: readonly CataloguedDay[],
  held: readonly SegmentDay[],
): VerifyProblem[] {
  const problems: VerifyProblem[] = [];
  const found = new Map(held.map((day) => [dayKey(day), day]));
  for (const day of catalogued) {
    const key = dayKey(day);
    problems.push(...compareDay(segment, day, found.get(key)));
    found.delete(key);
  }
  for (const day of found.values()) problems.push(...compareDay(segment, undefined, day));
  problems.push(...compareSums(segment, catalogued));
  return problems;
}

const emptyTriple = sumTriples([]);

function compareDay(
  segment: LiveSegment,
  said: CataloguedDay | undefined,
  found: SegmentDay | undefined,
): VerifyProblem[] {
  const { store, day } = said ?? found ?? { store: null, day: null };
  const problem = (kind: VerifyProblem['kind'], message: string): VerifyProblem => ({
    ...segmentProblem(kind, segment, `${store} ${day}: ${message} ${counterAdvice}`),
    store,
    first_day: day,
    last_day: day,
  });
  if (!isSameTriple(said ?? emptyTriple, found ?? emptyTriple)) {
    const message = `the catalogue says ${describeTriple(said ?? emptyTriple)}; the object holds ${describeTriple(found ?? emptyTriple)}.`;
    return [problem('triple_mismatch', message)];
  }
  if (said !== undefined && found !== undefined && said.first_row !== found.first_row) {
    const message = `the catalogue says that its rows begin at ${formatCount(said.first_row)}; in the object they begin at ${formatCount(found.first_row)}.`;
    return [problem('order_mismatch', message)];
  }
  return [];
}

/** Checks that the days of a segment in the catalogue add up to the segment. */
function compareSums(segment: LiveSegment, days: readonly CataloguedDay[]): VerifyProblem[] {
  const sum = sumTriples(days);
  const storedBytes = days.reduce((total, day) => total + day.stored_bytes, 0);
  const problems: VerifyProblem[] = [];
  if (!isSameTriple(segment, sum)) {
    const message = `The catalogue says of the segment ${describeTriple(segment)}; its days there add up to ${describeTriple(sum)}. ${counterAdvice}`;
    problems.push(segmentProblem('triple_mismatch', segment, message));
  }
  if (storedBytes !== segment.size_bytes) {
    const message = `The object has ${formatCount(segment.size_bytes)} bytes; the shares of its days in the catalogue add up to ${formatCount(storedBytes)}. ${counterAdvice}`;
    problems.push(segmentProblem('counter_mismatch', segment, message));
  }
  return problems;
}
