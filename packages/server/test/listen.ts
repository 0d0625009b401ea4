import type { AddressInfo, Server, Socket } from 'node:net';

/** Has a server listen on a free port of this machine. `close` ends it, and all its connections. */
export async function listen(
  server: Server,
): Promise<{
  readonly port: number;
  readonly sockets: Set<Socket>;
  readonly close: () => Promise<void>;
}> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => {}).once('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    sockets,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
