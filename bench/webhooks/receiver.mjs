// A receiver as a process of its own: counts what comes and answers 204. GET /stats tells how many came,
// and when the first and the last of them, in milliseconds of its own clock; DELETE /stats begins anew.
import { createServer } from 'node:http';

let [count, first, last] = [0, 0, 0];
const ids = new Set();

const server = createServer((request, response) => {
  if (request.url === '/stats') {
    const stats = { count, distinct: ids.size, elapsedMs: last - first };
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
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`http://127.0.0.1:${server.address().port}\n`);
});
process.on('SIGTERM', () => process.exit(0));
