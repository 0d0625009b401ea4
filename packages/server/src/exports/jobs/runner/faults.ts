import { AppError, errorCatalogue } from '../../../kernel/errors.ts';
import { ObjectDamaged, ObjectMissing } from '../../../platform/objects/objects.ts';
import { fromFileSystem, systemCode } from '../../../platform/objects/store-errors.ts';
import { DuckDbError, isOutOfMemory } from '../../../platform/parquet/duckdb.ts';

/** Why an attempt ended, and whether another one may end better. */
export type Fault = { readonly code: string; readonly text: string; readonly isPassing: boolean };

/** The job was cancelled, failed from elsewhere, or taken over: whoever did it has written it down. */
export class JobLost extends Error {}

const mistake = 'The service made a mistake. The log has it under exportId.';

/** Says for the job what an error was; what is private stays in the log. */
export function toFault(error: unknown, dir: string): Fault {
  const what = `The export cannot be written in ${dir}`;
  if (isFull(error)) {
    return {
      code: 'cold_tier_unavailable',
      text: `${what}: no space is left (ENOSPC). Free some space there, or point SVC_DATA_DIR to a larger disk.`,
      isPassing: true,
    };
  }
  const told = fromFileSystem(error, what);
  if (told instanceof AppError) {
    // A mistake may be one of the moment, such as rows that were counted while they moved.
    const isPassing = errorCatalogue[told.code].retryable || told.code === 'internal_error';
    const isUntold = told.detail === errorCatalogue.internal_error.title;
    return { code: told.code, text: isUntold ? mistake : told.detail, isPassing };
  }
  if (told instanceof ObjectMissing || told instanceof ObjectDamaged) {
    return { code: 'segment_damaged', text: `Of the file, ${told.message}.`, isPassing: true };
  }
  if (isOutOfMemory(told)) {
    return {
      code: 'cold_tier_unavailable',
      text: 'DuckDB had too little memory for these records. Records of many megabytes each take the most.',
      isPassing: true,
    };
  }
  if (told instanceof DuckDbError) {
    const [why = ''] = told.message.split('\n');
    return { code: 'cold_tier_unavailable', text: `DuckDB says: ${why}`, isPassing: true };
  }
  return { code: 'internal_error', text: mistake, isPassing: true };
}

/** Of the folder that files are made in; a store that is full says so itself. */
function isFull(error: unknown): boolean {
  if (error instanceof DuckDbError) {
    return /no space left on device|max_temp_directory_size/i.test(error.message);
  }
  return systemCode(error) === 'ENOSPC';
}
