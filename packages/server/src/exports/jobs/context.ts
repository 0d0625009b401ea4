import { AppError, errorCatalogue } from '../../kernel/errors.ts';
import type { AuditLocally } from '../../platform/audit.ts';
import { DuckDbError, isOutOfDisk, isOutOfMemory } from '../../platform/duckdb.ts';
import type { StoreFence } from '../../platform/objects/fence.ts';
import {
  fromFileSystem,
  isObjectFault,
  type ObjectStore,
  systemCode,
} from '../../platform/objects/objects.ts';
import type { Connection, Database } from '../../platform/postgres/database.ts';
import type { Pace } from '../../platform/work/pace.ts';
import type { KeyRange, Slice } from '../../records/index.ts';
import type { ExportSource } from '../encode/rows.ts';
import type { FileFormat, FileOptions } from '../formats/format.ts';

/** What the work on jobs needs from the process that it runs in. */
export type WorkContext = {
  readonly db: Database;
  /** Where records are read from. It has a DuckDB of its own, which is used for jobs only. */
  readonly source: ExportSource;
  readonly store: ObjectStore;
  /** Must be asked before anything is written, because another database may have the store by now. */
  readonly fence: Pick<StoreFence, 'advance'>;
  /** Makes the format of a file; usually left out. */
  readonly createFormat?: (options: FileOptions) => FileFormat;
  /** How many jobs of one tenant run at once, over all processes. */
  readonly perTenant: number;
  /** For how many days a file is kept. */
  readonly days: number;
  /** Cuts a slice into parts; usually left out. */
  readonly cut?: (db: Database, slice: Slice) => Promise<KeyRange[]>;
  /** How long the next attempt waits after so many failed ones, in seconds; usually left out. */
  readonly backoffSeconds?: (failures: number) => number;
  readonly pace: Pace;
  readonly audit: AuditLocally;
  /** Opens the place in which a run of a schedule delivers, a folder or `s3://bucket`. Close the store in the end. */
  readonly openTarget: (run: {
    readonly tenant: string;
    readonly id: string;
  }) => Promise<{ readonly place: string; readonly store: ObjectStore }>;
};

/** What the work on a job has for as long as it holds the job. */
export type Hold = {
  /** Aborts when the job is lost, its session is lost, or the process stops. */
  readonly signal: AbortSignal;
  /** Writes in a transaction as long as the job is held. Throws `JobLost` when it is not. */
  readonly write: <T>(work: (connection: Connection) => Promise<T>) => Promise<T>;
  /** Says how to find out how far the job is, which is stored now and then. */
  readonly showProgress: (now: () => JobProgress) => void;
};

export type JobProgress = { readonly rows: number; readonly bytes: number };

/** Why an attempt ended, as callers may see it. `isPassing` says that another attempt may end better. */
type Fault = { readonly code: string; readonly text: string; readonly isPassing: boolean };

const mistake = 'The service made a mistake. The log has it under exportId.';

/** Turns an error into what the job shows. Details that callers must not see stay in the log. */
export function toFault(error: unknown, dir: string): Fault {
  const what = `The export cannot be written in ${dir}`;
  // Of the folder that files are made in. A full store has an error of its own.
  if (isOutOfDisk(error) || systemCode(error) === 'ENOSPC') {
    return {
      code: 'cold_tier_unavailable',
      text: `${what}: no space is left (ENOSPC). Free some space there, or point SVC_DATA_DIR to a larger disk.`,
      isPassing: true,
    };
  }
  const told = fromFileSystem(error, what);
  if (told instanceof AppError) {
    // An internal error may also pass, such as rows that were counted while they moved.
    const isPassing = errorCatalogue[told.code].retryable || told.code === 'internal_error';
    const isUntold = told.detail === errorCatalogue.internal_error.title;
    return { code: told.code, text: isUntold ? mistake : told.detail, isPassing };
  }
  if (isObjectFault(told)) {
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
