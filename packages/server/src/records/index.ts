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
export type { RecordRow } from './queries.ts';
export { sampleRecords } from './read/merge.ts';
export { sumColdBytes } from './read/queries.ts';
export { countSlice, measureSlice } from './read/sum-segments.ts';
export { addRecordsRoutes } from './routes.ts';
export { spoolHotRows } from './segments/hot-rows.ts';
export { mergeSegments } from './segments/merge-segments.ts';
export type { DayRange, LockedDay } from './segments/queries.ts';
export { readSegmentDays, readSegmentKeys, SegmentFault } from './segments/read-segment.ts';
export {
  hotTriple,
  removeHotRows,
  replaceSegments,
  type SegmentChange,
} from './segments/replace-segments.ts';
export type {
  ColdReader,
  DayTriple,
  NewSegment,
  SegmentDay,
  StoreDay,
} from './segments/segment.ts';
export {
  dayKey,
  isSameTriple,
  SourceChanged,
  subtractTriples,
  sumByDay,
  sumTriples,
  type Triple,
} from './segments/segment.ts';
export { segmentFolders, segmentKey, tenantFolder } from './segments/segment-key.ts';
export { digestSumSql, instantSql, readSegments, segmentOrder } from './segments/segment-sql.ts';
export { splitSpool } from './segments/split-spool.ts';
export { writeSegmentFromSegments, writeSegmentFromSpool } from './segments/write-segment.ts';
export {
  type DayWindow,
  isCounted,
  type KeyRange,
  type Slice,
  type TagWindows,
  toSlice,
} from './slice.ts';
export type { Chunk, Run, Step } from './steps/cut-steps.ts';
export { type CutOptions, usualCut } from './steps/cut-steps.ts';
export { type OpenSegments, openSegments, planSteps, type StepPlan } from './steps/plan-steps.ts';
export { sumTiers } from './steps/queries.ts';
export { readTagWindows, withTags } from './tags/read-windows.ts';
export { addTagRoutes } from './tags/tags.ts';
export { beyondLastDay, firstDay } from './tags/windows.ts';
export { type CountingOptions, startCounting } from './versions/counting.ts';
export type { Gone, GoneEffects } from './versions/note-gone-records.ts';
export { noteGoneRecords, removeErasedTags } from './versions/note-gone-records.ts';
export { lockRemovals } from './versions/pin-queries.ts';
export { cutParts, type PinnedSlice, pinSlice, usualPart, withPin } from './versions/pin-slice.ts';
export { readVersionSlice, type VersionSlice } from './versions/version.ts';
export { addVersionRoutes, type VersionOptions } from './versions/versions.ts';
