// These are the closed lists of words that records use. Contract, command line and console all take them from here. The
// file has no schema code, so importing it costs the command line no start-up time and the console no bytes.

/** What a row of the tree sums: a tenant, a store of a tenant, or a month of a store. */
export const levels = ['tenant', 'store', 'month'] as const;
export type Level = (typeof levels)[number];

/** The purposes for which records can be tagged. */
export const datasetNames = ['training', 'fine_tuning'] as const;
export type DatasetName = (typeof datasetNames)[number];

/** The fields of a record as it is sent, in the order in which they are counted in `bytes`. */
export const recordFields = [
  'tenant',
  'store',
  'event_id',
  'occurred_at',
  'kind',
  'source',
  'model',
  'confidence',
  'enrichment',
] as const;
export type RecordField = (typeof recordFields)[number];

/** The formats of files that can be imported. */
export const importFormats = ['parquet', 'csv', 'ndjson'] as const;
export type ImportFormat = (typeof importFormats)[number];

/** Where the records of a leaf or a day lie: in PostgreSQL (hot), in segments (cold), or some in each (mixed). */
export const tiers = ['hot', 'cold', 'mixed'] as const;

/** Returns where the records of a counter lie. */
export function tierOf({ count, cold_count }: { count: number; cold_count: number }) {
  const tier: (typeof tiers)[number] =
    cold_count === 0 ? 'hot' : cold_count === count ? 'cold' : 'mixed';
  return tier;
}

/** `asc` goes store by store, the oldest first, `desc` the other way; `newest` and `oldest` by time over all stores. */
export const orders = ['asc', 'desc', 'newest', 'oldest'] as const;

/** The three splits among which the shares of a dataset version divide its records. */
export const splitNames = ['train', 'validation', 'test'] as const;
export type SplitName = (typeof splitNames)[number];

/** A version is `counting` while its records are read, then `ready` if they are what they should be, or `failed`. */
export const versionStates = ['counting', 'ready', 'failed'] as const;
export type VersionState = (typeof versionStates)[number];

/** Why less is left of a version than was frozen: records were erased on request, or deleted by retention. */
export const versionChanges = ['erased', 'deleted'] as const;

/** What a value of an enrichment may be. */
export const valueTypes = ['text', 'number', 'boolean', 'object', 'array'] as const;
export type ValueType = (typeof valueTypes)[number];
