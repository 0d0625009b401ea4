/**
 * All that the benches take from the built program itself. Everything else goes over HTTP or SQL, as a
 * user would. The queries are here so that the bare side runs the very same statements.
 */
import { fileURLToPath } from 'node:url';

export { selectRecords } from '../../packages/server/dist/exports/encode/queries.js';
export { exportColumns } from '../../packages/server/dist/exports/values.js';
export { newId } from '../../packages/server/dist/kernel/ids.js';
export { createDuckDb } from '../../packages/server/dist/platform/duckdb.js';
export { copyCsv } from '../../packages/server/dist/platform/postgres/copy.js';
export { startEmbeddedPostgres } from '../../packages/server/dist/platform/postgres/embedded.js';
export { migrate } from '../../packages/server/dist/platform/postgres/migrate.js';
export { openDatabase } from '../../packages/server/dist/platform/postgres/open-database.js';
export {
  listDatasets,
  listLeafDays,
  listRecords,
} from '../../packages/server/dist/records/queries.js';
export { eventFilterSql } from '../../packages/server/dist/records/segments/event-filter.js';
export { shareStoredBytes } from '../../packages/server/dist/records/segments/segment.js';
export { segmentKey } from '../../packages/server/dist/records/segments/segment-key.js';
export {
  digestSql,
  digestSumOf,
  instantSql,
  segmentColumns,
  segmentFormatFor,
} from '../../packages/server/dist/records/segments/segment-sql.js';

/** The program that `svcctl` is. */
export const programPath = fileURLToPath(
  new URL('../../packages/server/bin/svcctl.cjs', import.meta.url),
);
