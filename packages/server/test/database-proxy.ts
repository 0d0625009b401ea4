import net from 'node:net';
import { listen } from './listen.ts';

/**
 * A way to PostgreSQL that can be frozen, that ends a connection right behind the ReadyForQuery of a number or in place of
 * it, or that holds back what comes behind the last row of a COPY.
 */
export async function startDatabaseProxy(
  databaseUrl: string,
  {
    fatalAt = Number.POSITIVE_INFINITY,
    cutAt = Number.POSITIVE_INFINITY,
    isSamePacket = false,
    splitsAtCopyDone = false,
  } = {},
) {
  const { hostname, port, href } = new URL(databaseUrl);
  let seen = 0;
  let held: (() => void) | undefined;
  let holdsNewcomers = false;
  const sockets = new Set<net.Socket>();
  const upstreams = new Set<net.Socket>();
  const proxy = net.createServer((client) => {
    const upstream = net.connect(Number(port), hostname);
    upstreams.add(upstream);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => [client, upstream].map((one) => one.destroy()));
    }
    client.pipe(upstream);
    if (holdsNewcomers) client.pause();
    upstream.on('data', (chunk: Buffer) => {
      const done = splitsAtCopyDone ? chunk.indexOf(copyDone) : -1;
      if (done >= 0) {
        const end = done + copyDone.length;
        held = () => client.write(chunk.subarray(end));
        client.write(chunk.subarray(0, end));
        return;
      }
      if (isReady(chunk)) seen += 1;
      if (isReady(chunk) && seen === cutAt) client.destroy();
      else if (!isReady(chunk) || seen !== fatalAt) client.write(chunk);
      else if (isSamePacket) client.end(Buffer.concat([chunk, fatal]));
      else client.write(chunk, () => setImmediate(() => client.end(fatal)));
    });
  });
  const listening = await listen(proxy);
  const url = new URL(href);
  url.host = `127.0.0.1:${listening.port}`;
  return {
    url: url.href,
    seen: () => seen,
    /**
     * From now on nothing passes, and nothing is closed: so is a process that SIGSTOP has stopped. With `newcomers` that
     * goes for connections to come, too: so is a database that hangs.
     */
    freeze({ newcomers = false } = {}) {
      holdsNewcomers = newcomers;
      for (const socket of sockets) socket.pause();
    },
    freezeAnswers() {
      for (const upstream of upstreams) upstream.pause();
    },
    thaw() {
      holdsNewcomers = false;
      for (const socket of sockets) socket.resume();
    },
    isHeld: () => held !== undefined,
    /** Sends what was held back. */
    passOn: () => held?.(),
    close: () => listening.close(),
  };
}

const isReady = (chunk: Buffer) => chunk.subarray(-6, -1).equals(Buffer.from([0x5a, 0, 0, 0, 5]));
const copyDone = Buffer.from([0x63, 0, 0, 0, 4]);
const fields = Buffer.from(
  'SFATAL\0VFATAL\0C57P01\0Mterminating connection due to administrator command\0\0',
);
const fatal = Buffer.concat([Buffer.from([0x45, 0, 0, 0, fields.length + 4]), fields]);
