export { type Check, type Look, nameOf, type Problem } from './check.ts';
export { checks, examine, findForNotices, findTroubles, readFigure } from './examine.ts';
export { createEmailChannel } from './notices/email.ts';
export { type Find, startNotices } from './notices/evaluate.ts';
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
export { type About, createPresence, type Presence } from './presence.ts';
export { listFullDisks, listProcesses, readOverdue } from './queries.ts';
export { addStatusRoutes } from './status.ts';
export { troublesOf } from './webhooks.ts';
