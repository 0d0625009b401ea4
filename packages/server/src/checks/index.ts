export { severityOf } from './check.ts';
export { examine } from './examine.ts';
export { findTroubles } from './find-troubles.ts';
export {
  describeAuditHead,
  describeEvent,
  describeTrouble,
  describeTroubleOf,
} from './notices/describe.ts';
export { createEmailChannel } from './notices/email.ts';
export type { Find } from './notices/evaluate.ts';
export { toWebhookBody } from './notices/message.ts';
export {
  isHeadAwaited,
  listSealedTargets,
  listUnreached,
  replaceSealedTarget,
} from './notices/queries.ts';
export type { Found } from './notices/reconcile.ts';
export { addNoticeRoutes } from './notices/routes.ts';
export type { Channel } from './notices/send.ts';
export { startNotices } from './notices/start.ts';
export { type About, createPresence, type Presence } from './presence.ts';
export { listFullDisks } from './queries.ts';
export { type Answering, listProcesses, look, type Surroundings } from './read-status.ts';
export { addHealthRoutes } from './routes.ts';
