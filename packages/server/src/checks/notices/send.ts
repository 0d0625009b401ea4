import type { Log } from '../../platform/log.ts';
import type { Database } from '../../platform/postgres/database.ts';
import type { TargetKind } from '../values.ts';
import type { Message } from './message.ts';
import * as queries from './queries.ts';

/** How an attempt ended. */
export type SendResult = {
  /** One sentence for an operator; null when the message was taken. */
  readonly error: string | null;
  /** The status of HTTP or SMTP; null when none came. */
  readonly status: number | null;
  readonly durationMillis: number;
  /** Whether the service itself ended the attempt, because it stops. */
  readonly isCut: boolean;
};

/** Where a message goes. `secret` is what it is signed with; null for a kind that has none. */
type Recipient = {
  readonly kind: TargetKind;
  readonly address: string;
  readonly secret: string | null;
};

/** Sends one message once. Never rejects: failures are in the result. */
export type Channel = (to: Recipient, message: Message) => Promise<SendResult>;

export type SendOptions = {
  readonly channel: Channel;
  /** Decrypts the secret of a target. Throws when it cannot. */
  readonly open: (sealed: Buffer, targetId: string) => string;
  /** The longest that an attempt can take. */
  readonly timeoutSeconds: number;
  readonly log: Log;
};

/** Seconds before attempt 2, 3, …: about a day in all. Then the message is given up. */
const delays = [60, 300, 1800, 7200, 21_600, 54_000];
/** So many are sent at once, and a process that dies holds a message back for so much longer than an attempt takes. */
const [atOnce, marginSeconds] = [8, 30];

/** Sends all messages that are due. */
export async function sendDue(
  db: Database,
  options: SendOptions,
  signal: AbortSignal,
): Promise<void> {
  const claim = { limit: atOnce, leaseSeconds: options.timeoutSeconds + marginSeconds };
  for (let sent = atOnce; sent === atOnce && !signal.aborted; ) {
    const due = await queries.claimSends(db, claim);
    sent = due.length;
    await Promise.all(due.map((send) => sendOne(db, options, send)));
  }
}

async function sendOne(db: Database, options: SendOptions, send: queries.DueSend): Promise<void> {
  const { id, target_id, attempts, tenant, items, more } = send;
  const message = { id, tenant, items, more, createdAt: send.created_at };
  const { error, status, isCut } = await sendTo(options, { ...send, id: target_id }, message);
  if (isCut) {
    await queries.giveBackSend(db, send);
    return;
  }
  const retrySeconds = error === null ? null : (delays[attempts - 1] ?? null);
  if (error !== null) options.log.warn({ target: target_id, attempts, error }, 'a notice failed');
  await queries.storeOutcome(db, { id, attempts, error, status, retrySeconds });
}

/** Sends a message to a target as it is stored. Never rejects. */
export async function sendTo(
  { channel, open }: Pick<SendOptions, 'channel' | 'open'>,
  target: { id: string; kind: TargetKind; address: string; secret: Buffer | null },
  message: Message,
): Promise<SendResult> {
  const { kind, address } = target;
  let secret: string | null;
  try {
    secret = target.secret === null ? null : open(target.secret, target.id);
  } catch {
    const error =
      'The secret of the target cannot be decrypted. Remove the target and add it again.';
    return { error, status: null, durationMillis: 0, isCut: false };
  }
  return channel({ kind, address, secret }, message);
}
