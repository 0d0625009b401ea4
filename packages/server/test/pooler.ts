import net from 'node:net';
import pg from 'pg';
import { listen } from './listen.ts';

/**
 * A pooler such as pgbouncer, which asks for no password. In transaction mode a client has a backend only until the end
 * of its transaction; in session mode until it goes, and the next one finds the backend as it was left. The backend
 * that was free last goes to whoever asks next. Start-up options are refused.
 */
export async function startPooler(databaseUrl: string, mode: 'session' | 'transaction') {
  const backends = new Set<net.Socket>();
  const free: net.Socket[] = [];

  async function takeBackend(): Promise<net.Socket> {
    const idle = free.pop();
    if (idle !== undefined) return idle;
    const client = new pg.Client({ connectionString: databaseUrl });
    client.on('error', () => {});
    await client.connect();
    const backend = (client as unknown as { connection: { stream: net.Socket } }).connection.stream;
    backend.removeAllListeners('data');
    backends.add(backend);
    return backend;
  }

  async function serve(client: net.Socket): Promise<void> {
    let backend: net.Socket | undefined;
    const giveBack = () => {
      if (backend === undefined) return;
      free.push(backend.removeAllListeners('data'));
      backend = undefined;
    };
    for await (const chunk of client as AsyncIterable<Buffer>) {
      // Terminate: the client goes.
      if (chunk[0] === 0x58) {
        giveBack();
        break;
      }
      if (backend === undefined) {
        backend = await takeBackend();
        backend.on('data', (answer: Buffer) => {
          client.write(answer);
          if (mode === 'transaction' && answer.subarray(-6).equals(isIdle)) giveBack();
        });
      }
      backend.write(chunk);
    }
    giveBack();
    client.end();
  }

  const server = net.createServer((client) => {
    client.once('data', (startup: Buffer) => {
      client.pause();
      if (startup.includes('\0options\0')) {
        client.end(optionsRefused);
        return;
      }
      client.write(welcome);
      serve(client).catch(() => client.destroy());
    });
  });
  const listening = await listen(server);
  const url = new URL(databaseUrl);
  url.port = String(listening.port);
  return {
    url: url.href,
    async close() {
      for (const backend of backends) backend.destroy();
      await listening.close();
    },
  };
}

/** ReadyForQuery, outside a transaction. */
const isIdle = Buffer.from([0x5a, 0, 0, 0, 5, 0x49]);
/** AuthenticationOk, and BackendKeyData with a process that is none of PostgreSQL's. */
const welcome = Buffer.concat([
  Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0]),
  Buffer.from([0x4b, 0, 0, 0, 12, 0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 1]),
  isIdle,
]);
const fields = Buffer.from('SFATAL\0C08P01\0Munsupported startup parameter: options\0\0');
const optionsRefused = Buffer.concat([Buffer.from([0x45, 0, 0, 0, fields.length + 4]), fields]);
