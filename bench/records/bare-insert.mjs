/**
 * The other side of single records: a node:http server that stores the one record of a request with one durable INSERT,
 * and checks and counts nothing. Run as a child process: node bare-insert.mjs <database url>.
 */
import { createServer } from 'node:http';
import pg from 'pg';
import { listen } from '../lib/listen.mjs';

const pool = new pg.Pool({ connectionString: process.argv[2], max: 16 });
const insert = {
  name: 'insert',
  text: `insert into bare_records (tenant, store, occurred_at, event_id, recorded_at, kind, source, bytes, digest, enrichment)
    values ($1, $2, $3, $4, now(), $5, $6, 0, 0, $7)`,
};

async function answer(text, response) {
  try {
    const [record] = JSON.parse(text).records;
    const { tenant, store, occurred_at, event_id, kind, source, enrichment } = record;
    const values = [tenant, store, occurred_at, event_id, kind, source, JSON.stringify(enrichment)];
    await pool.query({ ...insert, values });
    const body = '{"accepted":1}';
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length });
    response.end(body);
  } catch (error) {
    response.writeHead(500).end(String(error.stack));
  }
}

const server = createServer((request, response) => {
  let text = '';
  request.setEncoding('utf8').on('data', (piece) => {
    text += piece;
  });
  request.on('end', () => void answer(text, response));
});
server.keepAliveTimeout = 72_000;
process.stdout.write(`${await listen(server)}\n`);
