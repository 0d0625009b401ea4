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
