import { once } from 'node:events';
import type { Socket } from 'node:net';
import { hostname } from 'node:os';
import { type AuditTarget, toLines } from '../access/index.ts';
import type { Settings } from '../config/settings.ts';
import { AppError } from '../kernel/errors.ts';
import {
  createAddressRule,
  createLookup,
  createSender,
  dialReceiver,
  secretBytes,
  signatureHeaders,
} from '../webhooks/index.ts';

type ShippingSettings = Pick<
  Settings,
  'allowTargets' | 'auditShipSecret' | 'webhookProxy' | 'webhookTimeoutSeconds'
> & {
  /** The time that is signed, since 1970. */
  readonly readSeconds: () => Promise<number>;
};

type Entry = Parameters<AuditTarget['send']>[0][number];

/** So many are sent at once: an entry has half a KiB, and some have what they tell of before and after. */
const mostEntries = 500;

/** Makes what opens the target of SVC_AUDIT_SHIP_URL. Throws `settings_invalid`. */
export function openShipping(
  url: string,
  settings: ShippingSettings,
  { ca }: { ca?: string } = {},
): () => Promise<AuditTarget> {
  if (/^syslog/i.test(url)) return async () => toSyslog(new URL(url), settings, ca);
  const { auditShipSecret: secret } = settings;
  if (secret === undefined)
    throw invalid('is not set, which SVC_AUDIT_SHIP_URL needs to sign with');
  let key: Buffer;
  try {
    key = secretBytes(secret);
  } catch (cause) {
    throw invalid('is not whsec_ and the base64 of 24–64 bytes', cause);
  }
  return async () => toWebhook(url, key, settings);
}

function invalid(what: string, cause?: unknown): AppError {
  const detail = `SVC_AUDIT_SHIP_SECRET ${what}. Take whsec_ and the output of \`openssl rand -base64 32\`.`;
  return new AppError('settings_invalid', { detail, cause });
}

/** A receiver of entries as NDJSON, by requests signed as webhooks are. An answer of 2xx is its receipt. */
function toWebhook(url: string, key: Buffer, settings: ShippingSettings): AuditTarget {
  const sender = createSender({
    timeoutMillis: settings.webhookTimeoutSeconds * 1000,
    allowTargets: settings.allowTargets,
    proxy: settings.webhookProxy,
  });
  return {
    mostEntries,
    async send(entries, signal) {
      const body = toLines(entries);
      const [first, last] = [entries[0], entries.at(-1)];
      const headers = signatureHeaders({
        id: `audit_${first?.place}_${last?.place}_${last?.hash?.slice(0, 8)}`,
        timestampSeconds: await settings.readSeconds(),
        body,
        secrets: [key],
      });
      const cut = () => sender.cut();
      signal.addEventListener('abort', cut);
      const sent = { ...headers, 'content-type': 'application/x-ndjson' };
      const { error } = await sender
        .send({ url, body, headers: sent })
        .finally(() => signal.removeEventListener('abort', cut));
      signal.throwIfAborted();
      if (error !== null) throw new Error(error);
    },
    close: () => sender.close(),
  };
}

/**
 * A collector that speaks syslog: RFC 5424, each message behind its length (RFC 6587), over TLS or, inside
 * SVC_ALLOW_TARGETS, in plain text. Syslog has no receipts. So each batch has a connection of its own, which is ended
 * behind the last message: a collector that ends it, too, and without an error, has read everything.
 */
function toSyslog(
  url: URL,
  { allowTargets, webhookTimeoutSeconds }: ShippingSettings,
  ca: string | undefined,
): AuditTarget {
  const isTls = url.protocol === 'syslog+tls:';
  const options = { rule: createAddressRule(allowTargets), lookup: createLookup(), ca };
  return {
    mostEntries,
    async send(entries, signal) {
      const timeoutMillis = webhookTimeoutSeconds * 1000;
      const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMillis)]);
      const socket = await dialReceiver(options, {
        protocol: isTls ? 'https:' : 'http:',
        hostname: url.hostname,
        port: Number(url.port === '' ? (isTls ? 6514 : 601) : url.port),
        tls: null,
        timeoutMillis,
        signal: limit,
        onPhase: () => {},
      });
      try {
        await writeWhole(socket, entries.map(toMessage).join(''), limit);
      } catch (error) {
        if (!limit.aborted || signal.aborted) throw error;
        const text = `the collector did not end the connection within ${webhookTimeoutSeconds} s, so nobody knows what it has`;
        throw new Error(text, { cause: error });
      } finally {
        socket.destroy();
      }
    },
    close: async () => {},
  };
}

/** Resolves when the other side has ended the connection behind what was written. */
async function writeWhole(socket: Socket, text: string, signal: AbortSignal): Promise<void> {
  const ended = once(socket, 'end', { signal });
  // What a collector says is of no interest, but would keep the end from being seen.
  socket.resume();
  let isWritten = false;
  socket.end(text, () => {
    isWritten = true;
  });
  await ended;
  if (!isWritten) throw new Error('the collector ended the connection before it had everything');
}

/** Facility 13 (log audit), severity 6 (informational). */
const priority = 13 * 8 + 6;

/** An entry as one message, whose text is the JSON of an export. */
export function toMessage(entry: Entry): string {
  const printable = (text: string, most: number) =>
    text.replace(/[^!-~]/g, '?').slice(0, most) || '-';
  const head = `<${priority}>1 ${entry.at} ${printable(hostname(), 255)} svcctl - ${printable(entry.action, 32)} -`;
  const message = `${head} ${JSON.stringify(entry)}`;
  return `${Buffer.byteLength(message)} ${message}`;
}
