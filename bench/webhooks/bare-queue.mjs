/** The other side of reporting incidents: a job queue's table. Run as a child process: node bare-queue.mjs <database url>. */
import { serveInserts } from '../lib/insert-server.mjs';

await serveInserts({
  text: `insert into bare_jobs (name, data) values ($1, $2) returning id`,
  valuesOf: ({ tenant, type, data }) => [`${tenant}/${type}`, JSON.stringify(data)],
  answer: '{"id":"inc_"}',
});
