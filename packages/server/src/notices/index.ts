export {
  describeAuditHead,
  describeEvent,
  describeTrouble,
  describeTroubleOf,
} from './describe.ts';
export { createEmailChannel } from './email.ts';
export type { Find } from './evaluate.ts';
export { toWebhookBody } from './message.ts';
export { isHeadAwaited, listSealedTargets, listUnreached, replaceSealedTarget } from './queries.ts';
export type { Found } from './reconcile.ts';
export { addNoticeRoutes } from './routes.ts';
export type { Channel } from './send.ts';
export { startNotices } from './start.ts';
