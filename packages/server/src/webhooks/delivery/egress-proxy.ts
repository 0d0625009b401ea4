import { STATUS_CODES } from 'node:http';
import { connect, isIP, isIPv6, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { AttemptFault } from './fault.ts';

/** A proxy of HTTP that makes connections for others (CONNECT, RFC 9110 §9.3.6). */
export type EgressProxy = {
  readonly host: string;
  readonly port: number;
  /** Whether it is spoken to in TLS, so that nobody on the way to it reads the credentials. */
  readonly isTls: boolean;
  /** What it wants to know of us; null: nothing. */
  readonly authorization: string | null;
};

/** Reads a proxy such as http://user:password@host:3128, or https://…. */
export function parseProxy(text: string): EgressProxy {
  const { protocol, hostname, port, username, password } = new URL(text);
  const isTls = protocol === 'https:';
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port || (isTls ? 443 : 80)),
    isTls,
    authorization: username === '' ? null : `Basic ${Buffer.from(credentials).toString('base64')}`,
  };
}

type Dial = {
  readonly hostname: string;
  readonly port: number;
  readonly signal: AbortSignal;
  /** PEM certificates that a proxy is trusted by instead of Node's own list. */
  readonly ca?: string | undefined;
  onPhase(phase: 'proxy' | 'connect'): void;
};

const maxAnswerBytes = 16 * 1024;
/** By these answers a proxy says that it did not reach the receiver, which is no failure of its own. */
const unreached = ['502', '503', '504'];

/**
 * Has the proxy connect to one of these addresses. Rejects with an AttemptFault: `connect` when it reached none,
 * `proxy` when it fails itself, which says nothing of the receiver. None names its address.
 */
export async function openTunnel(
  proxy: EgressProxy,
  dial: Dial,
  addresses: readonly string[],
): Promise<Socket> {
  for (const [i, address] of addresses.entries()) {
    dial.signal.throwIfAborted();
    const { socket, status } = await ask(proxy, dial, address);
    if (status.startsWith('2')) return socket;
    socket.destroy();
    const isReached = !unreached.includes(status.slice(0, 3));
    if (isReached) throw new AttemptFault('proxy', `The egress proxy refuses: ${plain(status)}`);
    if (i === addresses.length - 1) {
      throw new AttemptFault(
        'connect',
        `The egress proxy did not reach ${dial.hostname}: ${plain(status)}`,
      );
    }
  }
  throw new AttemptFault('connect', `${dial.hostname} has no address`);
}

/**
 * A status in the words of HTTP. Tenants read what failed, and the proxy's own words may name places in our network.
 */
function plain(status: string): string {
  const code = status.slice(0, 3);
  return `${code} ${STATUS_CODES[code] ?? ''}`.trimEnd();
}

/** Asks the proxy for one address. Resolves with what it answered, such as `200 Connection established`. */
function ask(
  { host, port, isTls, authorization }: EgressProxy,
  dial: Dial,
  address: string,
): Promise<{ socket: Socket; status: string }> {
  const to = `${isIPv6(address) ? `[${address}]` : address}:${dial.port}`;
  const lines = [`CONNECT ${to} HTTP/1.1`, `Host: ${to}`];
  if (authorization !== null) lines.push(`Proxy-Authorization: ${authorization}`);
  return new Promise((resolve, reject) => {
    dial.onPhase('proxy');
    const target = { host, port, noDelay: true, keepAlive: true };
    // There is no name for an address (RFC 6066).
    const name = isIP(host) === 0 ? { servername: host } : {};
    const trusted = dial.ca === undefined ? {} : { ca: dial.ca };
    const socket = isTls
      ? connectTls({ ...target, ...name, ...trusted, ALPNProtocols: ['http/1.1'] })
      : connect(target);
    let seen = Buffer.alloc(0);
    const fail = (text: string) => {
      socket.destroy();
      reject(new AttemptFault('proxy', text));
    };
    const abort = () => fail('The egress proxy was given up');
    dial.signal.addEventListener('abort', abort, { once: true });
    socket.once(isTls ? 'secureConnect' : 'connect', () => {
      dial.onPhase('connect');
      socket.write(`${lines.join('\r\n')}\r\n\r\n`);
    });
    const read = (chunk: Buffer) => {
      seen = Buffer.concat([seen, chunk]);
      const end = seen.indexOf('\r\n\r\n');
      if (end < 0) {
        if (seen.length > maxAnswerBytes) fail('The egress proxy answers without end');
        return;
      }
      const [, status] = /^HTTP\/1\.[01] (\d{3}.*)/.exec(seen.toString('latin1', 0, end)) ?? [];
      if (status === undefined) return fail('The egress proxy does not speak HTTP');
      socket.off('data', read);
      socket.pause();
      dial.signal.removeEventListener('abort', abort);
      const rest = seen.subarray(end + 4);
      if (rest.length > 0) socket.unshift(rest);
      resolve({ socket, status: status.trim() });
    };
    socket.on('data', read);
    // This listener stays, since an error without one would end the process.
    socket.on('error', (error) => {
      const code = 'code' in error ? String(error.code) : 'unknown error';
      fail(`The egress proxy cannot be used (${code})`);
    });
    socket.once('close', () => fail('The egress proxy closed the connection'));
  });
}
