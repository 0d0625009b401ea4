// Retention, which moves, replaces and removes records, uses them through this module.

export { readUpload, type Upload, UploadFault } from './import/read-upload.ts';
export { assertOpen } from './import-jobs/import-jobs.ts';
export { addStored } from './import-jobs/queries.ts';
export { openSegment } from './read/open-segments.ts';
export { isFilter, mayHold, missesSql } from './segments/event-filter.ts';
export { mergeSegments } from './segments/merge-segments.ts';
export {
  type CounterTable,
  counterKeys,
  digestSum,
  isLiveSegment,
  type LockedDay,
  listDaysOfSegments,
} from './segments/queries.ts';
export {
  readDaysOfFiles,
  readSegmentDays,
  readSegmentKeys,
  readTenant,
  readWhole,
  SegmentFault,
} from './segments/read-segment.ts';
export {
  hotTriple,
  removeHotRows,
  replaceSegments,
  type Span,
  spansOf,
} from './segments/replace-segments.ts';
export {
  type DayTriple,
  dayKey,
  isSameTriple,
  type LiveSegment,
  type NewSegment,
  type SegmentDay,
  SourceChanged,
  type StoreDay,
  subtractTriples,
  sumByDay,
  sumTriples,
  type Triple,
} from './segments/segment.ts';
export { segmentKey, tenantFolder, tenantOfFolder } from './segments/segment-key.ts';
export { digestSumSql, readSegments } from './segments/segment-sql.ts';
export { splitSpool, spoolHotRows } from './segments/spool.ts';
export {
  writeSegmentFromRecords,
  writeSegmentFromSegments,
  writeSegmentFromSpool,
} from './segments/write-segment.ts';
export { coldPlaceConditions } from './slice/cold-sql.ts';
export { fromDays, recordConditions } from './slice/queries.ts';
export { beyondLastDay, firstDay, type Slice } from './slice/slice.ts';
export type { Gone, GoneEffects, Named } from './versions/note-gone-records.ts';
export { lockRemovals } from './versions/pin-queries.ts';
export { coldWhereSql } from './where/cold-sql.ts';
export { parsePath } from './where/parse.ts';
export { whereSql } from './where/queries.ts';
export type { Where } from './where/where.ts';
