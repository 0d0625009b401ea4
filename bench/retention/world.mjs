import { join } from 'node:path';
import { to as copyTo } from 'pg-copy-streams';
import { createClient, ingestFile } from '../lib/client.mjs';
import { writeFlights } from '../lib/flights-file.mjs';
import { connect } from '../lib/postgres.mjs';
import { withScope } from '../lib/scope.mjs';
import { startService } from '../lib/service.mjs';
import { formatCount } from '../lib/table.mjs';
import { drain } from '../records/csv-request.mjs';

export const tenant = 'TX';

/** The columns as PostgreSQL itself writes them, in the order of reading. */
const orderedQuery = `select tenant, store, to_char(occurred_at, 'YYYY-MM') as month, event_id,
  occurred_at, recorded_at, kind, source, model, confidence, bytes, null::text as datasets, enrichment
  from enrichment_records where tenant = '${tenant}'
  order by tenant, store, occurred_at, event_id`;

/** A service with the flights, all hot, and how fast a bare ordered COPY reads one tenant of them. */
export async function startWorld({ scope, dir, postgres, sizes, say }) {
  const url = await postgres.createDatabase(scope, 'bench_retention');
  const db = await connect(scope, url);
  const options = {
    dir,
    name: 'retention',
    databaseUrl: url,
    settings: { SVC_RETENTION_SCHEDULE: 'off', SVC_COLD_GRACE_SECONDS: '0' },
  };
  say(`storing ${formatCount(sizes.flights)} flights`);
  const linesPath = join(dir, 'flights.ndjson');
  const flights = await writeFlights(linesPath, sizes.flights, sizes.tenants);
  await withScope(scope, async (own) => {
    await ingestFile(createClient(own, await startService(own, options)), linesPath);
  });
  // Another process: what ingest has made of the first one's memory says nothing of the cold tier.
  const service = await startService(scope, options);
  const client = createClient(scope, service);
  await db.query('vacuum (analyze) enrichment_records');
  say('timing bare ordered COPY TO');
  const hotCopies = [];
  for (let i = 0; i < sizes.pairs; i += 1) {
    const startedAt = performance.now();
    const copy = db.query(copyTo(`copy (${orderedQuery}) to stdout (format csv, header true)`));
    await drain(copy);
    hotCopies.push({ rows: copy.rowCount, elapsedMillis: performance.now() - startedAt });
  }
  return { db, service, client, flights, hotCopies, coldDir: join(dir, 'retention', 'cold') };
}

/** The tree's tenants with their counters. */
export async function listTenants(client) {
  const { body } = await client.get('/api/v1/enrichment/datasets?level=tenant&limit=500');
  return body.data;
}

/** Sends JSON; answers the parsed answer. */
export async function send(service, method, path, body) {
  const response = await fetch(`${service.origin}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${service.token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(`${path}: ${response.status} ${answer.detail}`);
  return answer;
}

/** Runs retention and waits for its end. */
export async function runRetention({ service, client }, request) {
  const { id } = await send(service, 'POST', '/retention/run', request);
  for (;;) {
    const { body } = await client.get(`/api/v1/retention/runs/${id}`);
    if (body.state === 'completed' && body.failed_moves === 0) return body;
    if (body.state === 'failed' || body.failed_moves > 0) {
      throw new Error(`the run failed: ${JSON.stringify(body)}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
