import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { connect, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { listen } from '../../../test/listen.ts';
import {
  answer,
  makeCertificate,
  type Receiver,
  type ReceiverOptions,
  startReceiver,
} from '../../../test/receiver.ts';
import { contextOf } from '../tls-settings.ts';
import { createSender, type Request, type Sender, type SenderOptions } from './sender.ts';

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** A real proxy of HTTP. `judge` says by which status it refuses an address, or that it never answers. */
async function startProxy(
  judge: (address: string) => number | 'hang' | undefined = () => undefined,
  tls?: { key: string; cert: string },
) {
  const asked: { to: string; authorization: string | undefined }[] = [];
  const server = tls === undefined ? createServer() : createTlsServer(tls);
  server.on('connect', ({ url = '', headers }, client: Socket, head) => {
    asked.push({ to: url, authorization: headers['proxy-authorization'] });
    const [host = '', port] = url.split(':');
    const refusal = judge(host);
    if (refusal === 'hang') return;
    if (refusal !== undefined) {
      client.end(`HTTP/1.1 ${refusal} No way from 10.0.0.7\r\n\r\n`);
      return;
    }
    const target = connect(Number(port), host, () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      target.write(head);
      target.pipe(client).pipe(target);
    });
    for (const socket of [target, client]) {
      socket.on('error', () => {});
      socket.once('close', () => [target, client].map((one) => one.destroy()));
    }
  });
  const { port, sockets, close } = await listen(server);
  closers.push(close);
  const scheme = tls === undefined ? 'http' : 'https';
  return {
    asked,
    port,
    /** Ends all tunnels, as the end of its process does. */
    cut() {
      for (const socket of sockets) socket.destroy();
    },
    url: (who = '', host = '127.0.0.1') => `${scheme}://${who}${host}:${port}`,
  };
}

async function receive(options: ReceiverOptions = {}): Promise<Receiver> {
  const receiver = await startReceiver(options);
  closers.push(() => receiver.close());
  return receiver;
}

function senderBy(proxy: string, more: Partial<SenderOptions> = {}): Sender {
  const sender = createSender({
    timeoutMillis: 2000,
    allowTargets: ['127.0.0.0/8'],
    proxy,
    lookup: async () => ['127.0.0.1'],
    ...more,
  });
  closers.push(() => sender.close());
  return sender;
}

const send = (sender: Sender, url: string, more: Partial<Request> = {}) =>
  sender.send({ url, body: '{}', headers: {}, ...more });

test('asks the proxy for the address that was judged, once for several requests', async () => {
  const [proxy, receiver] = [await startProxy(), await receive()];
  const sender = senderBy(proxy.url('me:p%40ss@'));
  for (const _ of [1, 2]) {
    const result = await send(sender, receiver.url('/in', 'name.example'));
    expect(result).toMatchObject({ status: 204, failureClass: null });
  }
  const authorization = `Basic ${Buffer.from('me:p@ss').toString('base64')}`;
  expect(proxy.asked).toEqual([{ to: `127.0.0.1:${receiver.port}`, authorization }]);
  expect(receiver.requests).toHaveLength(2);
  expect(receiver.requests[0]).toMatchObject({ path: '/in', body: '{}' });
  expect(receiver.requests[0]?.headers).not.toHaveProperty('proxy-authorization');
});

test('asks the proxy for no address that is not allowed', async () => {
  const proxy = await startProxy();
  const sender = senderBy(proxy.url(), { lookup: async () => ['10.0.0.1'] });
  const result = await send(sender, 'https://name.example/');
  expect(result).toMatchObject({ status: null, failureClass: 'blocked' });
  expect(proxy.asked).toEqual([]);
});

test('speaks TLS through the proxy, with the certificates of the endpoint', async () => {
  const [own, client] = [makeCertificate(['name.example']), makeCertificate(['client'])];
  const tls = { ...own, ca: client.cert, requestCert: true, rejectUnauthorized: true };
  const [proxy, receiver] = [await startProxy(), await receive({ tls })];
  const context = contextOf({ certificate: client.cert, key: client.key, ca: own.cert });
  const url = receiver.url('/', 'name.example');
  const sender = senderBy(proxy.url(), { ca: own.cert });
  expect(await send(sender, url, { tls: { id: 'a', context } })).toMatchObject({ status: 204 });
  // Without the certificate the receiver refuses, over a connection of its own: by an alert, or a close.
  const { status, failureClass } = await send(sender, url);
  expect([status, ['tls', 'reset'].includes(failureClass ?? '')]).toEqual([null, true]);
  expect(await send(sender, url, { tls: { id: 'a', context } })).toMatchObject({ status: 204 });
  expect(proxy.asked).toHaveLength(2);
  expect(receiver.requests).toHaveLength(2);
});

test('speaks TLS to the proxy, and again through it, and trusts none that is another', async () => {
  const tls = makeCertificate(['name.example', 'localhost']);
  const proxy = await startProxy(undefined, tls);
  const [secure, plain] = [await receive({ tls }), await receive()];
  const sender = senderBy(proxy.url('me:pass@', 'localhost'), { ca: tls.cert });
  for (const receiver of [secure, plain]) {
    const sent = await send(sender, receiver.url('/', 'name.example'), {
      body: 'x'.repeat(99_000),
    });
    expect(sent).toMatchObject({ status: 204, error: null });
    expect(receiver.requests).toHaveLength(1);
  }
  const authorization = `Basic ${Buffer.from('me:pass').toString('base64')}`;
  expect(proxy.asked).toMatchObject([{ authorization }, { authorization }]);

  const untrusted = senderBy(proxy.url('me:pass@', 'localhost'), {
    ca: makeCertificate(['localhost']).cert,
  });
  const misnamed = senderBy(proxy.url('me:pass@'), { ca: tls.cert });
  for (const refusing of [untrusted, misnamed]) {
    const refused = await send(refusing, secure.url('/', 'name.example'));
    expect(refused.failureClass).toBe('proxy');
    expect(refused.error).toMatch(/^The egress proxy cannot be used \(\w+\)$/);
  }
  expect(proxy.asked).toHaveLength(2);
});

test('what the proxy fails at is told in the words of HTTP; what it does not reach is the receiver’s', async () => {
  const status = async (code: number) => {
    const proxy = await startProxy(() => code);
    const { failureClass, error } = await send(senderBy(proxy.url()), 'https://name.example/');
    return `${failureClass}: ${error}`;
  };
  expect(await status(403)).toBe('proxy: The egress proxy refuses: 403 Forbidden');
  expect(await status(407)).toBe(
    'proxy: The egress proxy refuses: 407 Proxy Authentication Required',
  );
  for (const [code, words] of [
    [502, 'Bad Gateway'],
    [503, 'Service Unavailable'],
    [504, 'Gateway Timeout'],
  ] as const) {
    expect(await status(code)).toBe(
      `connect: The egress proxy did not reach name.example: ${code} ${words}`,
    );
  }
});

test('asks for the next address of a name when the proxy did not reach one', async () => {
  const proxy = await startProxy((address) => (address === '127.0.0.2' ? 502 : undefined));
  const receiver = await receive({ behave: () => answer(200) });
  const sender = senderBy(proxy.url(), { lookup: async () => ['127.0.0.2', '127.0.0.1'] });
  expect(await send(sender, receiver.url('/', 'name.example'))).toMatchObject({ status: 200 });
  expect(proxy.asked.map(({ to }) => to.split(':')[0])).toEqual(['127.0.0.2', '127.0.0.1']);
});

test('a proxy that is gone, or is none, is named without its address', async () => {
  const gone = await startProxy();
  await closers.pop()?.();
  const dead = await send(senderBy(gone.url()), 'https://name.example/');
  expect(dead).toMatchObject({ failureClass: 'proxy', status: null });
  expect(dead.error).toBe('The egress proxy cannot be used (ECONNREFUSED)');
  const silent = await receive({
    behave:
      () =>
      ({ socket }) =>
        void socket.end('SSH-2.0\r\n\r\n'),
  });
  const none = await send(senderBy(`http://127.0.0.1:${silent.port}`), 'https://name.example/');
  expect(none.failureClass).toBe('proxy');
});

test('a tunnel that is not made in time fails with the time limit', async () => {
  const proxy = await startProxy(() => 'hang');
  const result = await send(senderBy(proxy.url(), { timeoutMillis: 500 }), 'https://name.example/');
  expect(result).toMatchObject({
    failureClass: 'timeout_connect',
    error: 'No connection to name.example within 0.5 s',
  });
});

test('a proxy that is killed amid an open tunnel, or while one is kept alive, fails one attempt, and the next works', async () => {
  let isSilent = true;
  const receiver = await receive({ behave: () => (isSilent ? () => {} : answer(204)) });
  const proxy = await startProxy();
  const sender = senderBy(proxy.url());
  const url = receiver.url('/', 'name.example');
  const under = send(sender, url);
  await receiver.waitFor(1);
  proxy.cut();
  expect(await under).toMatchObject({ status: null, failureClass: 'reset' });
  isSilent = false;
  expect(await send(sender, url)).toMatchObject({ status: 204 });
  proxy.cut();
  const after = [await send(sender, url), await send(sender, url)];
  expect(after.at(-1)).toMatchObject({ status: 204 });
  expect(proxy.asked.length).toBeGreaterThanOrEqual(3);
});

test('a certificate of the endpoint that has ended since fails the attempt, as a refusal of TLS does', async () => {
  const own = makeCertificate(['name.example']);
  const client = makeCertificate(['client'], { validUntil: new Date(Date.now() - 86_400_000) });
  const tls = { ...own, ca: client.cert, requestCert: true, rejectUnauthorized: true };
  const [proxy, receiver] = [await startProxy(), await receive({ tls })];
  const context = contextOf({ certificate: client.cert, key: client.key, ca: own.cert });
  const url = receiver.url('/', 'name.example');
  const { status, failureClass } = await send(senderBy(proxy.url()), url, {
    tls: { id: 'a', context },
  });
  expect([status, ['tls', 'reset'].includes(failureClass ?? '')]).toEqual([null, true]);
  expect(receiver.requests).toHaveLength(0);
});
