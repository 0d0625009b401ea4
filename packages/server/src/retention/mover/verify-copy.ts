import { join } from 'node:path';
import { checkObject } from '../../platform/objects/check-object.ts';
import { isObjectFault } from '../../platform/objects/objects.ts';
import {
  type DayTriple,
  dayKey,
  isSameTriple,
  readWhole,
  SegmentFault,
  sumByDay,
  sumTriples,
} from '../../records/segments.ts';
import { MoveFault } from './fail.ts';
import { takeTransition } from './journal.ts';
import type { MoverContext, MoveSegment, MoveWork, VerifiedSegment } from './move.ts';
import { listMoveDays, setState } from './queries.ts';

/** copied → verified: the objects were read back, and hold for each day what the source held. */
export async function verifyCopy(
  context: MoverContext,
  work: MoveWork,
): Promise<{ work: MoveWork; segments: VerifiedSegment[] }> {
  const segments = await readBack(context, work);
  const triple = sumTriples(segments.flatMap(({ days }) => days));
  const move = await takeTransition(context, work.move, {
    to: 'verified',
    change: (connection) => setState(connection, work.move, { state: 'verified', triple }),
  });
  return { work: { ...work, move }, segments };
}

/** Reads the written objects again. Throws a MoveFault unless their triples, from content, are those of the source. */
export async function readBack(context: MoverContext, work: MoveWork): Promise<VerifiedSegment[]> {
  const segments: VerifiedSegment[] = [];
  for (const segment of work.out) {
    segments.push(await readSegment(context, work, segment));
    await work.rest();
  }
  const expected = await listMoveDays(context.db, work.move);
  const difference = findDifference(
    sumByDay(expected),
    sumByDay(segments.flatMap(({ days }) => days)),
  );
  if (difference !== null) throw damaged(`What was read back differs: ${difference}.`);
  return segments;
}

async function readSegment(
  context: MoverContext,
  { move, dir, signal }: MoveWork,
  segment: MoveSegment,
): Promise<VerifiedSegment> {
  const { segment_id: id, object_key, size_bytes, sha256 } = segment;
  if (size_bytes === null || sha256 === null) throw new Error(`${object_key} was never written`);
  try {
    const path = await fetchSegment(context, segment, { dir, signal });
    const held = await readWhole(context.duckdb, { tenant: move.tenant, path, signal });
    return { id, object_key, size_bytes, sha256, ...held, path };
  } catch (error) {
    if (isObjectFault(error)) {
      throw damaged(`After it was written ${error.message}.`, error);
    }
    signal.throwIfAborted();
    if (!(error instanceof SegmentFault)) throw error;
    throw damaged(
      `The object ${object_key} is not a segment as it should be: ${error.message}.`,
      error,
    );
  }
}

/** A sentence about the first day of a store that differs; null when all are the same. */
function findDifference(
  expected: ReadonlyMap<string, DayTriple>,
  found: ReadonlyMap<string, DayTriple>,
): string | null {
  for (const day of [...expected.values(), ...found.values()]) {
    const [source, object] = [expected.get(dayKey(day)), found.get(dayKey(day))];
    if (source !== undefined && object !== undefined && isSameTriple(source, object)) continue;
    return `store ${day.store} on ${day.day} has ${tell(object)} where the source has ${tell(source)}`;
  }
  return null;
}

function tell(triple: DayTriple | undefined): string {
  if (triple === undefined) return 'nothing';
  return `${triple.count} records, ${triple.bytes} bytes, digest ${triple.digest}`;
}

function damaged(message: string, cause?: unknown): MoveFault {
  const advice = 'The source is kept; the next run moves it again. Check the store and its disks.';
  return new MoveFault('segment_damaged', `${message} ${advice}`, cause);
}

/** Reads a segment's object into a file, and returns the path. Throws ObjectMissing, ObjectDamaged. */
export async function fetchSegment(
  { store }: MoverContext,
  segment: MoveSegment,
  { dir, signal }: { dir: string; signal: AbortSignal },
): Promise<string> {
  const { segment_id, object_key: key, size_bytes: sizeBytes, sha256 } = segment;
  if (sizeBytes === null || sha256 === null) {
    throw new Error(`the journal has no checksum of the object ${key}`);
  }
  const path = join(dir, `${segment_id}.fetched.parquet`);
  await store.get(key, path, signal);
  await checkObject(path, { key, sizeBytes, sha256 }, { signal });
  return path;
}
