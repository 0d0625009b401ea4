import { AppError } from '../../kernel/errors.ts';
import { isStoreFull } from '../../platform/objects/s3-errors.ts';
import { fromFileSystem } from '../../platform/objects/store-errors.ts';
import { DuckDbError, isOutOfMemory } from '../../platform/parquet/duckdb.ts';
import { MoveFault } from './fail.ts';

/**
 * Makes of a full disk a 503 that tells which folder; anything else comes back unchanged. Too little memory
 * ends the move: if it never sufficed, all other work on the tenant would wait for it for ever.
 */
export function toPassingFault(error: unknown, dir: string): unknown {
  const what = `The move cannot go on in ${dir}`;
  if (isOutOfMemory(error)) {
    return new MoveFault(
      'out_of_memory',
      'DuckDB had too little memory for these days. The source is kept; the next run moves them again. Records of many megabytes each take the most: if it fails again, look for those.',
      error,
    );
  }
  if (!(error instanceof DuckDbError)) return fromFileSystem(error, what);
  const [why = ''] = error.message.split('\n');
  return new AppError('cold_tier_unavailable', {
    detail: `${what}: ${why}. See to space on its disk; the next run goes on.`,
    retryAfterSeconds: 30,
    cause: error,
  });
}

/** Whether there is no room for what a move writes, in the store or in the folder it works in. */
export function isFull(error: unknown): error is AppError {
  if (!(error instanceof AppError)) return false;
  const { cause } = error;
  const ofDuckDb =
    cause instanceof DuckDbError &&
    /no space left on device|max_temp_directory_size/i.test(cause.message);
  return ofDuckDb || isStoreFull(error);
}
