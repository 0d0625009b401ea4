import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { isLoopback, networkOf } from './client-address.ts';
import { refuseConnection } from './problem.ts';

/** How many connections a server holds and how long a request may take to arrive. */
export type ConnectionLimits = {
  /** How many connections may be open at the same time. */
  readonly total: number;
  /** How many of them may come from one address. */
  readonly perAddress: number;
  /** Returns whether many clients may stand behind this address, so that it may use all connections. */
  isShared(address: string): boolean;
  /** How long the body of a request may take. One second is added for each KiB that has come. */
  readonly bodySeconds: number;
};

export type Connections = {
  /**
   * Tells that a request was let in, so its connection is not closed to make room. `ownPace` means that its handler
   * decides how long the body may take.
   */
  admit(request: IncomingMessage, options?: { ownPace: boolean }): void;
  /**
   * Ends the connections without cutting a request: every connection that carries none is closed at once, and each
   * other one after its answer. Node's own closeIdleConnections overlooks connections that never sent a request, and
   * leaves connections that finish later open until their keep-alive ends.
   */
  drain(): void;
  /** Cuts the connections that are left. */
  cut(): void;
};

/** The limits for a server that only its own callers reach. */
export const usualLimits: ConnectionLimits = {
  total: 2048,
  perAddress: 512,
  isShared: isLoopback,
  bodySeconds: 20,
};

type Exchange = {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** When the rest of its body is given up, in milliseconds of `performance.now()`; null when its handler decides. */
  bodyEndsAt: number | null;
  readonly bytesBefore: number;
  isAdmitted: boolean;
};

type Connection = { readonly address: string; readonly exchanges: Set<Exchange> };

/** How many requests of a connection may wait for an answer. A client that sends more does not read its answers. */
const mostPipelined = 32;
const lookMillis = 500;
const leastBytesPerSecond = 1024;
/** A reader that has taken nothing of its answer for so long counts as gone. */
const answerMillis = 30_000;

/**
 * Decides who may hold a connection to a server, and for how long. When all are in use, a new one is still accepted as
 * long as another carries no request that was let in; of those, the one whose last request is the oldest is closed. So
 * a flood closes its own connections, and health checks are still answered.
 */
export function guardConnections(server: Server, limits: ConnectionLimits): Connections {
  /** The connections in the order of their last requests, the oldest first. */
  const connections = new Map<Socket, Connection>();
  const counts = new Map<string, number>();
  const admitted = new WeakMap<IncomingMessage, Exchange>();
  let isDraining = false;

  /** Closes the first connection that fits and has no admitted request. Returns false when there is none. */
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

  // This listener must run before those that answer the request.
  server.prependListener('request', (request, response) => {
    const { socket } = request;
    const connection = connections.get(socket);
    if (connection === undefined) return;
    // A request comes after the bodies of those before it, so those that were answered early are over as well.
    for (const own of connection.exchanges)
      if (own.response.closed) connection.exchanges.delete(own);
    if (connection.exchanges.size >= mostPipelined) {
      // Node still parses the bytes that it has read, so the hook that answers checks first whether the socket is
      // destroyed.
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
    // The time-out runs from the answer's last byte until it is sent. Node resets it with the next request.
    response.once('prefinish', () => socket.setTimeout(answerMillis));
    response.once('close', () => {
      exchange.isAdmitted = false;
      // The next request of this connection may be under way already and may take its time.
      if ([...connection.exchanges].some((own) => !own.response.closed)) socket.setTimeout(0);
      exchange.bodyEndsAt ??= performance.now() + limits.bodySeconds * 1000;
      if (request.complete) connection.exchanges.delete(exchange);
      // The socket ends after what is still to be sent.
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
