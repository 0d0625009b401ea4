import type { ObjectReader } from '../../platform/objects/objects.ts';
import type { DuckDb } from '../../platform/parquet/duckdb.ts';

/** What reading cold records needs. */
export type ColdReader = { readonly duckdb: DuckDb; readonly objects: ObjectReader };
