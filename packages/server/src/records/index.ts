// Exports and `app.ts` read records through this module. What moves or removes records imports segments.ts instead,
// and what writes SQL of its own about them imports sql.ts.

export { fileBody } from '../platform/http/body.ts';
export { endCountsOf, listCountsAsJobs } from './counts/count-jobs.ts';
export { listOpenCounts } from './counts/queries.ts';
export { startCounts } from './counts/run-counts.ts';
export { readSliceSample } from './facts/read-sample.ts';
export { recordFigures } from './figures.ts';
export { listImportsAsJobs } from './import-jobs/import-jobs.ts';
export { type Finding, Findings } from './ingest/findings.ts';
export { createIngest, createLint, type Ingest } from './ingest/ingest.ts';
export { numberWarning } from './ingest/lint-record.ts';
export { partitionName } from './ingest/store-part.ts';
export { type RecordRow, sumLeafDays } from './queries.ts';
export { sampleRecords } from './read/pages.ts';
export { countSlice, measureSlice } from './read/sum-segments.ts';
export { addRecordsRoutes } from './routes.ts';
export { type ColdReader, sumTriples, type Triple } from './segments/segment.ts';
export { tenantFolder } from './segments/segment-key.ts';
export {
  type DayWindow,
  hasLost,
  isCounted,
  joinKeyRanges,
  type KeyRange,
  type Slice,
  type TagWindows,
  toSlice,
} from './slice/slice.ts';
export { type Chunk, type CutOptions, type Step, usualCut } from './steps/cut-steps.ts';
export { type OpenSegments, openSegments, planSteps } from './steps/plan-steps.ts';
export { readStored, startSumming } from './stored/stored.ts';
export { addTagRoutes } from './tags/tags.ts';
export { readTagWindows } from './tags/windows.ts';
export { countInParts } from './versions/count-records.ts';
export { startCounting } from './versions/counting.ts';
export { versionsAsJobs } from './versions/listed-versions.ts';
export {
  type Gone,
  type GoneEffects,
  type Named,
  noteGoneRecords,
  removeErasedTags,
} from './versions/note-gone-records.ts';
export { cutParts, usualPart } from './versions/pin-queries.ts';
export { pinSlice, withPin } from './versions/pin-slice.ts';
export { readVersionSlice, type VersionSlice } from './versions/version.ts';
export { addVersionRoutes } from './versions/versions.ts';
export { joinWheres, parseWhere } from './where/parse.ts';
