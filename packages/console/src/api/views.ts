// How people filter the lists of the service, as the command line knows it, too.

export * from '../../../server/src/access/view.ts';
export * from '../../../server/src/exports/view.ts';
export * from '../../../server/src/kernel/view.ts';
export * from '../../../server/src/platform/jobs/view.ts';
export { addDiffs } from '../../../server/src/records/view.ts';
export * from '../../../server/src/retention/view.ts';
export * from '../../../server/src/webhooks/dead-letters/view.ts';
export * from '../../../server/src/webhooks/view.ts';
