import { AppError, errorCatalogue } from '../../../kernel/errors.ts';
import { ObjectDamaged, ObjectMissing } from '../../../platform/objects/objects.ts';
import { fromFileSystem } from '../../../platform/objects/store-errors.ts';
import { DuckDbError, isOutOfMemory } from '../../../platform/parquet/duckdb.ts';

/** Why an attempt ended, and whether another one may end better. */
export type Fault = { readonly code: string; readonly text: string; readonly isPassing: boolean };

/** The job was cancelled, failed from elsewhere, or taken over: whoever did it has written it down. */
export class JobLost extends Error {}

/** Says for the job what an error was; what is private stays in the log. */
export function toFault(error: unknown, dir: string): Fault {
  const told = fromFileSystem(error, `The export cannot be written in ${dir}`);
  if (told instanceof AppError) {
    // A mistake may be one of the moment, such as rows that were counted while they moved.
    const isPassing = errorCatalogue[told.code].retryable || told.code === 'internal_error';
    return { code: told.code, text: told.detail, isPassing };
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
  return { code: 'internal_error', text: errorCatalogue.internal_error.title, isPassing: true };
}
