import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { afterEach, describe, expect, test } from 'vitest';
import { listen } from '../../../test/listen.ts';
import {
  answer,
  type Behaviour,
  delayed,
  drip,
  endlessBody,
  endlessHeaders,
  gzipBomb,
  hang,
  raw,
  reset,
  startReceiver,
} from '../../../test/receiver.ts';
import { createLog } from '../../platform/log.ts';
import { type Closers, closeAll } from '../../platform/work/stop.ts';
import { createSender, type SenderOptions } from './sender.ts';

const closing: Closers = [];
afterEach(() => closeAll(closing, createLog('silent')));

function send(url: string, options: Partial<SenderOptions> = {}) {
  const sender = createSender({ timeoutMillis: 10_000, allowTargets: ['127.0.0.0/8'], ...options });
  closing.push(() => sender.close());
  return sender.send({ url, body: '{}', headers: { 'webhook-id': 'msg_1' } });
}

async function outcomeOf(behaviour: Behaviour, options: Partial<SenderOptions> = {}) {
  const receiver = await startReceiver({ behave: () => behaviour });
  closing.push(() => receiver.close());
  return await send(receiver.url(), options);
}

const ok = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';
const early = 'HTTP/1.1 103 Early Hints\r\nlink: </a>; rel=preload\r\n\r\n';
const goOn = 'HTTP/1.1 100 Continue\r\n\r\n';

describe('answers before the final one', () => {
  test.each([
    ['100 Continue', goOn],
    ['100 Continue with headers', 'HTTP/1.1 100 Go on\r\nx-a: HTTP/1.1 100\r\nx-b: c\r\n\r\n'],
    ['102 Processing', 'HTTP/1.1 102 Processing\r\n\r\n'],
    ['103 Early Hints', early],
    ['several of both', goOn + early + goOn + goOn + early],
  ])('%s is passed over', async (_name, interim) => {
    const inOnePiece = await outcomeOf(raw(interim + ok, { keepOpen: true }));
    const byteByByte = await outcomeOf(async ({ socket }) => {
      for (const byte of interim + ok) {
        socket.write(byte);
        await setImmediate();
      }
    });
    for (const result of [inOnePiece, byteByByte]) {
      expect(result).toMatchObject({ status: 200, failureClass: null, error: null });
      expect(result.response?.toString()).toBe('ok');
    }
  });

  test('are passed over on a connection that was used before, and nothing else is changed', async () => {
    const body = 'HTTP/1.1 100 Continue\r\n\r\n';
    const whole = `HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
    const receiver = await startReceiver({ behave: () => raw(goOn + whole, { keepOpen: true }) });
    closing.push(() => receiver.close());
    const sender = createSender({ timeoutMillis: 10_000, allowTargets: ['127.0.0.0/8'] });
    closing.push(() => sender.close());
    let sent = 0;
    for (let n = 1; n <= 3; n += 1) {
      const request = {
        url: receiver.url(),
        body: '{}',
        headers: {},
        onSent: () => {
          sent += 1;
        },
      };
      const result = await sender.send(request);
      expect(result).toMatchObject({ status: 200, failureClass: null });
      expect(result.response?.toString()).toBe(body);
      expect(sent).toBe(n);
    }
    expect(receiver.connections).toBe(1);
  });

  test.each([
    ['100', goOn],
    ['103', early],
  ])('fail the attempt when there are more than 20 of %s', async (_status, interim) => {
    const result = await outcomeOf(raw(interim.repeat(21) + ok, { keepOpen: true }));
    expect(result).toMatchObject({
      status: null,
      failureClass: 'protocol',
      error: 'The receiver sent more than 20 interim answers',
    });
  });
});

/** A port whose queue of connections is full: the kernel leaves the next one unanswered. */
async function listenWithoutAccepting(at: { host?: string; port?: number } = {}) {
  const { host = '127.0.0.1', port: wanted = 0 } = at;
  const worker = new Worker(
    `const { parentPort } = require('node:worker_threads');
     const server = require('node:net').createServer();
     server.listen({ port: ${wanted}, host: '${host}', backlog: 1 }, () => {
       parentPort.postMessage(server.address().port);
       Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
     });`,
    { eval: true },
  );
  const [port] = await once(worker, 'message');
  const queued = Array.from({ length: 8 }, () => connect(port, host).on('error', () => {}));
  await Promise.race(queued.map((socket) => once(socket, 'connect')));
  return {
    port,
    stop: async () => {
      for (const socket of queued) socket.destroy();
      await worker.terminate();
    },
  };
}

const short = { timeoutMillis: 300 };

describe('the one clock', () => {
  test('over the look-up of the name', async () => {
    const result = await send('https://silent.example/', {
      ...short,
      lookup: () => new Promise(() => {}),
    });
    expect(result).toMatchObject({ failureClass: 'timeout_dns', status: null });
    expect(result.error).toBe('silent.example was not looked up within 0.3 s');
  });

  test('over the connection', async () => {
    const { port, stop } = await listenWithoutAccepting();
    closing.push(stop);
    const result = await send(`http://127.0.0.1:${port}/`, short);
    expect(result).toMatchObject({ failureClass: 'timeout_connect', status: null });
    expect(result.error).toBe('No connection to 127.0.0.1 within 0.3 s');
  });

  test('over a name whose first addresses are silent, and leaves time for the next', async () => {
    const receiver = await startReceiver();
    closing.push(() => receiver.close());
    const silent = await Promise.all(
      ['127.0.0.2', '127.0.0.3'].map((host) =>
        listenWithoutAccepting({ host, port: receiver.port }),
      ),
    );
    closing.push(...silent.map(({ stop }) => stop));
    const lookup = async () => ['127.0.0.2', '127.0.0.3', '127.0.0.1'];
    const result = await send(receiver.url('/', 'three.example'), { timeoutMillis: 1500, lookup });
    expect(result).toMatchObject({ failureClass: null, status: 204 });
  });

  test('over TLS', async () => {
    const { port, close } = await listen(createServer());
    closing.push(close);
    const result = await send(`https://127.0.0.1:${port}/`, short);
    expect(result).toMatchObject({ failureClass: 'timeout_tls', status: null });
  });

  test.each([
    ['silence', hang()],
    ['an answer that comes too late', delayed(60_000, answer(200))],
    [
      'informational answers without end',
      raw('HTTP/1.1 103 Early Hints\r\n\r\n', { keepOpen: true }),
    ],
    ['half a status line', raw('HTTP/1.1 20', { keepOpen: true })],
    ['half of the headers', raw('HTTP/1.1 200 OK\r\nx-a: b\r\nx', { keepOpen: true })],
  ])('over the headers: %s', async (_name, behaviour) => {
    const result = await outcomeOf(behaviour, short);
    expect(result).toMatchObject({ failureClass: 'timeout_headers', status: null, response: null });
    expect(result.error).toBe('No answer within 0.3 s');
  });

  test.each([
    ['a drip', drip(20)],
    [
      'a body that stops',
      raw('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n....', { keepOpen: true }),
    ],
    [
      'a chunk extension without end',
      raw('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\n.\r\n1;x', { keepOpen: true }),
    ],
  ])('over the body, which changes nothing after a 200: %s', async (_name, behaviour) => {
    const result = await outcomeOf(behaviour, short);
    expect(result).toMatchObject({ failureClass: null, status: 200, error: null });
    expect(result.response?.toString()).toMatch(/^\.+$/);
  });

  test('a status that is no 2xx decides, though its body does not end', async () => {
    const slow = raw(
      'HTTP/1.1 503 Service Unavailable\r\nretry-after: 9\r\ncontent-length: 9\r\n\r\n....',
      { keepOpen: true },
    );
    expect(await outcomeOf(slow, short)).toMatchObject({
      failureClass: 'status',
      error: '503 Service Unavailable',
      status: 503,
      retryAfterSeconds: 9,
    });
    const gone = raw('HTTP/1.1 410 Gone\r\ncontent-length: 9\r\n\r\n....', { keepOpen: true });
    expect(await outcomeOf(gone, short)).toMatchObject({ failureClass: 'gone', status: 410 });
  });
});

describe('after a freeze', () => {
  /** A receiver in a thread of its own, which goes on while this one stands still. */
  async function listenElsewhere(status: string) {
    const worker = new Worker(
      `const { parentPort, workerData } = require('node:worker_threads');
       const server = require('node:net').createServer((socket) => socket.once('data', () => {
         parentPort.postMessage('asked');
         if (workerData !== '') socket.end('HTTP/1.1 ' + workerData + '\\r\\ncontent-length: 0\\r\\n\\r\\n');
       }));
       server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));`,
      { eval: true, workerData: status },
    );
    closing.push(() => worker.terminate());
    const [port] = await once(worker, 'message');
    return { url: `http://127.0.0.1:${port}/`, asked: once(worker, 'message') };
  }

  async function sendAndFreeze(status: string, freezeMillis: number) {
    const { url, asked } = await listenElsewhere(status);
    const result = send(url, short);
    await asked;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, freezeMillis);
    return await result;
  }

  test('an answer that lay in the socket counts, though the time is over', async () => {
    for (let n = 0; n < 2; n += 1) {
      expect(await sendAndFreeze('204 No Content', 500)).toMatchObject({ failureClass: null });
    }
  });

  test('a time-out says that the process slept through it', async () => {
    const slept = { failureClass: 'timeout_headers', isOverslept: true };
    expect(await sendAndFreeze('', 1500)).toMatchObject(slept);
    expect(await outcomeOf(hang(), short)).toMatchObject({ isOverslept: false });
  });
});

describe('answers that are none', () => {
  test.each([
    ['a reset', reset()],
    ['a closed connection', raw('')],
  ])('%s is reset', async (_name, behaviour) => {
    const result = await outcomeOf(behaviour);
    expect(result).toMatchObject({ failureClass: 'reset', status: null, response: null });
  });

  test.each([
    ['headers without end', endlessHeaders()],
    ['a header of 100 KB', answer(200, { headers: { 'x-large': 'l'.repeat(100_000) } })],
    ['no HTTP at all', raw('SSH-2.0-OpenSSH_9.6\r\n')],
    ['HTTP/0.9', raw('hello')],
    ['a status that is no number', raw('HTTP/1.1 abc OK\r\n\r\n')],
    ['a line break inside a header name', raw('HTTP/1.1 200 OK\r\na b: c\r\n\r\n')],
    ['two lengths', raw('HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n..')],
    ['a length that is no number', raw('HTTP/1.1 200 OK\r\ncontent-length: abc\r\n\r\n')],
    [
      'length and chunks',
      raw('HTTP/1.1 200 OK\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n'),
    ],
    [
      'another protocol',
      raw('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'),
    ],
  ])('%s is protocol', async (_name, behaviour) => {
    const result = await outcomeOf(behaviour);
    expect(result).toMatchObject({ failureClass: 'protocol', status: null, response: null });
  });

  test.each([
    ['short of its length', 'content-length: 9\r\n\r\n....'],
    ['inside a chunk', 'transfer-encoding: chunked\r\n\r\n9\r\n....'],
    ['between chunks', 'transfer-encoding: chunked\r\n\r\n4\r\n....\r\n'],
    ['by a reset', 'content-length: 9\r\n\r\n....', 'reset'],
    ['by nonsense', 'transfer-encoding: chunked\r\n\r\n4\r\n....\r\nnonsense\r\n'],
  ])('a 2xx is a delivery, though its body breaks off %s', async (_name, rest, end = 'close') => {
    const head = `HTTP/1.1 200 OK\r\n${rest}`;
    const result = await outcomeOf(
      end === 'close'
        ? raw(head)
        : ({ socket }) => {
            socket.write(head, () => socket.resetAndDestroy());
          },
    );
    expect(result).toMatchObject({ failureClass: null, error: null, status: 200 });
    // A reset may overtake what was sent before it.
    if (end === 'close') expect(result.response?.toString()).toBe('....');
  });

  test('a broken body after an error status changes nothing', async () => {
    const result = await outcomeOf(raw('HTTP/1.1 500 Oh No\r\ncontent-length: 9\r\n\r\n....'));
    expect(result).toMatchObject({ failureClass: 'status', error: '500 Oh No' });
    expect(result.response?.toString()).toBe('....');
  });

  test('an answer that ends with its connection is whole', async () => {
    const result = await outcomeOf(raw('HTTP/1.0 200 OK\r\n\r\nall of it'));
    expect(result).toMatchObject({ failureClass: null, status: 200 });
    expect(result.response?.toString()).toBe('all of it');
  });
});

describe('what is kept of an answer', () => {
  const text = Array.from({ length: 2000 }, (_, n) => `line ${n}`).join('\n');

  test.each([
    ['as it is', undefined, Buffer.from(text)],
    ['gzip', 'gzip', gzipSync(text)],
    ['X-GZIP', 'X-GZIP', gzipSync(text)],
    ['deflate', 'deflate', deflateSync(text)],
    ['deflate without its header', 'deflate', deflateRawSync(text)],
    ['brotli', 'br', brotliCompressSync(text)],
  ])('its first 4 KiB: %s', async (_name, coding, body) => {
    const headers: Record<string, string> =
      coding === undefined ? {} : { 'content-encoding': coding };
    const result = await outcomeOf(answer(200, { headers, body }));
    expect(result.failureClass).toBeNull();
    expect(result.response?.toString()).toBe(text.slice(0, 4096));
  });

  test('all of a small one; nothing of none', async () => {
    expect((await outcomeOf(answer(200, { body: 'ok' }))).response?.toString()).toBe('ok');
    expect((await outcomeOf(answer(200))).response).toBeNull();
    const headers = { 'content-encoding': 'gzip' };
    expect((await outcomeOf(answer(200, { headers }))).response).toBeNull();
  });

  test('an unknown coding is kept as it came, a corrupt one as far as it goes', async () => {
    const unknown = answer(200, { headers: { 'content-encoding': 'zstd' }, body: 'raw' });
    expect((await outcomeOf(unknown)).response?.toString()).toBe('raw');
    const corrupt = answer(200, { headers: { 'content-encoding': 'gzip' }, body: 'no gzip' });
    expect(await outcomeOf(corrupt)).toMatchObject({ failureClass: null, response: null });
  });

  test.each([
    ['gzip', gzipSync(text)],
    ['deflate', deflateSync(text)],
    ['br', brotliCompressSync(text)],
  ])('of a compressed one that breaks off, what can be read: %s', async (coding, body) => {
    const start = body.subarray(0, body.length / 8).toString('latin1');
    const head = `HTTP/1.1 200 OK\r\ncontent-encoding: ${coding}\r\ncontent-length: 99999\r\n\r\n`;
    const result = await outcomeOf(raw(head + start));
    expect(result.failureClass).toBeNull();
    expect(text.startsWith(result.response?.toString() ?? 'nothing')).toBe(true);
  });

  test('4 KiB of a gzip bomb', async () => {
    const result = await outcomeOf(gzipBomb(8 * 2 ** 20));
    expect(result).toMatchObject({ failureClass: null, status: 200 });
    expect(result.response?.toString()).toBe('z'.repeat(4096));
  });

  test.each([
    [200, null],
    [500, 'status'],
  ])(
    'of a body without end, 64 KiB are read; then the status, %i, decides',
    async (status, failureClass) => {
      const result = await outcomeOf(endlessBody(status));
      expect(result).toMatchObject({ status, failureClass });
      expect(result.response?.toString()).toBe('b'.repeat(4096));
    },
  );
});
