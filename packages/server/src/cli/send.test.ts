import { once } from 'node:events';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import { startReceiver } from './testing/receiver.ts';
import { ends, run } from './testing/run.ts';

test('pages come compressed, and over one connection', async () => {
  const sockets = new Set<Socket>();
  const texts = ['{"data":[{"id":"tok_1"}],"next_cursor":"c"}', '{"data":[],"next_cursor":null}'];
  const api = await startReceiver(({ socket, headers, url }, response) => {
    sockets.add(socket);
    expect(headers['accept-encoding']).toBe('gzip');
    response.setHeader('content-encoding', 'gzip');
    response.end(gzipSync(texts[url?.includes('cursor') ? 1 : 0] ?? ''));
  });
  onTestFinished(() => api.close());
  const listed = run(['exports', 'ls', '--json'], { env: api.env });
  await ends(listed, 0, '[\n{"id":"tok_1"}\n]\n');
  expect(sockets.size).toBe(1);
});

test('a refusal is told while the body is still being sent, and ends that', async () => {
  const api = await startReceiver((_request, response) => {
    response.writeHead(413, { 'content-type': 'application/problem+json' });
    response.end('{"code":"body_too_large","detail":"Too much."}');
  });
  onTestFinished(() => api.close());
  const endless = Readable.from(
    (function* lines() {
      for (;;) yield Buffer.alloc(65_536);
    })(),
  );
  await ends(run(['records', 'ingest', '-'], { env: api.env, stdin: endless }), 2, [
    'too much (413 body_too_large)',
  ]);
  // A source that nobody reads on is closed.
  if (!endless.closed) await once(endless, 'close');
});

test('a service that freezes is told also where the source was silent before', async () => {
  const api = await startReceiver((request) => request.resume());
  const timeouts = { silentMillis: 50 };
  let isAtEnd = false;
  const silent = Readable.from(
    (async function* lines() {
      yield Buffer.from('{}\n');
      // The silence of the socket is over before this one is: it began before.
      await delay(3 * timeouts.silentMillis);
      isAtEnd = true;
    })(),
  );
  const argv = ['records', 'ingest', '-'];
  await ends(run(argv, { env: api.env, stdin: silent, timeouts }), 5, ['no answer within 0.05 s']);
  // The silence of the source itself ended nothing.
  expect(isAtEnd).toBe(true);
  await api.close();
});

test('an answer that is cut is a connection that was cut', async () => {
  const api = await startReceiver((_request, response) => {
    response.writeHead(200, { 'content-length': '100' });
    response.write('{', () => response.destroy());
  });
  onTestFinished(() => api.close());
  await ends(run(['whoami'], { env: api.env }), 5, ['does not answer: the connection was cut']);
});
