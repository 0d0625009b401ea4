export { startBulkJobs } from './dead-letters/run-jobs.ts';
export { createSender } from './delivery/sender.ts';
export { createTarget } from './delivery/target.ts';
export { Drainer } from './drainer/drainer.ts';
export { findSecretKey } from './endpoints/secret-key.ts';
export { startForgetting } from './forget.ts';
export { addWebhookRoutes } from './routes.ts';
export { createSecretBox, type SecretBox } from './secret.ts';
export { createWakeUp, type ReportWakeUp, type WakeUp } from './wake-up.ts';
