import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { LRUCache } from 'lru-cache';
import { AppError } from '../../kernel/errors.ts';
import { usage } from '../help.ts';
import { type Answer, chooseAnswer, give, type ListenOptions } from './behaviour.ts';

/** One delivery as it was received, and how it is answered. */
export type Delivery = {
  readonly at: number;
  readonly id: string;
  readonly type: string;
  /** What is wrong with its signature: null when nothing is, undefined when it was not checked. */
  readonly fault: string | null | undefined;
  readonly isDuplicate: boolean;
  readonly bytes: number;
  readonly answer: Answer;
};

type Receiver = {
  readonly url: string;
  /** From now on signatures are checked with this secret. */
  setSecret(secret: Buffer): void;
  close(): Promise<void>;
};

type Handlers = {
  now: () => number;
  /** Called before the answer is sent. */
  onDelivery: (delivery: Delivery) => void;
  /** Called once the exchange is over. */
  onOver: () => void;
};

const maxBodyBytes = 32 * 1024 * 1024;
/** So many ids are remembered, the latest ones: a receiver can run for days. */
const mostIds = 100_000;

/** Starts a receiver of webhooks that answers as the options say. Throws `usage_invalid` when the port is taken. */
export async function startReceiver(
  options: ListenOptions,
  { now, onDelivery, onOver }: Handlers,
): Promise<Receiver> {
  const closing = new AbortController();
  const seen = new LRUCache<string, true>({ max: mostIds });
  let secret: Buffer | undefined;
  let number = 0;

  function note(request: IncomingMessage, body: Buffer): Answer {
    const id = String(request.headers['webhook-id'] ?? '');
    number += 1;
    const isDuplicate = id !== '' && seen.has(id);
    seen.set(id, true);
    const answer = chooseAnswer(options, { number, isDuplicate });
    const at = now();
    const fault =
      secret === undefined
        ? undefined
        : findSignatureFault({ headers: request.headers, body }, secret, at);
    onDelivery({ at, id, type: typeOf(body), fault, isDuplicate, bytes: body.length, answer });
    return answer;
  }

  const server = createServer((request, response) => {
    if (request.method !== 'POST') {
      response.writeHead(405, { allow: 'POST' }).end();
      return;
    }
    const { socket } = request;
    readBody(request)
      .then((body) => give(note(request, body), { response, socket }, closing.signal))
      .then(onOver)
      // The sender has hung up, or the receiver is ending: nobody is left to be answered.
      .catch(() => socket.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(refusal(options, error)));
    server.listen(options.port ?? 0, options.host, resolve);
  });
  return {
    url: urlOf(options.host, server.address() as AddressInfo),
    setSecret: (bytes) => {
      secret = bytes;
    },
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      closing.abort();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let sizeBytes = 0;
  for await (const piece of request as AsyncIterable<Buffer>) {
    sizeBytes += piece.length;
    if (sizeBytes > maxBodyBytes) throw new AppError('body_too_large');
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

function typeOf(body: Buffer): string {
  try {
    const { type } = JSON.parse(body.toString()) as { type?: unknown };
    return typeof type === 'string' ? type : '';
  } catch {
    return '';
  }
}

function urlOf(host: string, { port }: AddressInfo): string {
  const name = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}/`;
}

function refusal({ host, port = 0 }: ListenOptions, error: Error): AppError {
  return new AppError('usage_invalid', {
    detail: `--host, --port: ${host}:${port} cannot be listened on: ${error.message}. Leave --port out for a free one.`,
    cause: error,
  });
}

/**
 * Deliveries that are older, or further in the future, than this are refused, so that none can be replayed for long.
 */
const toleranceSeconds = 5 * 60;

type SignedRequest = {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The body, byte by byte as it was received. */
  readonly body: Buffer;
};

/**
 * Checks the signature of a delivery as Standard Webhooks 1.0.0 says: any of its v1 signatures may match. Answers in a
 * word or two what is wrong, or null when nothing is.
 */
export function findSignatureFault(
  { headers, body }: SignedRequest,
  secret: Buffer,
  nowMillis: number,
): string | null {
  const id = text(headers['webhook-id']);
  const timestamp = text(headers['webhook-timestamp']);
  const signatures = text(headers['webhook-signature']);
  if (id === '' || timestamp === '' || signatures === '') return 'unsigned';
  if (!/^\d{1,12}$/.test(timestamp)) return 'no timestamp';
  const expected = createHmac('sha256', secret).update(`${id}.${timestamp}.`).update(body).digest();
  // All signatures are compared, so that the time that it takes reveals nothing.
  const matches = signatures.split(' ').filter((signature) => isSame(signature, expected));
  if (matches.length === 0) return 'wrong signature';
  const ageSeconds = nowMillis / 1000 - Number(timestamp);
  if (ageSeconds > toleranceSeconds) return 'too old';
  return ageSeconds < -toleranceSeconds ? 'from the future' : null;
}

/** The bytes of a `whsec_…` secret. Throws `usage_invalid`. */
export function parseSecret(secret: string): Buffer {
  const [, base64] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret.trim()) ?? [];
  const bytes = Buffer.from(base64 ?? '', 'base64');
  if (bytes.length >= 24 && bytes.length <= 64) return bytes;
  throw usage('--secret: it is not whsec_ and the base64 of 24 to 64 bytes.');
}

function isSame(signature: string, expected: Buffer): boolean {
  const [version, base64 = ''] = signature.split(',');
  const given = Buffer.from(base64, 'base64');
  return version === 'v1' && given.length === expected.length && timingSafeEqual(given, expected);
}

function text(header: string | string[] | undefined): string {
  return typeof header === 'string' ? header : '';
}
