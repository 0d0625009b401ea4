import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { pathToFileURL } from 'node:url';
import { startRealS3 } from '../../packages/server/test/real-s3.mjs';
import { tenant, toOneTenant } from '../exports/world.mjs';
import { createClient, ingestFile } from '../lib/client.mjs';
import { writeFlights } from '../lib/flights-file.mjs';
import { withScope } from '../lib/scope.mjs';
import { startService } from '../lib/service.mjs';
import { formatCount } from '../lib/table.mjs';
import { runRetention } from '../retention/world.mjs';

export { tenant };

/**
 * All flights as one cold tenant, once in a folder and once in S3, with a database each. `sides` are a service on each
 * with the usual settings, and `start` starts others. `moves` has the records moved and the seconds that it took.
 */
export async function startWorld({ scope, dir, postgres, sizes, say, found }) {
  const s3 = await startRealS3(found);
  scope.defer(() => s3.close());
  say(`the S3 server is ${s3.name}`);
  const linesPath = join(dir, 'flights.ndjson');
  const flights = await writeFlights(linesPath, sizes.flights);
  const ofOne = join(dir, 'flights-us.ndjson');
  await pipeline(Readable.from(toOneTenant(linesPath)), createWriteStream(ofOne));
  const stores = {
    file: { SVC_BLOB_URL: pathToFileURL(join(dir, 'cold')).href },
    s3: { ...s3.environment, SVC_BLOB_URL: s3.urlOf('bench') },
  };
  const start = {};
  for (const [name, settings] of Object.entries(stores)) {
    const databaseUrl = await postgres.createDatabase(scope, `bench_s3_${name}`);
    let token;
    let count = 0;
    /** Starts a process on the cold records, in a folder of its own; `more` are settings. */
    start[name] = async (own, more = {}) => {
      const given = { SVC_RETENTION_SCHEDULE: 'off', SVC_COLD_GRACE_SECONDS: '0' };
      const service = await startService(own, {
        dir,
        name: `${name}-${++count}`,
        databaseUrl,
        token,
        settings: { ...given, ...settings, ...more },
      });
      token = service.token;
      return { service, client: createClient(own, service) };
    };
    say(`storing ${formatCount(flights)} flights: ${name}`);
    await withScope(scope, async (own) => {
      await ingestFile((await start[name](own)).client, ofOne);
    });
  }
  // Other processes: what ingest has made of the memory of the first ones says nothing of what follows.
  const sides = { file: await start.file(scope), s3: await start.s3(scope) };
  const moves = await moveInTurn(sides, { turns: sizes.pairs, say });
  return { start, sides, flights, moves, about: `S3: ${s3.name}` };
}

/** Moves everything, in runs of as many days each, in turn: a run to the folder, the same run to S3. */
async function moveInTurn(sides, { turns, say }) {
  const { body } = await sides.file.client.get('/api/v1/enrichment/datasets?level=tenant');
  const { first_at: first, last_at: last } = body.data[0];
  const days = (Date.parse(last) - Date.parse(first)) / dayMillis;
  const moves = { file: [], s3: [] };
  for (let turn = 1; turn <= turns; turn += 1) {
    const end = new Date(Date.parse(first) + (days * turn * dayMillis) / turns);
    const request = turn < turns ? { before: end.toISOString().slice(0, 10) } : {};
    for (const [name, side] of Object.entries(sides)) {
      say(`moving, ${turn} of ${turns}: ${name}`);
      const run = await runRetention(side, request);
      const seconds = (Date.parse(run.finished_at) - Date.parse(run.started_at)) / 1000;
      moves[name].push({ records: run.moved_count, seconds });
    }
  }
  return moves;
}

const dayMillis = 86_400_000;
