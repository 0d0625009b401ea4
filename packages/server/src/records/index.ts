export { recordsContract } from './contract.ts';
export { createIngest, type Ingest } from './ingest/ingest.ts';
export { measureSlice } from './measure.ts';
export { recordConditions, where } from './queries.ts';
export { addRecordsRoutes } from './routes.ts';
export { type Slice, toSlice } from './slice.ts';
