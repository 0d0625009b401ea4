import type { Socket } from 'node:net';
import { type buildConnector, Client } from 'undici';
import { type DialOptions, type DialPhase, dialReceiver } from './dial.ts';

/** scheme, host and port: connections are shared by whatever goes to the same. */
export type Origin = {
  readonly origin: string;
  readonly protocol: string;
  readonly hostname: string;
  readonly port: number;
};

/** One connection, or the making of one; carries one request at a time. */
export type EndpointConnection = {
  readonly origin: string;
  readonly client: Client;
  readonly dialing: AbortController;
  readonly madeAtMillis: number;
  readonly interim: InterimAnswers;
  phase: DialPhase;
  /** Requests that the present socket has carried to their end. */
  exchanges: number;
};

export type ConnectionPool = {
  /** A connection that waits for work, or a new one. */
  take(origin: Origin): EndpointConnection;
  open(origin: Origin): EndpointConnection;
  /** Its request has ended well: it waits for the next. */
  release(connection: EndpointConnection): void;
  discard(connection: EndpointConnection): void;
  /** Ends the idle connections; from now on none is kept. */
  close(): void;
};

type PoolOptions = DialOptions & {
  /** Idle connections kept over all receivers. */
  readonly maxIdle: number;
};

const idleMillis = 10_000;
/** A receiver may announce that it keeps idle connections longer. */
const maxIdleMillis = 30_000;
/** Then the name is looked up again, however busy the connection: receivers move. */
const maxAgeMillis = 300_000;
const maxHeaderBytes = 16 * 1024;

/**
 * Keep-alive connections, one undici Client each. Not undici's Agent: there a connection belongs to no
 * request, so that none can say which phase it is in, and end it when its time is up.
 */
export function createConnectionPool(options: PoolOptions): ConnectionPool {
  const idle = new Map<string, EndpointConnection[]>();
  const inOrder = new Set<EndpointConnection>();
  let isClosed = false;

  const forget = (connection: EndpointConnection) => {
    if (!inOrder.delete(connection)) return;
    const siblings = idle.get(connection.origin) ?? [];
    siblings.splice(siblings.lastIndexOf(connection), 1);
    if (siblings.length === 0) idle.delete(connection.origin);
  };
  const discard = (connection: EndpointConnection) => {
    forget(connection);
    connection.dialing.abort();
    void connection.client.destroy();
  };
  const open = (origin: Origin) => {
    const connection = createConnection(options, origin);
    connection.client.on('disconnect', () => {
      if (inOrder.has(connection)) discard(connection);
    });
    return connection;
  };
  return {
    open,
    discard,
    take(origin) {
      for (;;) {
        // The one used last: the others grow old and go.
        const connection = idle.get(origin.origin)?.at(-1);
        if (connection === undefined) return open(origin);
        forget(connection);
        if (performance.now() - connection.madeAtMillis < maxAgeMillis) return connection;
        discard(connection);
      }
    },
    release(connection) {
      connection.exchanges += 1;
      if (isClosed) return discard(connection);
      inOrder.add(connection);
      const siblings = idle.get(connection.origin);
      if (siblings === undefined) idle.set(connection.origin, [connection]);
      else siblings.push(connection);
      if (inOrder.size <= options.maxIdle) return;
      const [oldest] = inOrder;
      if (oldest !== undefined) discard(oldest);
    },
    close() {
      isClosed = true;
      for (const connection of [...inOrder]) discard(connection);
    },
  };
}

function createConnection(options: DialOptions, target: Origin): EndpointConnection {
  const dialing = new AbortController();
  const client = new Client(target.origin, {
    pipelining: 1,
    // The attempt's own clock is the only one.
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: idleMillis,
    keepAliveMaxTimeout: maxIdleMillis,
    maxHeaderSize: maxHeaderBytes,
    // Asked for again by undici when the socket was closed while its next request waited.
    connect: (_options, callback) => {
      connection.exchanges = 0;
      const onPhase = (phase: DialPhase) => {
        connection.phase = phase;
      };
      void answerWith(
        dialReceiver(options, { ...target, signal: dialing.signal, onPhase }).then((socket) => {
          connection.interim.watch(socket);
          return socket;
        }),
        callback,
      );
    },
  });
  const connection: EndpointConnection = {
    origin: target.origin,
    client,
    dialing,
    madeAtMillis: performance.now(),
    interim: new InterimAnswers(),
    phase: 'dns',
    exchanges: 0,
  };
  return connection;
}

async function answerWith(socket: Promise<Socket>, callback: buildConnector.Callback) {
  let open: Socket;
  try {
    open = await socket;
  } catch (error) {
    callback(error instanceof Error ? error : new Error('no connection', { cause: error }), null);
    return;
  }
  callback(null, open);
}

/** Of `HTTP/1.1 100 Continue`, where the status begins, and its digits. */
const statusAt = 9;
const continueDigits = '100';
/** The last digit of 103, which undici passes over. */
const digit3 = 0x33;
const lineFeed = 0x0a;
const carriageReturn = 0x0d;

/**
 * Any receiver may send interim answers before the final one, asked for or not (RFC 9110, 15.2). undici
 * passes over all of them but `100 Continue`, at which it gives the connection up. So its status is turned
 * into 103 on the way from the socket to undici's parser: as much is changed as one byte, and nothing of an
 * answer that has begun with another status.
 */
class InterimAnswers {
  /** Whether the answer so far consists of interim ones. */
  #isInterim = false;
  /** Bytes of the status line seen so far. */
  #seen = 0;
  #digits = '';
  /** Bytes of the present line of headers; null: within the status line's beginning. */
  #lineLength: number | null = null;

  /** Watches what is read from this socket from now on. */
  watch(socket: Socket): void {
    const read = socket.read.bind(socket);
    socket.read = (size?: number): unknown => {
      const chunk: unknown = read(size);
      if (this.#isInterim && Buffer.isBuffer(chunk)) this.#pass(chunk);
      return chunk;
    };
  }

  /** A request goes out: what comes next is the beginning of its answer. */
  begin(): void {
    this.#isInterim = true;
    this.#beginLine();
  }

  #beginLine(): void {
    this.#seen = 0;
    this.#digits = '';
    this.#lineLength = null;
  }

  #pass(chunk: Buffer): void {
    for (let i = 0; i < chunk.length && this.#isInterim; i += 1) {
      const byte = chunk[i] ?? 0;
      if (this.#lineLength === null) {
        if (this.#passStatus(byte)) chunk[i] = digit3;
      } else if (byte === lineFeed) {
        if (this.#lineLength === 0) this.#beginLine();
        else this.#lineLength = 0;
      } else if (byte !== carriageReturn) {
        this.#lineLength += 1;
      }
    }
  }

  /** One byte of the status line up to its status; whether it is the last digit of 100. */
  #passStatus(byte: number): boolean {
    this.#seen += 1;
    if (this.#seen <= statusAt) return false;
    this.#digits += String.fromCharCode(byte);
    if (this.#digits[0] !== '1') this.#isInterim = false;
    if (this.#digits.length < continueDigits.length) return false;
    this.#lineLength = this.#seen;
    return this.#digits === continueDigits;
  }
}
