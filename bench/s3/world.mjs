import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { startRealS3 } from '../../packages/server/test/real-s3.mjs';
import { tenant, toOneTenant } from '../exports/world.mjs';
import { createClient, ingestFile } from '../lib/client.mjs';
import { writeFlights } from '../lib/flights-file.mjs';
import { withScope } from '../lib/scope.mjs';
import { startService } from '../lib/service.mjs';
import { formatCount } from '../lib/table.mjs';
import { runRetention } from '../retention/world.mjs';

export { tenant };

/** All flights as one cold tenant, once in a folder and once in S3: two databases, and services on them as asked. */
export async function startWorld({ scope, dir, postgres, sizes, say, found }) {
  const s3 = await startRealS3(found);
  scope.defer(() => s3.close());
  say(`the S3 server is ${s3.name}`);
  const linesPath = join(dir, 'flights.ndjson');
  const flights = await writeFlights(linesPath, sizes.flights);
  const ofOne = join(dir, 'flights-us.ndjson');
  await pipeline(Readable.from(toOneTenant(linesPath)), createWriteStream(ofOne));
  const stores = {
    file: {},
    s3: { ...s3.environment, SVC_BLOB_URL: s3.urlOf('bench') },
  };
  const start = {};
  for (const [name, settings] of Object.entries(stores)) {
    const databaseUrl = await postgres.createDatabase(scope, `bench_s3_${name}`);
    let token;
    /** Starts a process on the cold records; `more` are settings. */
    start[name] = async (own, more = {}) => {
      const given = { SVC_RETENTION_SCHEDULE: 'off', SVC_COLD_GRACE_SECONDS: '0' };
      const service = await startService(own, {
        dir,
        name,
        databaseUrl,
        token,
        settings: { ...given, ...settings, ...more },
      });
      token = service.token;
      return { service, client: createClient(own, service) };
    };
    say(`storing ${formatCount(flights)} flights, and moving them: ${name}`);
    await withScope(scope, async (own) => {
      const made = await start[name](own);
      await ingestFile(made.client, ofOne);
      await runRetention(made, {});
    });
  }
  return { start, flights, about: `S3: ${s3.name}` };
}
