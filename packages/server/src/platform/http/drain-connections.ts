import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Makes a server end without cutting a request: `drain` closes at once every connection that carries
 * none, and each other one after its answer. Node's own closeIdleConnections overlooks connections that
 * never sent a request, and leaves those that finish later open until their keep-alive ends.
 */
export function trackConnections(server: Server): { drain(): void } {
  /** Requests under way on each open connection. */
  const busy = new Map<Socket, number>();
  let isDraining = false;

  server.on('connection', (socket: Socket) => {
    busy.set(socket, 0);
    socket.once('close', () => busy.delete(socket));
  });
  server.on('request', (request, response) => {
    const { socket } = request;
    busy.set(socket, (busy.get(socket) ?? 0) + 1);
    response.once('close', () => {
      const left = (busy.get(socket) ?? 1) - 1;
      if (!busy.has(socket)) return;
      busy.set(socket, left);
      // Ends after what is still on its way out.
      if (isDraining && left === 0) socket.end();
    });
  });
  return {
    drain() {
      isDraining = true;
      for (const [socket, requests] of busy) if (requests === 0) socket.destroy();
    },
  };
}
