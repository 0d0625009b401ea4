import { connect, createServer } from 'node:net';
import { listen } from '../../../test/listen.ts';

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
  let connections = 0;
  let cutCount = 0;
  const server = createServer((near) => {
    const far = connect(Number(port), hostname);
    let left = Number.POSITIVE_INFINITY;
    for (const socket of [near, far]) {
      socket.on('error', () => {});
      socket.on('close', () => {
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
  const { port: own, close } = await listen(server);
  return { url: `http://127.0.0.1:${own}`, cutCount: () => cutCount, close };
}
