import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AppError } from '../../kernel/errors.ts';
import { type Answer, chooseAnswer, give } from './behaviour.ts';
import type { ListenOptions } from './options.ts';
import { createSeen } from './seen.ts';
import { findSignatureFault } from './verify.ts';

/** One delivery as it came, and what it is answered with. */
export type Delivery = {
  readonly at: number;
  readonly id: string;
  readonly type: string;
  /** What is wrong with its signature; null = nothing, undefined = not checked. */
  readonly fault: string | null | undefined;
  readonly isDuplicate: boolean;
  readonly bytes: number;
  readonly answer: Answer;
};

export type Receiver = {
  readonly url: string;
  /** From now on signatures are checked with this. */
  setSecret(secret: Buffer): void;
  close(): Promise<void>;
};

type Handlers = {
  now: () => number;
  /** Told before the answer goes out. */
  onDelivery: (delivery: Delivery) => void;
  /** Told once the exchange is over. */
  onOver: () => void;
};

const maxBodyBytes = 32 * 1024 * 1024;

/** A receiver of webhooks that behaves as it is told. Throws `usage_invalid` when the port is taken. */
export async function startReceiver(
  options: ListenOptions,
  { now, onDelivery, onOver }: Handlers,
): Promise<Receiver> {
  const closing = new AbortController();
  const seen = createSeen();
  let secret: Buffer | undefined;
  let number = 0;

  function note(request: IncomingMessage, body: Buffer): Answer {
    const id = String(request.headers['webhook-id'] ?? '');
    number += 1;
    const isDuplicate = id !== '' && seen.has(id);
    seen.add(id);
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
      // A peer that hangs up, or the end of all: there is nobody left to answer.
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
