import { createServer } from 'node:http';
import { listen } from '../../bench/lib/listen.mjs';

/** What all endpoints of /throttled may send together; the load makes more. */
const throttledPerSecond = 30;

/**
 * A receiver that notes what came for each webhook-id. Most requests are answered 204, some 500, some
 * late, some by a reset; those to /failing all 500, and those to /throttled 429 once it has taken so many of them in a
 * second. `heal` ends all that.
 */
export async function startReceiver(scope) {
  /** webhook-id → its body, how many requests, how many of them taken with a 2xx, whether bodies differed */
  const deliveries = new Map();
  let accepted = 0;
  let isHealed = false;
  let refused = 0;
  let [second, taken] = [0, 0];

  const isTooMuch = () => {
    const now = Math.floor(performance.now() / 1000);
    if (now !== second) [second, taken] = [now, 0];
    taken += 1;
    return taken > throttledPerSecond;
  };
  const take = async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const id = request.headers['webhook-id'];
    const body = Buffer.concat(chunks).toString();
    const noted = deliveries.get(id) ?? { body, requests: 0, accepted: 0, differs: false };
    deliveries.set(id, noted);
    noted.requests += 1;
    noted.differs ||= noted.body !== body;
    // It has taken the event, whether or not its answer arrives.
    const accept = (millis = 0) => {
      noted.accepted += 1;
      accepted += 1;
      if (millis === 0) response.writeHead(204).end();
      else setTimeout(() => response.writeHead(204).end(), millis);
    };
    const chance = Math.random();
    if (isHealed) accept();
    else if (request.url === '/throttled' && isTooMuch()) {
      refused += 1;
      response.writeHead(429, { 'retry-after': '1' }).end('too much');
    } else if (request.url === '/failing' || chance < 0.05) response.writeHead(500).end('not now');
    else if (chance < 0.08) request.socket.resetAndDestroy();
    else if (chance < 0.3) accept(Math.random() * 800);
    else accept();
  };
  const server = createServer((request, response) => {
    // A request that breaks off has come to nothing: its sender was killed.
    take(request, response).catch(() => {});
  });
  server.on('clientError', (_error, socket) => socket.destroy());
  const origin = await listen(server);
  scope.defer(
    () =>
      new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      }),
  );
  return {
    url: (path) => `${origin}${path}`,
    deliveries,
    accepted: () => accepted,
    refused: () => refused,
    heal() {
      isHealed = true;
    },
  };
}
