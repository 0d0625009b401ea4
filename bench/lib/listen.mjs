import { createServer } from 'node:http';

/**
 * Listens on a free port of this machine; answers the server's origin.
 *
 * @param {import('node:net').Server} server
 */
export async function listen(server) {
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port to listen on');
  return `http://127.0.0.1:${address.port}`;
}

/**
 * Starts an HTTP server that keeps connections alive and ends with the scope; answers its origin.
 *
 * @param {any} scope
 * @param {(request: import('node:http').IncomingMessage, response: import('node:http').ServerResponse) => unknown} onRequest
 */
export async function serve(scope, onRequest) {
  const server = createServer((request, response) => void onRequest(request, response));
  server.keepAliveTimeout = 72_000;
  scope.defer(() => {
    server.closeAllConnections();
    server.close();
  });
  return listen(server);
}

/**
 * Reads a request to its end.
 *
 * @param {import('node:http').IncomingMessage} request
 * @returns {Promise<string>}
 */
export function bodyOf(request) {
  return new Promise((resolve) => {
    let text = '';
    request.setEncoding('utf8').on('data', (piece) => {
      text += piece;
    });
    request.on('end', () => resolve(text));
  });
}
