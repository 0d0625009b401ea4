import { once } from 'node:events';
import {
  Agent,
  createServer,
  type IncomingMessage,
  type ServerResponse,
  request as sendRequest,
} from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, expect, test } from 'vitest';
import { type ConnectionLimits, type Connections, guardConnections } from './connections.ts';

const limits = { total: 4, perAddress: 2, isShared: () => false, bodySeconds: 60 };

const endings: (() => void)[] = [];
afterEach(() => {
  for (const end of endings.splice(0)) end();
});

/** A guarded server that lets in who names the path /in, and the requests it has not answered. */
async function startServer(changes: Partial<ConnectionLimits> = {}) {
  const open: { request: IncomingMessage; response: ServerResponse }[] = [];
  const server = createServer((request, response) => {
    if (request.url === '/now') return void response.end('now');
    open.push({ request, response });
    if (request.url?.startsWith('/in')) {
      connections.admit(request, { ownPace: request.url === '/in/stream' });
    }
    server.emit('asked');
  });
  const connections: Connections = guardConnections(server, { ...limits, ...changes });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  endings.push(() => server.close().closeAllConnections());
  return {
    open,
    port,
    connections,
    /** Of this machine's many addresses one; what is sent has been read when it returns, if it has a path. */
    async client(address: string, path?: string, head = ''): Promise<Socket> {
      const socket = connect({ port, host: '127.0.0.1', localAddress: address });
      socket.on('error', () => {});
      endings.push(() => socket.destroy());
      const accepted = once(server, 'connection');
      await once(socket, 'connect');
      await accepted;
      if (path === undefined) return socket;
      const asked = path === '/now' ? once(socket, 'data') : once(server, 'asked');
      socket.write(`POST ${path} HTTP/1.1\r\nhost: x\r\n${head}\r\n`);
      await asked;
      return socket;
    },
  };
}

const body = 'content-length: 10\r\n';
const closed = (socket: Socket) =>
  socket.closed ? Promise.resolve() : once(socket.resume(), 'close');

test('beyond its share, what is new of an address closes what is oldest of it, and of no other', async () => {
  const server = await startServer();
  const other = await server.client('127.0.0.3');
  const first = await server.client('127.0.0.2');
  const second = await server.client('127.0.0.2', '/unfinished', body);
  const third = await server.client('127.0.0.2', '/now');
  await closed(first);
  const fourth = await server.client('127.0.0.2', '/now');
  await closed(second);
  expect([other, third, fourth].map(({ closed }) => closed)).toEqual([false, false, false]);
});

test('an address that is shared may have all', async () => {
  const server = await startServer({ isShared: (address) => address === '127.0.0.2' });
  const sockets = [];
  for (let count = 0; count < limits.total; count += 1)
    sockets.push(await server.client('127.0.0.2', '/now'));
  expect(sockets.some((socket) => socket.closed)).toBe(false);
  await server.client('127.0.0.2', '/now');
  await closed(sockets[0] as Socket);
});

test('health is answered while unfinished requests hold all connections, and who was let in stays', async () => {
  const server = await startServer({ isShared: () => true });
  const stream = await server.client('127.0.0.2', '/in/stream', body);
  const flood = [];
  for (let count = 0; count < 20; count += 1)
    flood.push(await server.client('127.0.0.2', '/unfinished', body));
  await server.client('127.0.0.2', '/now');
  await Promise.all(flood.slice(0, -2).map(closed));
  expect(stream.closed).toBe(false);
});

test('when all carry requests that were let in, the next is told so', async () => {
  const server = await startServer({ isShared: () => true });
  const busy = [];
  for (let count = 0; count < limits.total; count += 1)
    busy.push(await server.client('127.0.0.2', '/in'));
  const refused = await server.client('127.0.0.2');
  expect(await text(refused)).toMatch(/^HTTP\/1.1 503 .*retry-after: 1.*connections_full/s);
  expect(busy.some((socket) => socket.closed)).toBe(false);
  // Once one is answered, there is room.
  server.open[0]?.response.end('done');
  await once(busy[0] as Socket, 'data');
  await server.client('127.0.0.2', '/now');
  await closed(busy[0] as Socket);
});

test('a body that comes too slowly is given up: before and after an answer, and byte by byte', async () => {
  const server = await startServer({ bodySeconds: 1, total: 100, perAddress: 100 });
  const silent = await server.client('127.0.0.2', '/unfinished', body);
  const letIn = await server.client('127.0.0.2', '/in', body);
  const stream = await server.client('127.0.0.2', '/in/stream', body);
  const dripping = await server.client('127.0.0.2', '/unfinished', 'content-length: 1000000\r\n');
  const drip = setInterval(() => dripping.write('x'), 20);
  endings.push(() => clearInterval(drip));
  const answered = await server.client('127.0.0.2', '/answered', body);
  server.open.at(-1)?.response.end('refused');
  const [said] = await once(answered, 'data');
  expect(String(said)).toMatch(/^HTTP\/1.1 200 .*refused/s);
  for (const socket of [silent, letIn, dripping]) {
    expect(await text(socket)).toMatch(/^HTTP\/1.1 408 .*did not arrive in time/s);
  }
  await closed(answered);
  // It times its body itself, until it is answered.
  expect(stream.closed).toBe(false);
  server.open.find(({ request }) => request.url === '/in/stream')?.response.end('done');
  await closed(stream);
});

test('a body that comes quickly enough is read, however long it takes', async () => {
  const server = await startServer({ bodySeconds: 1, total: 100, perAddress: 100 });
  const first = await server.client('127.0.0.2', '/unfinished', body);
  const quick = await server.client('127.0.0.2', '/large', 'content-length: 100001\r\n');
  server.open.at(-1)?.request.resume();
  const answer: Buffer[] = [];
  quick.on('data', (bytes: Buffer) => answer.push(bytes));
  quick.write('x'.repeat(100_000));
  await closed(first);
  // What was looked at in the same moment would have been refused by now.
  await closed(await server.client('127.0.0.2', '/unfinished', body));
  expect([quick.closed, Buffer.concat(answer).toString()]).toEqual([false, '']);
});

test('a connection with more requests than anybody reads answers of is cut', async () => {
  const server = await startServer();
  const greedy = await server.client('127.0.0.2');
  greedy.write('GET /unanswered HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(1000));
  await closed(greedy);
  // Node hands on what it had read; whoever answers sees that the connection is gone.
  expect(server.open.filter(({ request }) => !request.socket.destroyed)).toEqual([]);
  await server.client('127.0.0.2', '/now');
});

test('500 requests in turn, each answered before its body has come, share one connection', async () => {
  const server = await startServer();
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  endings.push(() => agent.destroy());
  const sockets = new Set<Socket>();
  for (let count = 0; count < 500; count += 1) {
    const asked = sendRequest({ agent, port: server.port, method: 'POST', path: '/now' });
    asked.setHeader('content-length', 2);
    asked.once('socket', (socket) => sockets.add(socket));
    asked.flushHeaders();
    const [answer] = await once(asked, 'response');
    expect(await text(answer)).toBe('now');
    asked.end('{}');
  }
  expect(sockets.size).toBe(1);
});
