export { type ErrorCode, WebhookError } from './error.ts';
export { inMemory, inPostgres, type Once, type PostgresClient, type PostgresPool } from './once.ts';
export { createReceiver, type Receiver, type ReceiverOptions } from './receiver.ts';
export {
  type HeaderSource,
  type Secrets,
  type VerifyOptions,
  verify,
  type Webhook,
} from './verify.ts';
