import { setTimeout as delay } from 'node:timers/promises';
import { createClient } from '../lib/client.mjs';
import { summary } from '../lib/latency.mjs';
import {
  formatCount,
  formatMillis,
  formatRatio,
  formatSeconds,
  goal,
  markdownTable,
  none,
} from '../lib/table.mjs';
import { createJob, tenant, untilCompleted } from './world.mjs';

const intervalMillis = 20;
const jobs = 10;

const paths = [
  `/api/v1/enrichment/records?tenant=${tenant}&month=2001-03&limit=100`,
  '/api/v1/enrichment/datasets?level=tenant&limit=100',
  `/api/v1/enrichment/datasets?tenant=${tenant}&level=store&limit=100`,
];

/** Pages and leaves while ten exports are asked for at once. */
export async function benchBeside({ scope, client, service, sizes, say }) {
  const browsers = Array.from({ length: 8 }, () => createClient(scope, service));
  say('pages alone');
  await browse(browsers, until(sizes.warmMillis));
  const idle = await browse(browsers, until(sizes.idleMillis));
  say(`pages beside ${jobs} exports`);
  const startedAt = performance.now();
  const made = [];
  for (let i = 0; i < jobs; i += 1) made.push(await createJob(service, 'csv', { tenant }));
  let isRunning = true;
  const browsing = browse(browsers, () => !isRunning);
  await Promise.all(made.map(({ id }) => untilCompleted(client, id))).finally(() => {
    isRunning = false;
  });
  const elapsedMillis = performance.now() - startedAt;
  const busy = await browsing;
  const ratio = busy.p99 / idle.p99;
  const line = (name, own) => [name, formatMillis(own.p50), formatMillis(own.p99), none];
  return [
    `### Pages beside ${jobs} export jobs`,
    `A page of 100 cold records, tenants and stores in turn, fifty times a second whether or not answers have come; meanwhile ${jobs} CSV jobs of all records, of which the service works on two at once. They were done in ${formatSeconds(elapsedMillis)}.`,
    markdownTable(
      ['', 'p50:', 'p99:', 'goal'],
      [
        line(`alone, ${formatCount(idle.count)} requests`, idle),
        line(`beside the jobs, ${formatCount(busy.count)} requests`, busy),
        [
          'ratio',
          formatRatio(busy.p50 / idle.p50),
          formatRatio(ratio),
          goal('p99 < 1.5', ratio < 1.5),
        ],
      ],
    ),
  ].join('\n\n');
}

function until(millis) {
  const end = performance.now() + millis;
  return () => performance.now() > end;
}

/** Asks fifty times a second, whether or not answers have come, until `isOver`. */
async function browse(clients, isOver) {
  const times = [];
  const asked = [];
  while (!isOver()) {
    const at = asked.length;
    asked.push(
      clients[at % clients.length].get(paths[at % paths.length]).then(({ elapsedMillis }) => {
        times.push(elapsedMillis);
      }),
    );
    await delay(intervalMillis);
  }
  await Promise.all(asked);
  return { ...summary(times), count: times.length };
}
