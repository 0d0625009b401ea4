// The closed lists of RECORDS. Contract, command line and console all take them from here, so this file
// carries no schema code: it costs the command line no start-up time and the console no bytes.

/** What a row of the tree is a sum over: a tenant, a store of one, a month of a store. */
export const levels = ['tenant', 'store', 'month'] as const;
export type Level = (typeof levels)[number];

export const datasetNames = ['training', 'fine_tuning'] as const;
export type DatasetName = (typeof datasetNames)[number];

/** Where records of a leaf or a day lie; mixed: some in PostgreSQL, some in segments. */
export const tiers = ['hot', 'cold', 'mixed'] as const;

/** Oldest first, newest first. */
export const orders = ['asc', 'desc'] as const;

/** The three parts that the shares of a dataset version split it into. */
export const splitNames = ['train', 'validation', 'test'] as const;
export type SplitName = (typeof splitNames)[number];

export const versionStates = ['counting', 'ready', 'failed'] as const;
export type VersionState = (typeof versionStates)[number];

/** Why less is left of a version than was frozen. */
export const versionChanges = ['erased', 'deleted'] as const;
