import type { Log } from '../../../platform/log.ts';
import type { StoreFence } from '../../../platform/objects/fence.ts';
import type { ObjectStore } from '../../../platform/objects/objects.ts';
import type { Database } from '../../../platform/postgres/database.ts';
import type { KeyRange, Slice } from '../../../records/index.ts';
import type { FileFormat, FileOptions } from '../../formats/format.ts';
import type { ExportSource } from '../../source.ts';

/** What the work on jobs needs. */
export type WorkContext = {
  readonly db: Database;
  /** Read for jobs only, by a DuckDB of their own. */
  readonly source: ExportSource;
  readonly store: ObjectStore;
  /** Asked before anything is written: another database may have the store by now. */
  readonly fence: Pick<StoreFence, 'advance'>;
  readonly createFormat: (options: FileOptions) => FileFormat;
  /** Days that a file is kept. */
  readonly days: number;
  /** How a slice is cut; usually left out. */
  readonly cut?: (db: Database, slice: Slice) => Promise<KeyRange[]>;
  /** How long the next attempt waits after so many failed ones; usually left out. */
  readonly backoffSeconds?: (failures: number) => number;
  readonly log: Log;
};
