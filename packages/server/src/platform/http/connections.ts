import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { isLoopback, networkOf } from './client-address.ts';
import { refuseConnection } from './problem.ts';

export type ConnectionLimits = {
  /** Open at once. */
  readonly total: number;
  /** Of them, from one address. */
  readonly perAddress: number;
  /** Whether many clients stand behind an address, so that it may have all of them. */
  isShared(address: string): boolean;
  /** How long a body may take, and a second more for each KiB of it that came. */
  readonly bodySeconds: number;
};

export type Connections = {
  /** The request was let in: its connection stays whatever comes. `ownPace`: its handler times its body. */
  admit(request: IncomingMessage, options?: { ownPace: boolean }): void;
  /**
   * Ends without cutting a request: closes at once every connection that carries none, and each other one
   * after its answer. Node's own closeIdleConnections overlooks connections that never sent a request, and
   * leaves those that finish later open until their keep-alive ends.
   */
  drain(): void;
  /** Cuts what is left. */
  cut(): void;
};

/** For a server that only its own callers reach. */
export const usualLimits: ConnectionLimits = {
  total: 2048,
  perAddress: 512,
  isShared: isLoopback,
  bodySeconds: 20,
};

type Exchange = {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** When what is left of its body is given up; null: its handler says when. */
  bodyEndsAt: number | null;
  readonly bytesBefore: number;
  isAdmitted: boolean;
};

type Connection = { readonly address: string; readonly exchanges: Set<Exchange> };

/** Requests of a connection that are not answered yet: a client that sends more reads no answers. */
const mostPipelined = 32;
const lookMillis = 500;
const leastBytesPerSecond = 1024;
/** A reader that takes nothing of its answer for so long is gone. */
const answerMillis = 30_000;

/**
 * Who may hold a connection to a server, and for how long. Whoever comes gets one as long as another carries
 * no request that was let in: the one with the oldest request is closed for it. So a flood closes its own
 * connections, and health is answered under it.
 */
export function guardConnections(server: Server, limits: ConnectionLimits): Connections {
  /** In the order of their last requests. */
  const connections = new Map<Socket, Connection>();
  const counts = new Map<string, number>();
  const admitted = new WeakMap<IncomingMessage, Exchange>();
  let isDraining = false;

  function makeRoom(fits: (connection: Connection) => boolean): boolean {
    for (const [socket, connection] of connections) {
      if (!fits(connection) || [...connection.exchanges].some((own) => own.isAdmitted)) continue;
      forget(socket);
      socket.destroy();
      return true;
    }
    return false;
  }

  function forget(socket: Socket): void {
    const connection = connections.get(socket);
    if (connection === undefined) return;
    connections.delete(socket);
    const left = (counts.get(connection.address) ?? 1) - 1;
    if (left > 0) counts.set(connection.address, left);
    else counts.delete(connection.address);
  }

  function hasRoomFor(address: string, peer: string | undefined): boolean {
    const isOverShare =
      (counts.get(address) ?? 0) >= limits.perAddress && !limits.isShared(peer ?? '');
    if (isOverShare) return makeRoom((connection) => connection.address === address);
    return connections.size < limits.total || makeRoom(() => true);
  }

  server.on('connection', (socket: Socket) => {
    const address = networkOf(socket.remoteAddress);
    if (!hasRoomFor(address, socket.remoteAddress)) {
      refuseConnection(socket, {
        code: 'connections_full',
        detail: 'All connections are busy. Close some, or try again later.',
      });
      return;
    }
    connections.set(socket, { address, exchanges: new Set() });
    counts.set(address, (counts.get(address) ?? 0) + 1);
    socket.once('close', () => forget(socket));
  });

  // Before whoever answers it.
  server.prependListener('request', (request, response) => {
    const { socket } = request;
    const connection = connections.get(socket);
    if (connection === undefined) return;
    if (connection.exchanges.size >= mostPipelined) {
      // Node goes on through the bytes that it has: whoever answers looks at the socket first.
      socket.destroy();
      return;
    }
    connections.delete(socket);
    connections.set(socket, connection);
    const exchange: Exchange = {
      request,
      response,
      bodyEndsAt: performance.now() + limits.bodySeconds * 1000,
      bytesBefore: socket.bytesRead,
      isAdmitted: false,
    };
    connection.exchanges.add(exchange);
    admitted.set(request, exchange);
    // From its last byte on until it is sent; Node ends this with the next request.
    response.once('prefinish', () => socket.setTimeout(answerMillis));
    response.once('close', () => {
      exchange.isAdmitted = false;
      // The next one may be under way already, and take its time.
      if ([...connection.exchanges].some((own) => !own.response.closed)) socket.setTimeout(0);
      exchange.bodyEndsAt ??= performance.now() + limits.bodySeconds * 1000;
      if (request.complete) connection.exchanges.delete(exchange);
      // Ends after what is still on its way out.
      if (isDraining && [...connection.exchanges].every((own) => own.response.closed)) socket.end();
    });
  });

  const look = setInterval(() => {
    const now = performance.now();
    for (const [socket, { exchanges }] of connections) {
      for (const exchange of exchanges) {
        const { request, response, bodyEndsAt, bytesBefore } = exchange;
        if (request.complete) {
          if (response.closed) exchanges.delete(exchange);
          continue;
        }
        if (bodyEndsAt === null) continue;
        const bytes = response.closed ? 0 : socket.bytesRead - bytesBefore;
        if (now < bodyEndsAt + (bytes / leastBytesPerSecond) * 1000) continue;
        if (response.headersSent) socket.destroy();
        else {
          refuseConnection(socket, {
            status: 408,
            code: 'http_invalid',
            detail: 'The body of the request did not arrive in time.',
          });
        }
      }
    }
  }, lookMillis).unref();
  server.once('close', () => clearInterval(look));

  return {
    admit(request, { ownPace } = { ownPace: false }) {
      const exchange = admitted.get(request);
      if (exchange === undefined) return;
      exchange.isAdmitted = true;
      if (ownPace) exchange.bodyEndsAt = null;
    },
    drain() {
      isDraining = true;
      for (const [socket, { exchanges }] of connections) {
        if ([...exchanges].every(({ response }) => response.closed)) socket.destroy();
      }
    },
    cut() {
      for (const socket of connections.keys()) socket.destroy();
    },
  };
}
