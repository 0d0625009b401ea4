import { createAudit, createReadNotes, type Sealer } from '../access/index.ts';
import { readRelease } from '../config/release.ts';
import type { Settings } from '../config/settings.ts';
import { systemClock } from '../kernel/clock.ts';
import { AppError } from '../kernel/errors.ts';
import type { NoteRead } from '../platform/audit.ts';
import type { Log } from '../platform/log.ts';
import type { Metrics } from '../platform/metrics/metrics.ts';
import type { Database } from '../platform/postgres/database.ts';
import { openTraces, type Traces } from '../platform/traces.ts';
import type { Pace, Paced, Waiting } from '../platform/work/pace.ts';
import type { Closers } from '../platform/work/stop.ts';
import type { AttachableWakeUp, SecretBox } from '../webhooks/index.ts';
import type { ColdTier } from './cold-tier.ts';

/** What all work and all routes of this process stand on. */
export type Host = {
  readonly settings: Settings;
  readonly log: Log;
  readonly db: Database;
  readonly state: State;
  readonly metrics: Metrics;
  readonly traces: Traces | null;
  readonly cold: ColdTier;
  readonly wakeUp: AttachableWakeUp;
  readonly waiting: Waiting;
  readonly paceOf: (work: Paced) => Pace;
  /** What ends with this process, in the order in which it was started. */
  readonly closers: Closers;
};

/** The keys that are known only once the database has answered. Until then they are null and calls get 503. */
export type State = {
  cursorKey: Buffer | null;
  secretBox: SecretBox | null;
  sealer: Sealer | null;
  /** Why this process does not seal the audit log any more; null: it does. */
  sealFault: string | null;
};

/** Returns the key that signs cursors. Throws 503 `not_ready` while the service starts. */
export function cursorKey({ state }: Pick<Host, 'state'>): Buffer {
  if (state.cursorKey === null) throw notReady();
  return state.cursorKey;
}

export function notReady(): AppError {
  return new AppError('not_ready', {
    detail: 'The service is starting. Try again in a second.',
    retryAfterSeconds: 1,
  });
}

/** What the routes of most features take: the key that signs cursors, and what writes the audit log. */
export function routeTools(host: Host) {
  return {
    cursorKey: () => cursorKey(host),
    audit: createAudit(),
    clock: systemClock,
    log: host.log,
  };
}

/** Makes what notes which records people read, as SVC_AUDIT_READS says. */
export function readNotes({ db, settings }: Host): NoteRead {
  const isOn = settings.auditReads === 'on';
  return createReadNotes(db, { audit: createAudit(), clock: systemClock, isOn });
}

/** Returns the box that encrypts and decrypts webhook secrets. Throws 503 `not_ready` while the service starts. */
export function secretBox({ state }: { state: Pick<State, 'secretBox'> }): SecretBox {
  if (state.secretBox === null) throw notReady();
  return state.secretBox;
}

/** Returns who seals the audit log. Throws 503 `not_ready` while the service starts. */
export function sealerIn({ state }: { state: Pick<State, 'sealer'> }): Sealer {
  if (state.sealer === null) throw notReady();
  return state.sealer;
}

/** Opens the sending of traces, if there is a collector for them. */
export async function openOwnTraces({
  settings: { otlpEndpoint, roles },
  log,
  closers,
}: Pick<Host, 'settings' | 'log' | 'closers'>): Promise<Traces | null> {
  if (otlpEndpoint === undefined) return null;
  const traces = await openTraces(otlpEndpoint, { version: readRelease(), roles, log });
  closers.push(() => traces.stop());
  return traces;
}
