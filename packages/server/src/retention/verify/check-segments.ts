import { rm, stat } from 'node:fs/promises';
import { batchesOf } from '../../kernel/batches.ts';
import { AppError } from '../../kernel/errors.ts';
import { formatCount } from '../../kernel/values.ts';
import type { DuckDb } from '../../platform/duckdb.ts';
import type { Log } from '../../platform/log.ts';
import {
  fromFileSystem,
  isDiskFault,
  markerName,
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
  isLiveSegment,
  isSameTriple,
  readDaysOfFiles,
  type SegmentDay,
  SegmentFault,
  sumTriples,
} from '../../records/segments.ts';
import type { VerifyProblem } from '../schemas.contract.ts';
import { dropFilter, findWrongFilters } from './check-filters.ts';
import { type CataloguedDay, type LiveSegment, listSegmentDays } from './queries.ts';
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

/** What a verification needs from the process that it runs in. */
export type VerifyTools = Pick<StoreWaitOptions, 'sleep'> & {
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

/** Of larger segments, with more than some 8,000 records, most of the time goes into the records themselves. */
const smallBytes = 128 * 1024;
/** So many small segments are read with one statement. It takes DuckDB 40 ms, or half a second if they are not so small. */
const segmentsOfBatch = 50;
/** So many objects are fetched and hashed at once. */
const fetchedAtOnce = 8;

/**
 * Reads the objects of live segments whole, from the store itself, small ones a batch at a time, and compares them with
 * the catalogue. A segment that was replaced meanwhile is skipped: its object may be gone, and its successor is checked
 * at its own place in the catalogue or by the next verification. Returns those of which nothing differs.
 */
export async function checkSegments(
  tools: VerifyTools,
  segments: AsyncIterable<LiveSegment>,
  check: Check,
): Promise<LiveSegment[]> {
  const right: LiveSegment[] = [];
  for await (const some of batchesOf(segments, segmentsOfBatch)) {
    const large = some.filter(({ size_bytes }) => size_bytes > smallBytes);
    const small = some.filter((segment) => !large.includes(segment));
    for (const batch of [small, ...large.map((segment) => [segment])]) {
      check.signal.throwIfAborted();
      if (batch.length > 0) right.push(...(await checkBatch(tools, batch, check)));
    }
  }
  return right;
}

/** A segment of a batch, its object as a local file, and what is wrong with it. */
type SegmentCopy = {
  readonly segment: LiveSegment;
  readonly path: string;
  readonly problems: VerifyProblem[];
};

const isRight = ({ problems }: SegmentCopy) => problems.length === 0;

async function checkBatch(
  tools: VerifyTools,
  batch: readonly LiveSegment[],
  check: Check,
): Promise<LiveSegment[]> {
  const { db, objects, duckdb } = tools;
  const { report, rest, signal } = check;
  const inPlace = (segment: LiveSegment) => objects.pathOf(segment.object_key);
  const files = batch.map<SegmentCopy>((segment) => {
    return { segment, path: inPlace(segment) ?? check.newSpoolPath(), problems: [] };
  });
  try {
    await fetchAll(tools, files, check);
    const read = files.filter(isRight).map(({ segment: { tenant }, path }) => ({ tenant, path }));
    const held = await readDaysOfFiles(duckdb, read, { signal, rest });
    await rest(signal);
    const catalogued = await listSegmentDays(db, batch);
    for (const [at, { segment, path, problems }] of files.entries()) {
      const days = held.get(path);
      if (days instanceof SegmentFault) problems.push(faultProblem(segment, days));
      if (days === undefined || days instanceof SegmentFault) continue;
      report.advance({ records: days.reduce((sum, day) => sum + day.count, 0) });
      const said = catalogued.filter(({ place }) => place === at);
      problems.push(...compareDays(segment, said, days));
    }
    const wrong = await findWrongFilters(tools, files.filter(isRight), signal);
    for (const { segment, problems } of files) {
      if (wrong.has(segment)) problems.push(await dropFilter(db, segment));
      if (problems.length > 0 && (await isLiveSegment(db, segment))) report.add(problems);
      report.advance({ segments: 1 });
    }
    return files.filter(isRight).map(({ segment }) => segment);
  } finally {
    const copies = files.filter(({ segment }) => inPlace(segment) === null);
    await Promise.all(copies.map(({ path }) => rm(path, { force: true })));
  }
}

/** Brings the objects of a batch to their paths, some at a time; of a large one it rests between its pieces. */
async function fetchAll(
  { objects }: VerifyTools,
  files: readonly SegmentCopy[],
  { report, rest, signal }: Check,
): Promise<void> {
  const onChunk = async (bytes: number) => {
    report.advance({ bytes });
    if (files.length === 1) await rest(signal);
  };
  for (let at = 0; at < files.length; at += fetchedAtOnce) {
    const some = files.slice(at, at + fetchedAtOnce).map(async ({ segment, path, problems }) => {
      const problem = await fetchObject(objects, segment, { path, signal, onChunk });
      if (problem !== null) problems.push(problem);
    });
    // All have ended, also when one fails, so that none writes a copy after they were removed.
    await Promise.allSettled(some);
    await Promise.all(some);
    if (files.length > 1) await rest(signal);
  }
}

/** The problem of an object that has the right SHA-256 and is no proper segment all the same. */
function faultProblem(segment: LiveSegment, fault: SegmentFault): VerifyProblem {
  const kind = fault.kind === 'order' ? 'order_mismatch' : 'object_damaged';
  const message = `The object is what the catalogue says was written, but ${fault.message}. Reads of it fail or pass over records. Restore the records from a copy, then verify again.`;
  return segmentProblem(kind, segment, message);
}

/** Brings the object of a segment to `path`, unless it lies there. Returns what is wrong with it; null if nothing is. */
async function fetchObject(
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
    // Where the disk gives nothing at all, this throws: then it is the store, and no single object of it.
    for await (const _ of objects.list(markerName, signal)) break;
    return problem('object_damaged', fault.detail);
  }
}

/** Compares the days that the catalogue has of a segment with those that its object holds. */
function compareDays(
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
