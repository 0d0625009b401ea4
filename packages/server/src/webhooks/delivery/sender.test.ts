import { connect, createServer, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { hold } from '../../../test/held-pace.ts';
import { listen } from '../../../test/listen.ts';
import {
  after,
  answer,
  type Behaviour,
  hang,
  inTurn,
  makeCertificate,
  type Receiver,
  type ReceiverOptions,
  raw,
  redirect,
  reset,
  startReceiver,
} from '../../../test/receiver.ts';
import { createLog } from '../../platform/log.ts';
import { type Closers, closeAll } from '../../platform/work/stop.ts';
import { createAddressRule } from './address.ts';
import { createConnectionPool } from './connection-pool.ts';
import { Attempt, createSender, type Sender, type SenderOptions } from './sender.ts';
import { createTarget } from './target.ts';

const closing: Closers = [];
afterEach(() => closeAll(closing, createLog('silent')));

async function receive(options: ReceiverOptions = {}): Promise<Receiver> {
  const receiver = await startReceiver(options);
  closing.push(() => receiver.close());
  return receiver;
}

function sender(options: Partial<SenderOptions> = {}): Sender {
  const made = createSender({ timeoutMillis: 10_000, allowTargets: ['127.0.0.0/8'], ...options });
  closing.push(() => made.close());
  return made;
}

/** The first byte of a record of TLS with the beginning of a handshake. */
const hello = 22;

const post = (url: string, id = 'msg_1') => ({
  url,
  body: '{"a":1}',
  headers: { 'webhook-id': id },
});

/** What comes of one request that is answered so. */
async function outcomeOf(behaviour: Behaviour, options: Partial<SenderOptions> = {}) {
  const receiver = await receive({ behave: () => behaviour });
  return await sender(options).send(post(receiver.url()));
}

/** A port that nobody listens on. */
async function closedPort(): Promise<number> {
  const receiver = await startReceiver();
  await receiver.close();
  return receiver.port;
}

/** A TCP server that does this with each connection. */
async function listenTcp(onSocket: (socket: Socket) => void): Promise<number> {
  const { port, close } = await listen(createServer(onSocket));
  closing.push(close);
  return port;
}

test.each(['not a url', 'ftp://127.0.0.1/', 'https://user:secret@127.0.0.1/'])(
  '%s is unsendable',
  async (url) => {
    const result = await sender().send(post(url));
    expect(result).toMatchObject({ status: null, failureClass: 'unsendable', response: null });
    expect(result.error).not.toContain('secret');
  },
);

test.each([
  ['line\r\nbreak', 'x-a'],
  ['ščř', 'x-a'],
  ['value', 'bad name'],
])('a header that HTTP cannot carry is unsendable: %j', async (value, name) => {
  const receiver = await receive();
  const result = await sender().send({
    url: receiver.url(),
    body: '{}',
    headers: { [name]: value },
  });
  expect(result).toMatchObject({ failureClass: 'unsendable', status: null });
  expect(receiver.requests).toHaveLength(0);
});

test.each(['http://127.0.0.1', 'https://127.0.0.1', 'http://2130706433', 'http://[::ffff:7f00:1]'])(
  '%s is blocked and never connected to without an allow list',
  async (origin) => {
    const receiver = await receive();
    const url = `${origin}:${receiver.port}/`;
    const result = await sender({ allowTargets: [] }).send(post(url));
    expect(result).toMatchObject({ failureClass: 'blocked', status: null });
    expect(result.error).toMatch(/not a public address/);
    expect(receiver.connections).toBe(0);
  },
);

test('one private address among those of a name blocks it', async () => {
  const receiver = await receive();
  const lookup = async () => ['127.0.0.1', '10.0.0.1'];
  const result = await sender({ lookup }).send(post(receiver.url('/', 'mixed.example')));
  expect(result.failureClass).toBe('blocked');
  // It is stored, and read by admins of the tenant.
  expect(result.error).toContain('mixed.example leads to an address that is not public');
  expect(result.error).not.toContain('10.0.0.1');
  expect(receiver.connections).toBe(0);
});

test('a name inside the allow list whose receiver is down does not tell its address', async () => {
  const receiver = await receive();
  await receiver.close();
  const named = await sender({ lookup: async () => ['127.0.0.1'] }).send(
    post(`http://inside.example:${receiver.port}/`),
  );
  expect(named).toMatchObject({ failureClass: 'connect', error: 'connect ECONNREFUSED' });
  const literal = await sender().send(post(`http://127.0.0.1:${receiver.port}/`));
  expect(literal.error).toBe(`connect ECONNREFUSED 127.0.0.1:${receiver.port}`);
});

test('http to a public address is blocked', async () => {
  const result = await sender({ lookup: async () => ['93.184.215.14'] }).send(
    post('http://public.example/'),
  );
  expect(result.failureClass).toBe('blocked');
  expect(result.error).toContain('http');
});

test('a name that turns private after the check is blocked', async () => {
  const receiver = await receive();
  const answers = [['93.184.215.14'], ['127.0.0.1']];
  let asked = 0;
  const lookup = async () => answers[asked++] ?? [];
  const url = receiver.url('/', 'rebind.example').replace('http:', 'https:');
  await createTarget({ allowTargets: [], lookup }).assertAllowed(url, { tenants: null });
  const result = await sender({ allowTargets: [], lookup }).send(post(url));
  expect(result.failureClass).toBe('blocked');
  expect(asked).toBe(2);
  expect(receiver.connections).toBe(0);
});

test('a connection goes to the address that was vetted, with the name as its host', async () => {
  const receiver = await receive();
  let asked = 0;
  const lookup = async () => {
    asked += 1;
    return ['127.0.0.1'];
  };
  const made = sender({ lookup });
  // Node would look this name up a second time, and fail, if it were not pinned.
  for (let n = 0; n < 3; n += 1) {
    expect((await made.send(post(receiver.url('/', 'nowhere.invalid')))).failureClass).toBeNull();
  }
  expect(asked).toBe(1);
  expect(receiver.connections).toBe(1);
  expect(receiver.requests[0]?.headers.host).toBe(`nowhere.invalid:${receiver.port}`);
});

test('the second address of a name is tried when the first refuses', async () => {
  const receiver = await receive();
  const lookup = async () => ['127.0.0.9', '127.0.0.1'];
  const result = await sender({ lookup }).send(post(receiver.url('/', 'two.example')));
  expect(result.failureClass).toBeNull();
});

test.each([300, 301, 302, 303, 304, 307, 308])(
  '%i is a failure and not followed',
  async (status) => {
    const elsewhere = await receive();
    const result = await outcomeOf(redirect(elsewhere.url('/private'), status));
    expect(result).toMatchObject({ status, failureClass: 'redirect' });
    expect(result.error).toContain(`to ${elsewhere.url('/private')}: redirects are not followed`);
    expect(elsewhere.connections).toBe(0);
  },
);

test.each([
  [400, 'status', '400 Bad Request'],
  [404, 'status', '404 Not Found'],
  [410, 'gone', '410 Gone'],
  [429, 'status', '429 Too Many Requests'],
  [500, 'status', '500 Internal Server Error'],
  [503, 'status', '503 Service Unavailable'],
  [599, 'status', '599 unknown'],
])('%i is %s', async (status, failureClass, error) => {
  const result = await outcomeOf(answer(status, { body: 'why' }));
  expect(result).toMatchObject({ status, failureClass, error });
  expect(result.response?.toString()).toBe('why');
});

test('an error text is one line of 300 characters at most', async () => {
  const reason = `\u0007bad\tthing ${'x'.repeat(500)}`;
  const { error } = await outcomeOf(raw(`HTTP/1.1 500 ${reason}\r\ncontent-length: 0\r\n\r\n`));
  expect(error?.length).toBeLessThanOrEqual(300);
  expect(error).not.toMatch(/\p{Cc}/u);
});

test.each([
  [429, '17', 17],
  [503, '999999', 86_400],
  [503, 'Thu, 05 Mar 2026 14:01:00 GMT', 60],
  [503, 'later', null],
  [500, '17', null],
  [200, '17', null],
])('%i with Retry-After %s waits %s', async (status, value, seconds) => {
  const clock = () => Date.parse('2026-03-05T14:00:00Z');
  const behaviour = answer(status, { headers: { 'Retry-After': value } });
  const result = await outcomeOf(behaviour, { clock });
  expect(result.retryAfterSeconds).toBe(seconds);
});

test('a refused connection and a name that is not found are told apart', async () => {
  const refused = await sender().send(post(`http://127.0.0.1:${await closedPort()}/`));
  expect(refused).toMatchObject({ failureClass: 'connect', status: null });
  expect(refused.error).toContain('ECONNREFUSED');
  const unknown = await sender().send(post('https://nowhere.invalid/'));
  expect(unknown).toMatchObject({ failureClass: 'dns', status: null });
  expect(unknown.error).toContain('nowhere.invalid');
  const empty = await sender({ lookup: async () => [] }).send(post('https://empty.example/'));
  expect(empty.failureClass).toBe('dns');
});

test.each([200, 201, 202, 204, 299])('%i is delivered', async (status) => {
  const result = await outcomeOf(answer(status));
  expect(result).toMatchObject({
    status,
    failureClass: null,
    error: null,
    retryAfterSeconds: null,
  });
  expect(Number.isInteger(result.durationMillis)).toBe(true);
});

test('what is sent arrives to the letter', async () => {
  const receiver = await receive();
  const body = '{"data":"Grüße 🎉"}';
  await sender().send({ ...post(receiver.url('/hook?a=b')), body });
  const arrived = { method: 'POST', path: '/hook?a=b', body, id: 'msg_1' };
  expect(await receiver.waitFor(1)).toMatchObject([arrived]);
});

test('requests one after the other share a connection, requests at once do not', async () => {
  const receiver = await receive();
  const made = sender();
  for (let n = 0; n < 5; n += 1) await made.send(post(receiver.url()));
  expect(receiver.connections).toBe(1);
  const held = hold();
  receiver.behave(() => after(held.promise, answer(200)));
  const sent = Array.from({ length: 4 }, (_, n) => made.send(post(receiver.url(), `msg_${n}`)));
  await receiver.waitFor(9);
  held.resolve();
  expect((await Promise.all(sent)).map((result) => result.failureClass)).toEqual(
    Array(4).fill(null),
  );
  expect(receiver.connections).toBe(4);
});

test('no more connections stay idle than asked for', async () => {
  const first = await receive();
  const second = await receive();
  const made = sender({ maxIdle: 1 });
  await made.send(post(first.url()));
  await made.send(post(second.url()));
  await made.send(post(first.url()));
  expect(first.connections).toBe(2);
});

test('an idle connection that the receiver has closed costs no attempt', async () => {
  const receiver = await receive();
  const made = sender();
  await made.send(post(receiver.url()));
  receiver.closeIdle();
  expect((await made.send(post(receiver.url()))).failureClass).toBeNull();
  expect(receiver.connections).toBe(2);
});

test('a used connection that is reset before an answer is replaced once', async () => {
  const receiver = await receive({ behave: inTurn(answer(200), reset(), answer(200)) });
  const made = sender();
  await made.send(post(receiver.url(), 'msg_1'));
  expect((await made.send(post(receiver.url(), 'msg_2'))).failureClass).toBeNull();
  expect(receiver.requests.map((request) => request.id)).toEqual(['msg_1', 'msg_2', 'msg_2']);
  expect(receiver.duplicates).toBe(1);
  receiver.behave(reset);
  expect((await made.send(post(receiver.url(), 'msg_3'))).failureClass).toBe('reset');
  expect(receiver.requests).toHaveLength(5);
});

test('a failure leaves no trace on the next request', async () => {
  const receiver = await receive({
    behave: inTurn(reset(), raw('nonsense'), answer(503), answer(200)),
  });
  const made = sender();
  const classes = [];
  for (let n = 0; n < 4; n += 1) classes.push((await made.send(post(receiver.url()))).failureClass);
  expect(classes).toEqual(['reset', 'protocol', 'status', null]);
});

test('an attempt that waits for one receiver does not delay another', async () => {
  const dead = await receive({ behave: hang });
  const alive = await receive();
  const made = sender({ timeoutMillis: 2000 });
  const lost = Array.from({ length: 50 }, () => made.send(post(dead.url())));
  await dead.waitFor(50);
  expect((await made.send(post(alive.url()))).failureClass).toBeNull();
  expect(
    (await Promise.all(lost)).every((result) => result.failureClass === 'timeout_headers'),
  ).toBe(true);
});

test('closing waits for the attempts under way and ends the idle connections', async () => {
  const receiver = await receive();
  const made = createSender({ timeoutMillis: 10_000, allowTargets: ['127.0.0.0/8'] });
  const held = hold();
  receiver.behave(() => after(held.promise, answer(200)));
  const order: string[] = [];
  const sent = made.send(post(receiver.url())).then((result) => {
    order.push(String(result.failureClass));
  });
  await receiver.waitFor(1);
  const closed = Promise.all([made.close(), made.close()]).then(() => order.push('closed'));
  held.resolve();
  await Promise.all([sent, closed]);
  expect(order).toEqual(['null', 'closed']);
});

test('TLS: a delivery over a trusted certificate is kept alive and names the host', async () => {
  const tls = makeCertificate(['hooks.example']);
  const receiver = await receive({ tls });
  const made = sender({ ca: tls.cert, lookup: async () => ['127.0.0.1'] });
  for (let n = 0; n < 3; n += 1) {
    const result = await made.send(post(receiver.url('/', 'hooks.example')));
    expect(result).toMatchObject({ failureClass: null, status: 204 });
  }
  expect(receiver.connections).toBe(1);
});

test('TLS: an untrusted, an expired and a wrong certificate fail with a readable reason', async () => {
  const lookup = async () => ['127.0.0.1'];
  const tls = makeCertificate(['hooks.example']);
  const receiver = await receive({ tls });
  const untrusted = await sender({ lookup }).send(post(receiver.url('/', 'hooks.example')));
  expect(untrusted).toMatchObject({
    failureClass: 'tls',
    error: 'TLS failed: self-signed certificate',
  });
  const wrong = await sender({ lookup, ca: tls.cert }).send(
    post(receiver.url('/', 'other.example')),
  );
  expect(wrong.failureClass).toBe('tls');
  expect(wrong.error).toContain('other.example');
  const old = makeCertificate(['hooks.example'], { validUntil: new Date(Date.now() - 86_400_000) });
  const expired = await sender({ lookup, ca: old.cert }).send(
    post((await receive({ tls: old })).url('/', 'hooks.example')),
  );
  expect(expired).toMatchObject({
    failureClass: 'tls',
    error: 'TLS failed: certificate has expired',
  });
  expect(receiver.requests).toHaveLength(0);
});

test('TLS: a plain port and a port that hangs up are tls', async () => {
  const plain = await receive();
  const url = plain.url().replace('http:', 'https:');
  const result = await sender().send(post(url));
  expect(result.failureClass).toBe('tls');
  const port = await listenTcp((socket) => socket.destroy());
  expect((await sender().send(post(`https://127.0.0.1:${port}/`))).failureClass).toBe('tls');
});

test('TLS: a refusal that comes after the handshake, as of a client certificate, is told', async () => {
  const tls = makeCertificate(['hooks.example']);
  const receiver = await receive({ tls });
  const port = await listenTcp((socket) => {
    const inner = connect(receiver.port, '127.0.0.1');
    closing.push(async () => void inner.destroy());
    inner.on('data', (data) => socket.write(data)).on('error', () => {});
    // For the sender the handshake has ended by then. It gets an alert, and the end of the connection.
    socket.on('data', (data) => {
      if (data[0] === hello) inner.write(data);
      else socket.end(Buffer.from([21, 3, 3, 0, 2, 2, 116]));
    });
  });
  const made = sender({ ca: tls.cert, lookup: async () => ['127.0.0.1'] });
  const result = await made.send(post(`https://hooks.example:${port}/`));
  expect(result).toMatchObject({
    failureClass: 'tls',
    error: expect.stringMatching(/^TLS failed: /),
  });
});

test('a cut ends what is not answered, and keeps a status whose body has not ended', async () => {
  const receiver = await receive({ behave: () => hang() });
  const made = sender();
  const sent = made.send(post(receiver.url()));
  await receiver.waitFor(1);
  made.cut();
  expect(await sent).toMatchObject({ status: null, isCut: true });

  // As undici tells it.
  const pool = createConnectionPool({
    rule: createAddressRule([]),
    lookup: async () => [],
    ca: undefined,
    maxIdle: 1,
  });
  const options = { pool, timeoutMillis: 10_000, clock: Date.now };
  const results = [200, 410].map(
    (status) =>
      new Promise((resolve) => {
        const attempt = new Attempt(options, post(receiver.url()), resolve);
        attempt.onHeaders(status, [], () => {}, '');
        attempt.cut();
      }),
  );
  expect(await Promise.all(results)).toMatchObject([
    { status: 200, failureClass: null, isCut: false },
    { status: 410, failureClass: 'gone', isCut: false },
  ]);
});
