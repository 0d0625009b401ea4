import type { Clock } from '../kernel/clock.ts';
import type { Audit } from '../platform/audit.ts';
import type { Log } from '../platform/log.ts';
import type { Repeated } from '../platform/work/repeat.ts';
import type { Target } from './delivery/target.ts';
import type { SecretBox } from './secret.ts';
import type { WakeUp } from './wake-up.ts';

/** What the routes of webhooks are given. */
export type WebhookOptions = {
  readonly cursorKey: () => Buffer;
  readonly clock: Clock;
  readonly secretBox: () => SecretBox;
  readonly target: Target;
  readonly wakeUp: WakeUp;
  readonly jobs: Pick<Repeated, 'poke'>;
  readonly audit: Audit;
  /** Attempts of an endpoint that names no number of its own. */
  readonly maxAttempts: number;
  /** One payload, at most. */
  readonly maxPayloadBytes: number;
  readonly log: Log;
};
