// A receiver as a process of its own: counts what comes and answers 204. GET /stats tells how many came,
// and when the first and the last of them, in milliseconds of its own clock; DELETE /stats begins anew.
import { createServer } from 'node:http';
import { listen } from '../lib/listen.mjs';

let [count, first, last] = [0, 0, 0];
const ids = new Set();

const server = createServer((request, response) => {
  if (request.url === '/stats') {
    const stats = { count, distinct: ids.size, elapsedMillis: last - first };
    if (request.method === 'DELETE') {
      [count, first, last] = [0, 0, 0];
      ids.clear();
    }
    response.end(JSON.stringify(stats));
    return;
  }
  request.resume();
  request.on('end', () => {
    count += 1;
    ids.add(request.headers['webhook-id']);
    last = performance.now();
    if (count === 1) first = last;
    response.writeHead(204).end();
  });
});
server.keepAliveTimeout = 60_000;
process.stdout.write(`${await listen(server)}\n`);
process.on('SIGTERM', () => process.exit(0));
