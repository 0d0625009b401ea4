export { listBulkAsJobs } from './dead-letters/listed-bulk.ts';
export { countPurgedSoon, purgeOld } from './dead-letters/purge-old.ts';
export { startBulkJobs } from './dead-letters/run-jobs.ts';
export { startSettling } from './dead-letters/settle.ts';
export { createAddressRule, createLookup } from './delivery/address.ts';
export { dialReceiver } from './delivery/connection-pool.ts';
export { createSender, type Sender } from './delivery/sender.ts';
export { createTarget } from './delivery/target.ts';
export { watchAttempts } from './drainer/deliver.ts';
export { Drainer } from './drainer/drainer.ts';
export { countSealed, setSealingKey } from './endpoints/queries.ts';
export { canOpen, listUnopened, resealEndpoints, sealAnew } from './endpoints/reseal.ts';
export {
  type FoundKeys,
  findKeyFault,
  findKeyInstead,
  findKeyring,
  makeNextKeyFile,
  readSecretKey,
} from './endpoints/secret-key.ts';
export {
  disableFailing as disableFailingEndpoints,
  listFailing as listFailingEndpoints,
} from './endpoints/trouble-queries.ts';
export { describeWebhooks } from './event-types/describe.ts';
export { listAllTypes } from './event-types/event-types.ts';
export { webhookFigures } from './figures.ts';
export { startForgetting } from './forget.ts';
export { startHoldingBack } from './hold-back.ts';
export { createIncidentEraser } from './incidents/erase.ts';
export { createReportIncident } from './incidents/report-incident.ts';
export { readWallSeconds } from './queries.ts';
export { countTroubles, readWebhooksOverview } from './read-overview.ts';
export { listReplaysAsJobs } from './replays/replays.ts';
export { startReplays } from './replays/run-replays.ts';
export { addWebhookRoutes } from './routes.ts';
export { createSecretBox, keyIdOf, newSecret, type SecretBox, secretBytes } from './secret.ts';
export { signatureHeaders } from './signature.ts';
export { type AttachableWakeUp, createWakeUp } from './wake-up.ts';
