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
  /** Keeps the connection of an admitted request open. `ownPace`: its handler decides how long the body may take. */
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
  const open = new OpenConnections(limits);
  const admitted = new WeakMap<IncomingMessage, Exchange>();
  let isDraining = false;

  server.on('connection', (socket: Socket) => {
    if (open.add(socket)) return;
    refuseConnection(socket, {
      code: 'connections_full',
      detail: 'All connections are busy. Close some, or try again later.',
    });
  });

  // This listener must run before those that answer the request.
  server.prependListener('request', (request, response) => {
    const { socket } = request;
    const connection = open.get(socket);
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
    open.renew(socket);
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

  const look = setInterval(() => endSlowBodies(open), lookMillis).unref();
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
      for (const [socket, { exchanges }] of open) {
        if ([...exchanges].every(({ response }) => response.closed)) socket.destroy();
      }
    },
    cut() {
      for (const [socket] of open) socket.destroy();
    },
  };
}

/** The connections that are open, in all and by address, in the order of their last requests, the oldest first. */
class OpenConnections {
  readonly #connections = new Map<Socket, Connection>();
  readonly #counts = new Map<string, number>();
  readonly #limits: ConnectionLimits;

  constructor(limits: ConnectionLimits) {
    this.#limits = limits;
  }

  [Symbol.iterator](): IterableIterator<[Socket, Connection]> {
    return this.#connections.entries();
  }

  get(socket: Socket): Connection | undefined {
    return this.#connections.get(socket);
  }

  /** Adds a connection, and closes another where all are in use. Returns false when there is no room for it. */
  add(socket: Socket): boolean {
    const address = networkOf(socket.remoteAddress);
    if (!this.#hasRoomFor(address, socket.remoteAddress)) return false;
    this.#connections.set(socket, { address, exchanges: new Set() });
    this.#counts.set(address, (this.#counts.get(address) ?? 0) + 1);
    socket.once('close', () => this.#forget(socket));
    return true;
  }

  /** Puts the connection at the end of the order, because a request came on it. */
  renew(socket: Socket): void {
    const connection = this.#connections.get(socket);
    if (connection === undefined) return;
    this.#connections.delete(socket);
    this.#connections.set(socket, connection);
  }

  #hasRoomFor(address: string, peer: string | undefined): boolean {
    const limits = this.#limits;
    const isOverShare =
      (this.#counts.get(address) ?? 0) >= limits.perAddress && !limits.isShared(peer ?? '');
    if (isOverShare) return this.#makeRoom((connection) => connection.address === address);
    return this.#connections.size < limits.total || this.#makeRoom(() => true);
  }

  /** Closes the first connection that fits and has no admitted request. Returns false when there is none. */
  #makeRoom(fits: (connection: Connection) => boolean): boolean {
    for (const [socket, connection] of this.#connections) {
      if (!fits(connection) || [...connection.exchanges].some((own) => own.isAdmitted)) continue;
      this.#forget(socket);
      socket.destroy();
      return true;
    }
    return false;
  }

  #forget(socket: Socket): void {
    const connection = this.#connections.get(socket);
    if (connection === undefined) return;
    this.#connections.delete(socket);
    const left = (this.#counts.get(connection.address) ?? 1) - 1;
    if (left > 0) this.#counts.set(connection.address, left);
    else this.#counts.delete(connection.address);
  }
}

/** Refuses the requests whose bodies have not arrived in time. */
function endSlowBodies(open: Iterable<[Socket, Connection]>): void {
  const now = performance.now();
  for (const [socket, { exchanges }] of open) {
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
          detail:
            'The body of the request did not arrive in time. Send it again, compressed or in smaller parts where the line is slow.',
        });
      }
    }
  }
}
