// The closed lists of the service, such as statuses and formats. Beside these and its filters the console's bundle
// has only what it knows of days, and its reader of JSON text (import-rules.mjs).

export * from '../../../server/src/access/values.ts';
export * from '../../../server/src/checks/values.ts';
export * from '../../../server/src/exports/values.ts';
export {
  dayMillis,
  daysIn,
  monthEnds,
  quarterEnds,
  quarterOf,
} from '../../../server/src/kernel/day.ts';
export {
  elementsOf,
  JsonItems,
  membersOf,
  NotJson,
} from '../../../server/src/kernel/json-items.ts';
export * from '../../../server/src/kernel/values.ts';
export * from '../../../server/src/platform/jobs/values.ts';
export * from '../../../server/src/records/values.ts';
export * from '../../../server/src/retention/values.ts';
export * from '../../../server/src/webhooks/dead-letters/values.ts';
export * from '../../../server/src/webhooks/delivery/values.ts';
export * from '../../../server/src/webhooks/values.ts';
