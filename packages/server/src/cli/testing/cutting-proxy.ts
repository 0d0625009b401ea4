import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A network that breaks: between the command line and the service itself. */
type CuttingProxy = {
  url: string;
  /** Connections that were cut. */
  cutCount(): number;
  close(): Promise<void>;
};

/** Passes on bytes; cuts the connections whose request begins so, after as many bytes of the answer. */
export async function startCuttingProxy(
  target: string,
  { cuts, after }: { cuts: RegExp; after: (connection: number) => number },
): Promise<CuttingProxy> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let connections = 0;
  let cutCount = 0;
  const server = createServer((near) => {
    const far = connect(Number(port), hostname);
    let left = Number.POSITIVE_INFINITY;
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        sockets.delete(socket);
        near.destroy();
        far.destroy();
      });
    }
    near.on('data', (piece) => {
      if (cuts.test(piece.toString('latin1'))) {
        left = after(connections);
        connections += 1;
      }
      far.write(piece);
    });
    far.on('data', (piece) => {
      const passed = piece.subarray(0, left);
      left -= passed.length;
      if (left > 0) near.write(passed);
      else {
        cutCount += 1;
        far.destroy();
        near.end(passed);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cutCount: () => cutCount,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
