export { recordsContract } from './contract.ts';
export { createIngest, type Ingest } from './ingest/ingest.ts';
export { countRecords, recordConditions, sumLeafDays, where } from './queries.ts';
export { addRecordsRoutes } from './routes.ts';
export { isCounted, isOutOfReach, type Slice, toSlice } from './slice.ts';
