import { rm } from 'node:fs/promises';
import { batchesOf } from '../../kernel/batches.ts';
import { isLiveSegment, readDaysOfFiles, SegmentFault } from '../../records/segments.ts';
import type { VerifyProblem } from '../schemas.contract.ts';
import { dropFilter, findWrongFilters } from './check-filters.ts';
import {
  type Check,
  compareDays,
  faultProblem,
  fetchObject,
  type VerifyTools,
} from './check-segment.ts';
import { type LiveSegment, listSegmentDays } from './queries.ts';

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
type File = {
  readonly segment: LiveSegment;
  readonly path: string;
  readonly problems: VerifyProblem[];
};

const isRight = ({ problems }: File) => problems.length === 0;

async function checkBatch(
  tools: VerifyTools,
  batch: readonly LiveSegment[],
  check: Check,
): Promise<LiveSegment[]> {
  const { db, objects, duckdb } = tools;
  const { report, rest, signal } = check;
  const inPlace = (segment: LiveSegment) => objects.pathOf(segment.object_key);
  const files = batch.map<File>((segment) => {
    return { segment, path: inPlace(segment) ?? check.newSpoolPath(), problems: [] };
  });
  try {
    await fetchAll(tools, files, check);
    const read = files.filter(isRight).map(({ segment: { tenant }, path }) => ({ tenant, path }));
    const held = await readDaysOfFiles(duckdb, read, signal);
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
  files: readonly File[],
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
