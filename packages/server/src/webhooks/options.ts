import type { Clock } from '../kernel/clock.ts';
import type { Audit } from '../platform/audit.ts';
import type { Log } from '../platform/log.ts';
import type { Queryable } from '../platform/postgres/database.ts';
import type { Repeated } from '../platform/work/repeat.ts';
import type { Sender } from './delivery/sender.ts';
import type { Target } from './delivery/target.ts';
import type { SecretBox } from './secret.ts';
import type { UnknownTypes } from './values.ts';
import type { ReportWakeUp } from './wake-up.ts';

export type WebhookOptions = {
  readonly cursorKey: () => Buffer;
  readonly clock: Clock;
  /** Encrypts and decrypts the secrets of endpoints. A function, since the key is read after the routes are added. */
  readonly secretBox: () => SecretBox;
  readonly target: Target;
  /** What sends pings, and how long one attempt may take. */
  readonly ping: { readonly sender: Sender; readonly timeoutSeconds: number };
  readonly wakeUp: ReportWakeUp;
  /** The runner of bulk jobs, which is told when a new job waits. */
  readonly jobs: Pick<Repeated, 'poke'>;
  readonly replays: Pick<Repeated, 'poke'>;
  readonly audit: Audit;
  /** How many endpoints a tenant may have; 0 = any number. */
  readonly tenantEndpoints: number;
  /** The number of attempts for endpoints that have no number of their own. */
  readonly maxAttempts: number;
  readonly maxPayloadBytes: number;
  readonly isOnHold: (db: Queryable, tenant: string) => Promise<boolean>;
  /** Throws 409 `tenant_on_hold` while a tenant is under legal hold. */
  readonly refuseHold: (db: Queryable, tenant: string) => Promise<void>;
  /** For how many days deliveries are kept that have ended. */
  readonly deliveryDays: number;
  /** What becomes of reports that the catalogue of event types does not know. */
  readonly eventTypes: UnknownTypes;
  readonly log: Log;
};
