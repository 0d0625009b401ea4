// The closed lists of the service, such as statuses and formats. They are its only values that the console's bundle
// contains (import-rules.mjs).

export * from '../../../server/src/access/values.ts';
export * from '../../../server/src/checks/values.ts';
export * from '../../../server/src/exports/values.ts';
export * from '../../../server/src/kernel/values.ts';
export * from '../../../server/src/platform/jobs/values.ts';
export * from '../../../server/src/records/values.ts';
export * from '../../../server/src/retention/values.ts';
export * from '../../../server/src/webhooks/dead-letters/values.ts';
export * from '../../../server/src/webhooks/delivery/values.ts';
export * from '../../../server/src/webhooks/values.ts';
