// The closed lists of the service: the only values of it that the bundle carries (import-rules.mjs).

export * from '../../../server/src/exports/values.ts';
export * from '../../../server/src/kernel/values.ts';
export * from '../../../server/src/records/values.ts';
export * from '../../../server/src/retention/values.ts';
export * from '../../../server/src/webhooks/values.ts';
