/**
 * What one would use instead of the service, as a process of its own: a node:http server with a pool of connections
 * that checks nothing and knows no tokens. Run as a child process: node bare.mjs <name> <database url>.
 */
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { cleanEnvironment, startChild, untilReady } from './child.mjs';
import { bodyOf, serve } from './listen.mjs';
import { listDatasets, listLeafDays, listRecords, openDatabase } from './product.mjs';

const path = fileURLToPath(import.meta.url);

/** What each answers to a request, by its name. */
const servers = {
  /** `GET /<query>?<arguments as JSON>` with the service's own statements, and JSON.stringify of the rows. */
  queries(url) {
    const db = openDatabase({ url, maxConnections: 24, onError: () => {} });
    const queries = {
      datasets: (level, filter, page) => listDatasets(db, level, filter, page),
      async datasetsWithDays(level, filter, page) {
        const rows = await listDatasets(db, level, filter, page);
        return { rows, days: await listLeafDays(db, rows.slice(0, page.limit - 1)) };
      },
      records: (slice, scan) => listRecords(db, slice, scan),
    };
    return async ({ url: asked }) => {
      const [name, args] = asked.split('?');
      return JSON.stringify(await queries[name.slice(1)](...JSON.parse(decodeURIComponent(args))));
    };
  },
  /** A record a request, stored with one durable INSERT. */
  records: (url) =>
    inserting(url, {
      text: `insert into bare_records (tenant, store, occurred_at, event_id, recorded_at, kind, source, bytes, digest, enrichment)
        values ($1, $2, $3, $4, now(), $5, $6, 0, 0, $7)`,
      valuesOf({ records: [record] }) {
        const { tenant, store, occurred_at, event_id, kind, source, enrichment } = record;
        return [tenant, store, occurred_at, event_id, kind, source, JSON.stringify(enrichment)];
      },
      answer: '{"accepted":1}',
    }),
  /** The other side of reporting incidents: the table of a job queue. */
  jobs: (url) =>
    inserting(url, {
      text: `insert into bare_jobs (name, data) values ($1, $2) returning id`,
      valuesOf: ({ tenant, type, data }) => [`${tenant}/${type}`, JSON.stringify(data)],
      answer: '{"id":"inc_"}',
    }),
};

function inserting(url, { text, valuesOf, answer }) {
  const pool = new pg.Pool({ connectionString: url, max: 16 });
  return async (request) => {
    const body = JSON.parse(await bodyOf(request));
    await pool.query({ name: 'insert', text, values: valuesOf(body) });
    return answer;
  };
}

if (process.argv[1] === path) {
  const answer = servers[process.argv[2]](process.argv[3]);
  const origin = await serve({ defer() {} }, async (request, response) => {
    try {
      const body = await answer(request);
      response.writeHead(200, {
        'content-type': 'application/json; charset=utf-8',
        'content-length': Buffer.byteLength(body),
      });
      response.end(body);
    } catch (error) {
      response.writeHead(500).end(String(error.stack));
    }
  });
  process.stdout.write(`${origin}\n`);
}

/** One of these servers as a child process. */
export const startBare = (scope, name, databaseUrl) =>
  startScript(scope, [path, name, databaseUrl]);

/** A script that prints its origin, as a child process. */
export async function startScript(scope, args) {
  const child = startChild(scope, args, cleanEnvironment());
  const origin = await untilReady(child, () => /^http:\S+(?=\n)/.exec(child.output())?.[0]);
  return { pid: child.pid, origin };
}

/** The path that makes the server `queries` run one with these arguments. */
export const barePath = (query, ...args) => `/${query}?${encodeURIComponent(JSON.stringify(args))}`;
