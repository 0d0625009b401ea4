import type { Log } from '../../platform/log.ts';
import type { ObjectStore } from '../../platform/objects/objects.ts';
import type { DuckDb } from '../../platform/parquet/duckdb.ts';
import type { Database } from '../../platform/postgres/database.ts';

/** What a verification works with. */
export type VerifyTools = {
  readonly db: Database;
  /** The objects themselves, no copies of them. */
  readonly objects: ObjectStore;
  readonly duckdb: DuckDb;
  /** For objects of a store that is no file system, one at a time. */
  readonly spoolDir: string;
  readonly log: Log;
};
