import { generateKeyPairSync, sign } from 'node:crypto';
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { setImmediate as turn, setTimeout as wait } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { use } from './use.ts';

/** A request as it came in; recorded once its body is whole, before it is answered. */
export type ReceivedRequest = {
  /** From 1, in the order in which they were whole. */
  readonly number: number;
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** webhook-id, or '' when there was none. */
  readonly id: string;
  readonly atMillis: number;
  /** Which connection it came over, from 1. */
  readonly connection: number;
};

/** What the receiver does with one request. Make one with the functions below. */
export type Behaviour = (exchange: {
  readonly request: ReceivedRequest;
  readonly response: ServerResponse;
  readonly socket: Socket;
  /** Ends when the connection does, or the receiver. */
  readonly signal: AbortSignal;
}) => void | Promise<void>;

export type ReceiverOptions = {
  /** For every request; the default answers 204. */
  readonly behave?: (request: ReceivedRequest) => Behaviour;
  /** PEM key and certificate: then it speaks TLS. */
  readonly tls?: { readonly key: string; readonly cert: string } & {
    readonly ca?: string;
    readonly requestCert?: boolean;
    readonly rejectUnauthorized?: boolean;
  };
  /** How long it keeps an idle connection. */
  readonly keepAliveMillis?: number;
};

export type Receiver = {
  readonly port: number;
  /** In the order of their numbers. */
  readonly requests: readonly ReceivedRequest[];
  /** Connections made so far. */
  readonly connections: number;
  /** Requests whose webhook-id had come before. */
  readonly duplicates: number;
  /** The URL of a path, with this receiver's address or another host. */
  url(path?: string, host?: string): string;
  /** From now on. */
  behave(behave: (request: ReceivedRequest) => Behaviour): void;
  /** Resolves once so many requests have come, with all of them. */
  waitFor(count: number): Promise<readonly ReceivedRequest[]>;
  /** Resolves once what has come satisfies this. */
  waitUntil(isEnough: (requests: readonly ReceivedRequest[]) => boolean): Promise<void>;
  /** Closes the idle connections, as a receiver does that restarts. */
  closeIdle(): void;
  close(): Promise<void>;
};

/** A receiver for all tests of a file, or one for each. */
export function useReceiver(when?: 'once' | 'each', options?: ReceiverOptions): Receiver {
  return use(
    () => startReceiver(options),
    (receiver) => receiver.close(),
    when,
  );
}

/** A real receiver of webhooks on 127.0.0.1, to be told how to behave. */
export async function startReceiver(options: ReceiverOptions = {}): Promise<Receiver> {
  const requests: ReceivedRequest[] = [];
  const sockets = new Map<Socket, { number: number; end: AbortSignal }>();
  const waiting = new Set<() => void>();
  const closing = new AbortController();
  let connections = 0;
  let behave = options.behave ?? (() => answer(204));

  const handle = async (message: IncomingMessage, response: ServerResponse) => {
    const { socket } = message;
    const connection = sockets.get(socket);
    const request: ReceivedRequest = {
      ...(await readRequest(message)),
      number: requests.length + 1,
      connection: connection?.number ?? 0,
    };
    requests.push(request);
    for (const check of [...waiting]) check();
    const signal = connection?.end ?? AbortSignal.abort();
    await behave(request)({ request, response, socket, signal });
  };
  const listener = (message: IncomingMessage, response: ServerResponse) => {
    // A connection that ends under a behaviour is what many of them are for.
    handle(message, response).catch(() => message.socket.destroy());
  };
  const server = options.tls
    ? createHttpsServer({ ...options.tls }, listener)
    : createHttpServer(listener);
  server.keepAliveTimeout = options.keepAliveMillis ?? 60_000;
  server.on(options.tls ? 'secureConnection' : 'connection', (socket: Socket) => {
    connections += 1;
    const ended = new AbortController();
    const end = AbortSignal.any([ended.signal, closing.signal]);
    sockets.set(socket, { number: connections, end });
    socket.on('error', () => {});
    socket.once('close', () => {
      sockets.delete(socket);
      ended.abort();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const scheme = options.tls ? 'https' : 'http';

  const waitUntil = (isEnough: (requests: readonly ReceivedRequest[]) => boolean) =>
    new Promise<void>((resolve, reject) => {
      const late = setTimeout(() => {
        waiting.delete(check);
        reject(
          new Error(
            `${requests.length} requests came within two minutes, and not those waited for`,
          ),
        );
      }, 120_000);
      const check = () => {
        if (!isEnough(requests)) return;
        clearTimeout(late);
        waiting.delete(check);
        resolve();
      };
      waiting.add(check);
      check();
    });
  return {
    port,
    requests,
    get connections() {
      return connections;
    },
    get duplicates() {
      const ids = requests.map((request) => request.id).filter((id) => id !== '');
      return ids.length - new Set(ids).size;
    },
    url: (path = '/hook', host = '127.0.0.1') => `${scheme}://${host}:${port}${path}`,
    behave(next) {
      behave = next;
    },
    waitUntil,
    async waitFor(count) {
      await waitUntil(() => requests.length >= count);
      return requests;
    },
    closeIdle: () => server.closeIdleConnections(),
    async close() {
      closing.abort();
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets.keys()) socket.destroy();
      await closed;
    },
  };
}

/** Answers at once. */
export function answer(
  status: number,
  options: { headers?: Record<string, string>; body?: string | Buffer } = {},
): Behaviour {
  return ({ response }) => {
    response.writeHead(status, options.headers);
    response.end(options.body);
  };
}

export function redirect(location: string, status = 302): Behaviour {
  return answer(status, { headers: { location } });
}

/** Never answers. */
export function hang(): Behaviour {
  return () => {};
}

/** Ends the connection without an answer. */
export function reset(): Behaviour {
  return ({ socket }) => {
    if (socket.resetAndDestroy !== undefined && !('encrypted' in socket)) socket.resetAndDestroy();
    else socket.destroy();
  };
}

/** Does something else once a promise has resolved. */
export function after(promise: Promise<unknown>, behaviour: Behaviour): Behaviour {
  return async (exchange) => {
    await promise;
    await behaviour(exchange);
  };
}

/** Does something else some milliseconds later. */
export function delayed(millis: number, behaviour: Behaviour): Behaviour {
  return async (exchange) => {
    await wait(millis, undefined, { signal: exchange.signal });
    await behaviour(exchange);
  };
}

/** Sends the headers, and then a byte every so many milliseconds, for ever. */
export function drip(millis = 1000, status = 200): Behaviour {
  return async ({ response, signal }) => {
    response.writeHead(status, { 'content-type': 'text/plain' });
    response.flushHeaders();
    while (!signal.aborted) {
      response.write('.');
      await wait(millis, undefined, { signal });
    }
  };
}

/** Headers without end. */
export function endlessHeaders(): Behaviour {
  return async ({ socket, signal }) => {
    socket.write('HTTP/1.1 200 OK\r\n');
    for (let n = 0; !signal.aborted; n += 1) {
      if (!socket.writableNeedDrain) socket.write(`x-header-${n}: ${'h'.repeat(8000)}\r\n`);
      await turn();
    }
  };
}

/** A body without end. */
export function endlessBody(status = 200): Behaviour {
  return async ({ response, signal }) => {
    response.writeHead(status);
    const piece = Buffer.alloc(16 * 1024, 'b');
    while (!signal.aborted) {
      if (!response.writableNeedDrain) response.write(piece);
      await turn();
    }
  };
}

/** A small body that inflates to many MiB. */
export function gzipBomb(sizeBytes = 64 * 2 ** 20, status = 200): Behaviour {
  const body = gzipSync(Buffer.alloc(sizeBytes, 'z'));
  return answer(status, { headers: { 'content-encoding': 'gzip' }, body });
}

/** Writes these bytes in place of an answer, and then ends the connection unless told to keep it. */
export function raw(bytes: string, options: { keepOpen?: boolean } = {}): Behaviour {
  return ({ socket }) => {
    if (options.keepOpen) socket.write(bytes, 'latin1');
    else socket.end(bytes, 'latin1');
  };
}

/** One behaviour after the other, by the number of the request; the last repeats. */
export function inTurn(...behaviours: Behaviour[]): (request: ReceivedRequest) => Behaviour {
  return ({ number }) => behaviours[Math.min(number, behaviours.length) - 1] ?? answer(204);
}

async function readRequest(message: IncomingMessage) {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk);
  const headers = Object.fromEntries(
    Object.entries(message.headers).map(([name, value]) => [name, String(value)]),
  );
  return {
    method: message.method ?? '',
    path: message.url ?? '',
    headers,
    body: Buffer.concat(chunks).toString(),
    id: headers['webhook-id'] ?? '',
    atMillis: Date.now(),
  };
}

/**
 * A self-signed certificate (X.509 v3, P-256) for these host names, to be trusted as its own authority.
 * Written out by hand, because Node reads certificates but makes none.
 */
export function makeCertificate(
  names: readonly string[],
  options: { validUntil?: Date } = {},
): { key: string; cert: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const algorithm = der(0x30, hex('06082a8648ce3d040302'));
  const name = der(
    0x30,
    der(0x31, der(0x30, hex('0603550403'), der(0x0c, Buffer.from('receiver')))),
  );
  const until = options.validUntil ?? new Date(Date.now() + 86_400_000);
  const validity = der(0x30, derTime(new Date(Date.now() - 86_400_000 * 30)), derTime(until));
  const altNames = der(0x30, ...names.map((each) => der(0x82, Buffer.from(each))));
  const extensions = der(
    0x30,
    der(0x30, hex('0603551d11'), der(0x04, altNames)),
    der(0x30, hex('0603551d13'), hex('0101ff'), der(0x04, der(0x30, hex('0101ff')))),
  );
  const content = der(
    0x30,
    der(0xa0, hex('020102')),
    hex('020101'),
    algorithm,
    name,
    validity,
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, extensions),
  );
  const signature = der(0x03, hex('00'), sign('sha256', content, privateKey));
  const lines =
    der(0x30, content, algorithm, signature)
      .toString('base64')
      .match(/.{1,64}/g) ?? [];
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n'),
  };
}

function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  // In as few bytes as it takes: Go refuses any other.
  const size =
    length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

/** UTCTime: two digits of the year, to the second. */
function derTime(time: Date): Buffer {
  const text = time
    .toISOString()
    .replace(/\..*|[-:T]/g, '')
    .slice(2);
  return der(0x17, Buffer.from(`${text}Z`));
}

function hex(text: string): Buffer {
  return Buffer.from(text, 'hex');
}
