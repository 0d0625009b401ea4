import { createServer } from 'node:http';
import pg from 'pg';
import { listen } from './listen.mjs';

/**
 * The other side of small writes: a node:http server that stores each request with one durable INSERT, and checks and
 * counts nothing. For a script of its own, which is given the database's URL; it prints its origin.
 */
export async function serveInserts({ text, valuesOf, answer }) {
  const pool = new pg.Pool({ connectionString: process.argv[2], max: 16 });
  const store = async (body, response) => {
    try {
      await pool.query({ name: 'insert', text, values: valuesOf(JSON.parse(body)) });
      response.writeHead(200, {
        'content-type': 'application/json',
        'content-length': answer.length,
      });
      response.end(answer);
    } catch (error) {
      response.writeHead(500).end(String(error.stack));
    }
  };
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (piece) => {
      body += piece;
    });
    request.on('end', () => void store(body, response));
  });
  server.keepAliveTimeout = 72_000;
  process.stdout.write(`${await listen(server)}\n`);
}
