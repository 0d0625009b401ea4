import { createServer } from 'node:http';
import { listen } from '../lib/listen.mjs';

/**
 * A receiver in this process, so that sending and receiving are read off one clock. `arrivalOf(key)`
 * resolves to the moment a webhook came; the key is `data.key` of its payload.
 */
export async function startArrivals(scope) {
  const arrived = new Map();
  const waiting = new Map();
  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (piece) => {
      text += piece;
    });
    request.on('end', () => {
      const at = performance.now();
      response.writeHead(statusOf(request), { connection: 'keep-alive' }).end();
      const { key } = JSON.parse(text).data;
      if (!arrived.has(key)) arrived.set(key, at);
      waiting.get(key)?.(at);
    });
  });
  /** @type {(request: import('node:http').IncomingMessage) => number} */
  let statusOf = () => 204;
  server.keepAliveTimeout = 60_000;
  const url = await listen(server);
  scope.defer(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url,
    answer(next) {
      statusOf = next;
    },
    forget: (key) => arrived.delete(key),
    arrivalOf: (key) =>
      arrived.has(key)
        ? Promise.resolve(arrived.get(key))
        : new Promise((resolve) => waiting.set(key, resolve)),
  };
}

/** A receiver that takes everything in and never answers. */
export async function startBlackHole(scope) {
  const server = createServer((request) => request.resume());
  const url = await listen(server);
  scope.defer(() => {
    server.closeAllConnections();
    server.close();
  });
  return url;
}
