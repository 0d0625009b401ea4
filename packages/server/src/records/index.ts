export {
  coldConditions,
  coldLabelConditions,
  coldSplitSql,
  coldWindowsSql,
} from './conditions/cold-sql.ts';
export {
  rangeConditions,
  recordConditions,
  splitSql,
  where,
  windowsSql,
} from './conditions/queries.ts';
export { recordsContract } from './contract.ts';
export { createIngest, type Ingest } from './ingest/ingest.ts';
export { countSlice, measureSlice } from './measure.ts';
export { cutParts, usualPart } from './pin/cut-parts.ts';
export { type PinnedSlice, pinSlice, withPin } from './pin/pin-slice.ts';
export { lockRemovals } from './pin/queries.ts';
export type { RecordRow } from './queries.ts';
export { addRecordsRoutes } from './routes.ts';
export type { ColdReader } from './segments/cold-reader.ts';
export { spoolHotRows } from './segments/hot-rows.ts';
export { mergeSegments } from './segments/merge-segments.ts';
export type { DayRange } from './segments/queries.ts';
export { readSegmentDays, SegmentFault } from './segments/read-segment-days.ts';
export { readSegmentKeys } from './segments/read-segment-keys.ts';
export type { LockedDay } from './segments/replace/queries.ts';
export { hotTriple, removeHotRows } from './segments/replace/remove-hot-rows.ts';
export { replaceSegments, type SegmentChange } from './segments/replace/replace-segments.ts';
export { SourceChanged } from './segments/replace/source-changed.ts';
export type { DayTriple, NewSegment, SegmentDay, StoreDay } from './segments/segment.ts';
export { segmentFolders, segmentKey, tenantFolder } from './segments/segment-key.ts';
export { digestSumSql, instantSql, readSegments, segmentOrder } from './segments/segment-sql.ts';
export { splitSpool } from './segments/split-spool.ts';
export {
  dayKey,
  isSameTriple,
  subtractTriples,
  sumByDay,
  sumTriples,
  type Triple,
} from './segments/triple.ts';
export { writeSegmentFromSegments, writeSegmentFromSpool } from './segments/write-segment.ts';
export {
  type DayWindow,
  isCounted,
  type KeyRange,
  type Slice,
  type TagWindows,
  toSlice,
} from './slice.ts';
export { readTagWindows, withTags } from './tags/read-windows.ts';
export { addTagRoutes } from './tags/routes.ts';
export { beyondLastDay, firstDay } from './tags/windows.ts';
export { sumColdBytes } from './tiers/queries.ts';
export { sampleRecords } from './tiers/sample-records.ts';
export { type CutOptions, usualCut } from './tiers/steps/cut-steps.ts';
export { type OpenSegments, openSegments } from './tiers/steps/open-segments.ts';
export { planSteps, type StepPlan } from './tiers/steps/plan-steps.ts';
export { sumTiers } from './tiers/steps/queries.ts';
export type { Chunk, Run, Step } from './tiers/steps/step.ts';
export { type CountingOptions, startCounting } from './versions/count/start-counting.ts';
export type { Gone, GoneEffects } from './versions/gone/gone.ts';
export { noteGoneRecords, removeErasedTags } from './versions/gone/note-gone-records.ts';
export { readVersionSlice, type VersionSlice } from './versions/read-version-slice.ts';
export { addVersionRoutes, type VersionOptions } from './versions/routes.ts';
