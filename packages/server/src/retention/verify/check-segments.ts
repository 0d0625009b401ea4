import { rm } from 'node:fs/promises';
import { readSmallSegments } from '../../records/segments.ts';
import { findWrongFilters } from './check-filters.ts';
import { checkInBatches } from './check-in-batches.ts';
import {
  type Check,
  checkSegment,
  compareDays,
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

/** Checks live segments as `checkSegment` does, small ones a batch at a time. Returns those of which nothing differs. */
export function checkSegments(
  tools: VerifyTools,
  segments: AsyncIterable<LiveSegment>,
  check: Check,
): Promise<LiveSegment[]> {
  return checkInBatches(segments, {
    most: segmentsOfBatch,
    isLarge: ({ size_bytes }) => size_bytes > smallBytes,
    findRight: (batch) => findRight(tools, batch, check),
    checkOne: (segment) => checkSegment(tools, segment, check),
    signal: check.signal,
  });
}

/** Finds the segments of a batch of which nothing differs. */
async function findRight(
  { db, objects, duckdb }: VerifyTools,
  batch: readonly LiveSegment[],
  { newSpoolPath, report, rest, signal }: Check,
): Promise<ReadonlySet<LiveSegment>> {
  const right = new Set<LiveSegment>();
  const copies: string[] = [];
  try {
    const paths: (string | null)[] = [];
    for (let at = 0; at < batch.length; at += fetchedAtOnce) {
      const some = batch.slice(at, at + fetchedAtOnce).map(async (segment) => {
        const inPlace = objects.pathOf(segment.object_key);
        const path = inPlace ?? newSpoolPath();
        if (inPlace === null) copies.push(path);
        const problem = await fetchObject(objects, segment, { path, signal });
        return problem === null ? path : null;
      });
      paths.push(...(await allEnded(some)));
      await rest(signal);
    }
    const files = batch.flatMap(({ tenant }, i) => {
      const path = paths[i] ?? null;
      return path === null ? [] : [{ tenant, path }];
    });
    const held = await readSmallSegments(duckdb, files, signal);
    await rest(signal);
    const catalogued = await listSegmentDays(db, batch);
    const alike = batch.flatMap((segment, i) => {
      const path = paths[i] ?? '';
      const days = held.get(path);
      const said = catalogued.filter(({ place }) => place === i);
      const isAlike = days !== undefined && compareDays(segment, said, days).length === 0;
      return isAlike ? [{ segment, path }] : [];
    });
    const wrong = await findWrongFilters({ db, duckdb }, alike, signal);
    for (const { segment } of alike) {
      if (wrong.has(segment)) continue;
      right.add(segment);
      report.advance({ segments: 1, bytes: segment.size_bytes, records: segment.count });
    }
    return right;
  } finally {
    await Promise.all(copies.map((copy) => rm(copy, { force: true })));
  }
}

/** Waits until all have ended, also when one fails, so that none writes a copy after they were removed. */
async function allEnded<T>(works: readonly Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(works);
  return Promise.all(works);
}
