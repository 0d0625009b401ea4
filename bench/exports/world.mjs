import { createReadStream, createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createClient, ingestFile } from '../lib/client.mjs';
import { writeFlights } from '../lib/flights-file.mjs';
import { withScope } from '../lib/scope.mjs';
import { startService } from '../lib/service.mjs';
import { formatCount } from '../lib/table.mjs';
import { runRetention } from '../retention/world.mjs';

export const tenant = 'US';

/** A service with all flights in one cold tenant. */
export async function startWorld({ scope, dir, postgres, sizes, say }) {
  const databaseUrl = await postgres.createDatabase(scope, 'bench_exports');
  const options = {
    dir,
    name: 'exports',
    databaseUrl,
    settings: { SVC_RETENTION_SCHEDULE: 'off', SVC_COLD_GRACE_SECONDS: '0' },
  };
  say(`storing ${formatCount(sizes.flights)} flights as one tenant`);
  const linesPath = join(dir, 'flights.ndjson');
  const flights = await writeFlights(linesPath, sizes.flights);
  const ofOne = join(dir, 'flights-us.ndjson');
  await pipeline(Readable.from(toOneTenant(linesPath)), createWriteStream(ofOne));
  await withScope(scope, async (own) => {
    const service = await startService(own, options);
    const client = createClient(own, service);
    await ingestFile(client, ofOne);
    say('moving them cold');
    await runRetention({ service, client }, {});
  });
  // Another process: what ingest has made of the first one's memory says nothing of exports.
  const service = await startService(scope, options);
  return {
    service,
    client: createClient(scope, service),
    flights,
    coldDir: join(dir, 'exports', 'cold'),
  };
}

/** The same lines, all of one tenant. */
export async function* toOneTenant(path) {
  let text = '';
  for await (const line of createInterface({ input: createReadStream(path) })) {
    text += `${line.replace(/"tenant":"[^"]*"/, `"tenant":"${tenant}"`)}\n`;
    if (text.length < 2 ** 20) continue;
    yield text;
    text = '';
  }
  yield text;
}

/** Creates a job; answers it. */
export async function createJob(service, format, body) {
  const response = await fetch(`${service.origin}/api/v1/exports/${format}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${service.token}`,
      'content-type': 'application/json',
      prefer: 'respond-async',
    },
    body: JSON.stringify(body),
  });
  const job = await response.json();
  if (response.status !== 202) throw new Error(`${format}: ${response.status} ${job.detail}`);
  return job;
}

/** Waits for a job's end; answers it as it is then. */
export async function untilCompleted(client, id) {
  for (;;) {
    const { body } = await client.get(`/api/v1/exports/${id}`);
    if (body.state === 'completed') return body;
    if (body.state !== 'queued' && body.state !== 'running') {
      throw new Error(`the job ${body.state}: ${body.error}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
