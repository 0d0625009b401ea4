import { connect as connectTcp, isIPv6, type LookupFunction, type Socket } from 'node:net';
import { connect as connectTls, type SecureContext } from 'node:tls';
import { type buildConnector, Client } from 'undici';
import { type AddressRule, findObjection, type Lookup, literalAddress } from './address.ts';
import { type EgressProxy, openTunnel } from './egress-proxy.ts';
import { AttemptFault, connectFault, dnsFault, tlsFault } from './fault.ts';

/** The certificates of an endpoint. `id` names them: connections that were made with others are not shared. */
export type OwnTls = { readonly id: string; readonly context: SecureContext };

/** The scheme, host and port of a URL. All requests to the same origin with the same certificates share connections. */
export type Origin = {
  readonly origin: string;
  readonly protocol: string;
  readonly hostname: string;
  readonly port: number;
  readonly tls: OwnTls | null;
  /** The time limit of the attempt that connects. */
  readonly timeoutMillis: number;
};

/** A connection, or one that is being made. It carries one request at a time. */
export type EndpointConnection = {
  readonly key: string;
  readonly client: Client;
  readonly dialing: AbortController;
  /** When it was made, in milliseconds of `performance.now()`. */
  readonly madeAtMillis: number;
  readonly interim: InterimAnswers;
  phase: DialPhase;
  /** The first error of the present socket. undici tells the last, which of a TLS alert is only that the socket closed. */
  error: Error | null;
  /** How many requests the present socket has carried to their end. */
  exchanges: number;
};

export type ConnectionPool = {
  /** Returns an idle connection to this origin, or a new one. */
  take(origin: Origin): EndpointConnection;
  open(origin: Origin): EndpointConnection;
  /** Takes back a connection whose request has ended well, for the next request. */
  release(connection: EndpointConnection): void;
  discard(connection: EndpointConnection): void;
  /** Ends the idle connections. From now on none is kept. */
  close(): void;
};

type PoolOptions = DialOptions & { readonly maxIdle: number };

/** How long an idle connection is kept when the receiver announces nothing. */
const idleMillis = 10_000;
/** How long an idle connection is kept at most, whatever the receiver announces. */
const maxIdleMillis = 30_000;
/** At this age a connection is replaced, so that the name is looked up again: receivers move. */
const maxAgeMillis = 300_000;
/** The largest headers of an answer; larger ones fail the attempt as `protocol`. */
const maxHeaderBytes = 16 * 1024;

/** Creates a pool of connections with a Client each: in undici's Agent a request does not know its connection. */
export function createConnectionPool(options: PoolOptions): ConnectionPool {
  /** In the order in which they became idle. */
  const idle = new Set<EndpointConnection>();
  /** The same in the same order, by what shares them. */
  const idleOf = new Map<string, EndpointConnection[]>();
  let isClosed = false;

  const forget = (connection: EndpointConnection) => {
    if (!idle.delete(connection)) return;
    const siblings = idleOf.get(connection.key) ?? [];
    siblings.splice(siblings.lastIndexOf(connection), 1);
    if (siblings.length === 0) idleOf.delete(connection.key);
  };
  const discard = (connection: EndpointConnection) => {
    forget(connection);
    connection.dialing.abort();
    void connection.client.destroy();
  };
  const open = (origin: Origin) => {
    const connection = createConnection(options, origin);
    // The receiver may close a connection while it is idle.
    connection.client.on('disconnect', () => {
      if (idle.has(connection)) discard(connection);
    });
    return connection;
  };
  return {
    open,
    discard,
    take(origin) {
      const key = keyOf(origin);
      for (;;) {
        // The connection that was used last is taken, so that those that are not needed grow old and are closed.
        const connection = idleOf.get(key)?.at(-1);
        if (connection === undefined) return open(origin);
        forget(connection);
        if (performance.now() - connection.madeAtMillis < maxAgeMillis) return connection;
        discard(connection);
      }
    },
    release(connection) {
      connection.exchanges += 1;
      if (isClosed) return discard(connection);
      idle.add(connection);
      const siblings = idleOf.get(connection.key);
      if (siblings === undefined) idleOf.set(connection.key, [connection]);
      else siblings.push(connection);
      const [oldest] = idle;
      if (idle.size > options.maxIdle && oldest !== undefined) discard(oldest);
    },
    close() {
      isClosed = true;
      for (const connection of idle) discard(connection);
    },
  };
}

function keyOf({ origin, tls }: Origin): string {
  return tls === null ? origin : `${origin} ${tls.id}`;
}

function createConnection(options: DialOptions, target: Origin): EndpointConnection {
  const dialing = new AbortController();
  const client = new Client(target.origin, {
    pipelining: 1,
    // Only the time limit of the attempt counts.
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: idleMillis,
    keepAliveMaxTimeout: maxIdleMillis,
    maxHeaderSize: maxHeaderBytes,
    // undici calls this again by itself when the socket was closed while the next request waited.
    connect: (_options, callback) => {
      connection.exchanges = 0;
      connection.error = null;
      const onPhase = (phase: DialPhase) => {
        connection.phase = phase;
      };
      void answerWith(
        dialReceiver(options, { ...target, signal: dialing.signal, onPhase }).then((socket) => {
          connection.interim.watch(socket);
          socket.once('error', (error) => {
            connection.error = error;
          });
          return socket;
        }),
        callback,
      );
    },
  });
  const connection: EndpointConnection = {
    key: keyOf(target),
    client,
    dialing,
    madeAtMillis: performance.now(),
    interim: new InterimAnswers(),
    phase: 'dns',
    error: null,
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

/** Where the status ends in a line such as `HTTP/1.1 100 Continue`. */
const statusEnd = 12;
/** The character code of the last digit of 103. Answers with this status undici skips. */
const digit3 = 0x33;

/**
 * Lets receivers send interim answers before the final one, whether asked for or not (RFC 9110 §15.2). undici skips all
 * of them but `100 Continue`, at which it gives up the connection. So the status 100 is turned into 103 on the way from
 * the socket to undici's parser. Only this one byte is changed, and nothing in an answer that has begun with another
 * status.
 */
class InterimAnswers {
  #isInterim = false;
  /** Whether the present line is the first of an answer, and how it begins. */
  #isStatusLine = false;
  #line = '';

  /** Watches everything that is read from this socket from now on. */
  watch(socket: Socket): void {
    const read = socket.read.bind(socket);
    socket.read = (size?: number): unknown => {
      const chunk: unknown = read(size);
      if (this.#isInterim && Buffer.isBuffer(chunk)) this.#pass(chunk);
      return chunk;
    };
  }

  /** Notes that a request is sent, so that the next bytes are the beginning of its answer. */
  begin(): void {
    this.#isInterim = true;
    this.#isStatusLine = true;
    this.#line = '';
  }

  /** Reads through the answer until its final status has come. */
  #pass(chunk: Buffer): void {
    for (let i = 0; i < chunk.length && this.#isInterim; i += 1) {
      const character = String.fromCharCode(chunk[i] ?? 0);
      if (character === '\n') {
        // An empty line ends an interim answer.
        this.#isStatusLine = this.#line === '';
        this.#line = '';
      } else if (character !== '\r' && this.#line.length < statusEnd) {
        this.#line += character;
      }
      if (!this.#isStatusLine || this.#line.length < statusEnd) continue;
      this.#isStatusLine = false;
      const status = this.#line.slice(-3);
      if (!status.startsWith('1')) this.#isInterim = false;
      else if (status === '100') chunk[i] = digit3;
    }
  }
}

type DialPhase = 'dns' | 'proxy' | 'connect' | 'tls' | 'open';

type DialOptions = {
  readonly rule: AddressRule;
  readonly lookup: Lookup;
  /** PEM certificates to trust instead of Node's own list. */
  readonly ca?: string | undefined;
  /** What all connections go through. */
  readonly proxy?: EgressProxy | undefined;
};

export type Dial = {
  readonly protocol: string;
  /** As in WHATWG URL: an IPv6 address may stand in brackets. */
  readonly hostname: string;
  readonly port: number;
  readonly tls: OwnTls | null;
  readonly timeoutMillis: number;
  readonly signal: AbortSignal;
  onPhase(phase: DialPhase): void;
};

/** When an address has not answered for this long, the next address of the name is tried. */
const nextAddressMillis = 1000;

/** The same where an attempt has too little time for that: the last address gets as much of it as each of the others. */
function addressMillis({ timeoutMillis }: Dial, count: number): number {
  return Math.max(1, Math.min(nextAddressMillis, Math.floor(timeoutMillis / (count + 1))));
}

/**
 * Connects to a receiver. Every address of the name is judged here, and only judged addresses are connected to, so a
 * name that changes them in between (DNS rebinding) gains nothing. TLS still checks the certificate against the name. A
 * proxy is asked for an address, so that it looks nothing up. Rejects with an AttemptFault.
 */
export async function dialReceiver(options: DialOptions, dial: Dial): Promise<Socket> {
  const { protocol, hostname } = dial;
  dial.onPhase('dns');
  const literal = literalAddress(hostname);
  const addresses = literal === null ? await lookUp(options.lookup, hostname) : [literal];
  const objection = findObjection(options.rule, { protocol, hostname, addresses });
  if (objection !== null) throw new AttemptFault('blocked', objection.text);
  dial.signal.throwIfAborted();
  const { proxy, ca } = options;
  const tunnel = proxy === undefined ? null : await openTunnel(proxy, { ...dial, ca }, addresses);
  return await openSocket(dial, { addresses, tunnel }, options);
}

/** The addresses of a name, at least one. Throws an AttemptFault of class `dns`. */
async function lookUp(lookup: Lookup, hostname: string): Promise<readonly string[]> {
  let addresses: readonly string[];
  try {
    addresses = await lookup(hostname);
  } catch (error) {
    throw dnsFault(hostname, error);
  }
  if (addresses.length === 0) {
    throw new AttemptFault('dns', `${hostname} has no address`);
  }
  return addresses;
}

/** Connects to one of the judged addresses, or through a tunnel. Resolves when TCP, and TLS if any, is established. */
function openSocket(
  dial: Dial,
  { addresses, tunnel }: { addresses: readonly string[]; tunnel: Socket | null },
  { ca, rule }: Pick<DialOptions, 'ca' | 'rule'>,
): Promise<Socket> {
  const isTls = dial.protocol === 'https:';
  const answers = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
  const [first] = answers;
  if (first === undefined) throw new AttemptFault('dns', `${dial.hostname} has no address`);
  // Node calls this instead of the resolver, so that no second look-up can lead elsewhere. For an address it asks
  // nothing.
  const lookup: LookupFunction = (_hostname, { all }, callback) => {
    if (all === true) callback(null, answers);
    else callback(null, first.address, first.family);
  };
  const host = literalAddress(dial.hostname) ?? dial.hostname;
  const target = {
    host,
    port: dial.port,
    lookup,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: addressMillis(dial, addresses.length),
    noDelay: true,
    keepAlive: true,
  };
  return new Promise((resolve, reject) => {
    let isTcpOpen = tunnel !== null;
    dial.onPhase(isTcpOpen ? 'tls' : 'connect');
    const socket = isTls
      ? connectTls({
          ...(tunnel === null ? target : { host, socket: tunnel }),
          ...serverName(host),
          ALPNProtocols: ['http/1.1'],
          ...(dial.tls === null ? ca !== undefined && { ca } : { secureContext: dial.tls.context }),
        })
      : (tunnel ?? connectTcp(target));
    const abort = () => socket.destroy();
    const finish = () => {
      dial.signal.removeEventListener('abort', abort);
      dial.onPhase('open');
      resolve(socket);
    };
    dial.signal.addEventListener('abort', abort);
    socket.once('connect', () => {
      isTcpOpen = true;
      if (isTls) dial.onPhase('tls');
      else finish();
    });
    socket.once('secureConnect', finish);
    // This listener stays for good: an error between here and the first request would otherwise end the process.
    const isShown = (address: string) => address === host || rule(address).kind === 'public';
    socket.on('error', (error) =>
      reject(isTcpOpen ? tlsFault(error) : connectFault(error, isShown)),
    );
    socket.once('close', () => reject(new AttemptFault('connect', 'The connection was given up')));
    if (tunnel !== null && !isTls) finish();
  });
}

/** The name for SNI: it has no dot at its end, and there is none for an address (RFC 6066). */
function serverName(host: string): { servername?: string } {
  return literalAddress(host) === null ? { servername: host.replace(/\.$/, '') } : {};
}
