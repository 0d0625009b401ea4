import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { until } from '../lib/wait.mjs';
import { revokeStreams } from './revoke.mjs';

const tenants = ['NY', 'TX'];
/** Some 400 MB a tenant: several parts of every file. */
const records = 3500;
const repeats = 24_000;
const dayCount = 120;
const dayMillis = 86_400_000;
const firstDay = Date.UTC(2001, 0, 1);
const files = [
  { format: 'csv' },
  { format: 'csv', compression: 'gzip' },
  { format: 'ndjson', compression: 'zstd' },
  { format: 'parquet' },
];

/**
 * Stores records of some tenants, freezes them, and exports each version in each format while nothing
 * disturbs. Answers what every later export must be: its body, rows, digest and SHA-256.
 */
export async function prepare(world) {
  const references = [];
  for (const tenant of tenants) {
    for (let at = 0; at < records; at += 100) await store(world, tenant, { at, count: 100 });
    await ask(world, 'POST', '/enrichment/tags', { tenant, dataset: 'training' });
    const version = await ask(world, 'POST', '/enrichment/dataset-versions', {
      tenant,
      dataset: 'training',
      name: 'all',
      shares: { train: 80, validation: 10, test: 10 },
    });
    for (const { format, ...more } of files) {
      const body = { tenant, version: version.id, ...more };
      const { id } = await create(world, format, body);
      const job = await untilEnded(world, id);
      if (job.state !== 'completed') throw new Error(`${format}: ${job.error}`);
      references.push({
        format,
        body,
        rows: job.rows_total,
        digest: job.digest,
        sha256: job.sha256,
      });
    }
  }
  return references;
}

/**
 * Clients that ask for these exports again, cancel some, store late records, have days moved, and revoke tokens in the
 * middle of their streams.
 */
export function startLoad(world, references) {
  const jobs = [];
  const sum = { late: 0, runs: 0, cancelled: 0, refused: 0 };
  const streams = { revoked: 0, outlived: 0, looksWhole: 0, wrongAnswers: 0 };
  let isRunning = true;
  const insist = async (work) => {
    while (isRunning) {
      try {
        return await work();
      } catch {
        sum.refused += 1;
        await delay(100);
      }
    }
  };
  const clients = [
    (async () => {
      for (let turn = 0; isRunning; turn += 1) {
        const reference = references[turn % references.length];
        const job = await insist(() => create(world, reference.format, reference.body));
        if (job === undefined) return;
        const isCancelled = randomInt(8) === 0;
        jobs.push({ id: job.id, reference, isCancelled });
        if (isCancelled) {
          await insist(() => ask(world, 'DELETE', `/exports/${job.id}`));
          sum.cancelled += 1;
        }
        // No more than the service can do meanwhile.
        await insist(async () => {
          const { data } = await ask(world, 'GET', '/exports?state=queued&limit=10');
          if (data.length > 3) throw new Error('there is enough to do');
        });
      }
    })(),
    (async () => {
      for (let at = records; isRunning; at += 20) {
        const tenant = tenants[(at / 20) % tenants.length];
        await insist(() => store(world, tenant, { at, count: 20 }));
        sum.late += 20;
        await delay(300);
      }
    })(),
    (async () => {
      while (isRunning) {
        await insist(() => ask(world, 'POST', '/retention/run', { before: randomDay() }));
        sum.runs += 1;
        await delay(1000);
      }
    })(),
    (async () => {
      for (let turn = 0; isRunning; turn += 1) {
        const slice = { tenant: tenants[turn % tenants.length] };
        const found = await insist(() => revokeStreams(world, `revoked-${turn}`, slice));
        for (const name of Object.keys(found ?? {})) streams[name] += found[name];
      }
    })(),
  ];
  return {
    jobs,
    sum,
    streams,
    describe: () => `${jobs.length} jobs, ${sum.late} late records`,
    async stop() {
      isRunning = false;
      await Promise.all(clients);
    },
  };
}

/** Waits until a job has ended, whatever dies meanwhile. */
export function untilEnded(world, id) {
  return until(
    `the export ${id}`,
    async () => {
      const answer = await world.call('GET', `/exports/${id}`).catch(() => null);
      return answer?.status === 200 && answer.json.finished_at !== null ? answer.json : null;
    },
    300_000,
  );
}

async function create(world, format, body) {
  return ask(world, 'POST', `/exports/${format}`, body, { prefer: 'respond-async' });
}

async function ask(world, method, path, body, headers) {
  const { status, json } = await world.call(method, path, body, headers);
  if (status >= 300) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(json)}`);
  return json;
}

async function store(world, tenant, { at, count }) {
  const made = Array.from({ length: count }, (_, n) => {
    const number = at + n;
    const time = firstDay + (number % dayCount) * dayMillis + ((number * 7919) % dayMillis);
    return {
      tenant,
      store: `store-${number % 3}`,
      event_id: `e-${number}`,
      occurred_at: new Date(time).toISOString(),
      enrichment: { number, text: `${number} `.repeat(repeats) },
    };
  });
  return ask(world, 'POST', '/enrichment/records', { records: made });
}

function randomDay() {
  return new Date(firstDay + randomInt(1, dayCount) * dayMillis).toISOString().slice(0, 10);
}
