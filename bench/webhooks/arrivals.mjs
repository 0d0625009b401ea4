import { createServer } from 'node:http';

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
  let statusOf = () => 204;
  server.keepAliveTimeout = 60_000;
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  scope.defer(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${server.address().port}`,
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
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  scope.defer(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${server.address().port}`;
}
