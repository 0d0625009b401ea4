import { join } from 'node:path';
import { createClient, ingestFile } from '../lib/client.mjs';
import { writeFlights } from '../lib/flights-file.mjs';
import { summary } from '../lib/latency.mjs';
import { watchTree } from '../lib/memory.mjs';
import { withScope } from '../lib/scope.mjs';
import { startService } from '../lib/service.mjs';
import { formatCount, formatMiB, formatMillis, goal, markdownTable, none } from '../lib/table.mjs';
import { drain, requestCsv } from '../records/csv-request.mjs';
import { runRetention, tenant } from './world.mjs';

const dayMillis = 86_400_000;

/** Moves day by day, as the schedule does, and looks at what many small segments cost. */
export async function benchSegments({ scope, dir, postgres, sizes, say }) {
  const url = await postgres.createDatabase(scope, 'bench_segments');
  const options = {
    dir,
    name: 'segments',
    databaseUrl: url,
    settings: { SVC_RETENTION_SCHEDULE: 'off', SVC_COLD_GRACE_SECONDS: '0' },
  };
  const linesPath = join(dir, 'segments.ndjson');
  const flights = await writeFlights(linesPath, Math.min(sizes.flights, 600_000), sizes.tenants);
  await withScope(scope, async (own) => {
    await ingestFile(createClient(own, await startService(own, options)), linesPath);
  });
  const service = await startService(scope, options);
  const client = createClient(scope, service);
  say(`moving ${sizes.segmentDays} days, one after the other`);
  const runs = [];
  let most = 0;
  const moving = await watchTree(service.pid, async () => {
    for (let day = 1; day <= sizes.segmentDays; day += 1) {
      const before = new Date(Date.UTC(2001, 0, 1) + day * dayMillis).toISOString().slice(0, 10);
      const startedAt = performance.now();
      await runRetention({ service, client }, { before });
      runs.push(performance.now() - startedAt);
      most = Math.max(most, await countSegments(client));
    }
  });
  const pages = [];
  const reading = await watchTree(service.pid, async () => {
    for (let i = 0; i < sizes.requests; i += 1) {
      const path = `/api/v1/enrichment/records?tenant=${tenant}&month=2001-01&limit=500`;
      const { elapsedMillis } = await client.get(path);
      pages.push(elapsedMillis);
    }
    await drain((await requestCsv(client, { tenant })).response);
  });
  const { p50, p99 } = summary(pages);
  return [
    '### Moved day by day',
    `A run a day over ${formatCount(flights)} flights of all tenants; small segments are merged as they gather.`,
    markdownTable(
      ['', 'value:', 'goal'],
      [
        ['runs', formatCount(runs.length), none],
        ['a run, p50', formatMillis(summary(runs).p50), none],
        [`segments of ${tenant}, at most`, formatCount(most), none],
        [`segments of ${tenant}, in the end`, formatCount(await countSegments(client)), none],
        ['page of 500, p50', formatMillis(p50), goal('≤ 25 ms', p50 <= 25)],
        ['page of 500, p99', formatMillis(p99), none],
        [
          'memory while moving, peak',
          formatMiB(moving.peakBytes),
          goal('< 512 MB', moving.peakBytes < 512e6),
        ],
        [
          'memory while reading, peak',
          formatMiB(reading.peakBytes),
          goal('< 512 MB', reading.peakBytes < 512e6),
        ],
      ],
    ),
  ].join('\n\n');
}

async function countSegments(client) {
  const { body } = await client.get(`/api/v1/retention/tenants?q=${tenant}`);
  return body.data[0]?.segments ?? 0;
}
