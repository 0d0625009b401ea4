import { connect as connectTcp, isIPv6, type LookupFunction, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { type AddressRule, findObjection, type Lookup, literalAddress } from './address.ts';
import { AttemptFault, connectFault, dnsFault, tlsFault } from './fault.ts';

/** The phase that a connection is in. */
export type DialPhase = 'dns' | 'connect' | 'tls' | 'open';

export type DialOptions = {
  readonly rule: AddressRule;
  readonly lookup: Lookup;
  /** PEM certificates to trust instead of Node's own list. */
  readonly ca?: string | undefined;
};

export type Dial = {
  readonly protocol: string;
  /** As in WHATWG URL: an IPv6 address may stand in brackets. */
  readonly hostname: string;
  readonly port: number;
  readonly signal: AbortSignal;
  onPhase(phase: DialPhase): void;
};

/** When an address has not answered for this long, the next address of the name is tried. */
const nextAddressMillis = 1000;

/**
 * Connects to a receiver. The name is looked up here, every address is judged, and only the judged addresses are
 * connected to. So a name that changes its addresses in between (DNS rebinding) gains nothing. TLS still asks for the
 * name and checks the certificate against it. Rejects with an AttemptFault.
 */
export async function dialReceiver(options: DialOptions, dial: Dial): Promise<Socket> {
  const { protocol, hostname } = dial;
  dial.onPhase('dns');
  const literal = literalAddress(hostname);
  const addresses = literal === null ? await lookUp(options.lookup, hostname) : [literal];
  const objection = findObjection(options.rule, { protocol, hostname, addresses });
  if (objection !== null) throw new AttemptFault('blocked', objection.text);
  dial.signal.throwIfAborted();
  return await openSocket(dial, addresses, options);
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

/** Connects to one of the judged addresses. Resolves when TCP, and TLS if there is any, is established. */
function openSocket(
  dial: Dial,
  addresses: readonly string[],
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
    autoSelectFamilyAttemptTimeout: nextAddressMillis,
    noDelay: true,
    keepAlive: true,
  };
  return new Promise((resolve, reject) => {
    let isTcpOpen = false;
    dial.onPhase('connect');
    const socket = isTls
      ? connectTls({
          ...target,
          ...serverName(host),
          ALPNProtocols: ['http/1.1'],
          ...(ca === undefined ? {} : { ca }),
        })
      : connectTcp(target);
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
  });
}

/** The name for SNI: it has no dot at its end, and there is none for an address (RFC 6066). */
function serverName(host: string): { servername?: string } {
  return literalAddress(host) === null ? { servername: host.replace(/\.$/, '') } : {};
}
