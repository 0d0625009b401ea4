import { AppError } from '../../kernel/errors.ts';
import { DuckDbError, isOutOfMemory } from '../../platform/duckdb.ts';
import { isObjectFault, type OpenObject } from '../../platform/objects/objects.ts';
import { segmentDamaged } from '../segments/damage.ts';
import type { ColdReader } from '../segments/segment.ts';
import type { Segment } from './queries.ts';

/**
 * Opens the objects of segments, calls `read` with their local paths, and releases them. All are open at the same time,
 * so pass only a few. Throws 500 `segment_damaged` when an object is missing or is not what was written, and 503
 * `cold_tier_unavailable` when memory is short.
 */
export async function withSegments<T>(
  cold: ColdReader,
  segments: readonly Segment[],
  read: (paths: string[]) => Promise<T>,
): Promise<T> {
  const opened: OpenObject[] = [];
  try {
    const openings = await Promise.allSettled(segments.map((segment) => open(cold, segment)));
    for (const opening of openings) {
      if (opening.status === 'fulfilled') opened.push(opening.value);
    }
    for (const opening of openings) {
      if (opening.status === 'rejected') throw opening.reason;
    }
    const paths = opened.map(({ path }) => path);
    return await read(paths).catch((error: unknown) => {
      throw explain(error, segments, paths);
    });
  } finally {
    await Promise.all(opened.map((object) => object.release()));
  }
}

/**
 * Reads once more, beginning with the catalogue, when an object is missing or cannot be read: it may have been replaced
 * and removed since the catalogue was read. If the second read fails too, what the catalogue names is really lost.
 */
export async function readTwice<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof AppError && error.code === 'segment_damaged')) throw error;
    return read();
  }
}

async function open(cold: ColdReader, segment: Segment): Promise<OpenObject> {
  const { object_key: key, size_bytes: sizeBytes, sha256 } = segment;
  try {
    return await cold.objects.open({ key, sizeBytes, sha256 });
  } catch (error) {
    throw isObjectFault(error) ? segmentDamaged(segment, error) : error;
  }
}

/**
 * Explains an error of DuckDB. The checksums of the files were right, so what DuckDB cannot read was damaged before the
 * file was written.
 */
function explain(error: unknown, segments: readonly Segment[], paths: readonly string[]): unknown {
  if (!(error instanceof DuckDbError)) return error;
  if (isOutOfMemory(error)) {
    return new AppError('cold_tier_unavailable', {
      detail:
        'There is not enough memory to read cold data at the moment. Try again in a few seconds.',
      retryAfterSeconds: 5,
      cause: error,
    });
  }
  const named = paths.findIndex((path) => error.message.includes(path));
  const segment = segments[Math.max(0, named)];
  return segment === undefined ? error : segmentDamaged(segment, error);
}
