// How records read in the SQL of both tiers: exports, which write whole slices, put their statements together of it.

export { digestSumSql } from './segments/segment-sql.ts';
export { coldColumnSql } from './slice/cold-sql.ts';
export { columnSql, selectSlice } from './slice/queries.ts';
export { type ChunkRows, chunkRows } from './steps/chunk-rows.ts';
