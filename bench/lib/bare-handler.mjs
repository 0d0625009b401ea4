/**
 * The other side of every page: a node:http server, a pool and JSON.stringify, with the service's own
 * statements and nothing else. Run as a child process: node bare-handler.mjs <database url>. Answers
 * `GET /<query>?<arguments as JSON>`.
 */
import { createServer } from 'node:http';
import { listen } from './listen.mjs';
import { listDatasets, listLeafDays, listRecords, openDatabase } from './product.mjs';

const db = openDatabase({ url: process.argv[2], maxConnections: 24, onError: () => {} });

const queries = {
  datasets: (level, filter, page) => listDatasets(db, level, filter, page),
  async datasetsWithDays(level, filter, page) {
    const rows = await listDatasets(db, level, filter, page);
    return { rows, days: await listLeafDays(db, rows.slice(0, page.limit - 1)) };
  },
  records: (slice, scan) => listRecords(db, slice, scan),
};

async function answer(request, response) {
  try {
    const [path, args] = request.url.split('?');
    const rows = await queries[path.slice(1)](...JSON.parse(decodeURIComponent(args)));
    const body = JSON.stringify(rows);
    response.writeHead(200, {
      'content-type': 'application/json; charset=utf-8',
      'content-length': Buffer.byteLength(body),
    });
    response.end(body);
  } catch (error) {
    response.writeHead(500);
    response.end(String(error.stack));
  }
}

const server = createServer((request, response) => void answer(request, response));
server.keepAliveTimeout = 72_000;
process.stdout.write(`${await listen(server)}\n`);
