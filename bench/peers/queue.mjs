/**
 * A job queue of npm with what a team writes around it to deliver webhooks. Run as a child process, of which one accepts
 * and another one works: node queue.mjs <queue> accept|work <database or Redis URL> <receiver URL>. The one that accepts
 * is a node:http server that answers once the queue has stored the job; the other one sends signed POSTs.
 */
import { createHmac, randomBytes } from 'node:crypto';
import { Pool } from 'undici';
import { bodyOf, serve } from '../lib/listen.mjs';

const sideBySide = 64;
const [name, role, url, receiverUrl] = process.argv.slice(2);

/** Their packages are only there once the bench has run, so nothing is known of their types. */
const load = (/** @type {string} */ module) => import(module);

/** What each queue does to store a job, and to work on jobs. */
const queues = {
  async 'pg-boss'() {
    const { default: PgBoss } = await load('pg-boss');
    const boss = new PgBoss({ connectionString: url, max: 16 });
    boss.on('error', (error) => process.stderr.write(`${error.stack}\n`));
    await boss.start();
    await boss.createQueue('webhooks');
    return {
      add: (job) => boss.send('webhooks', job),
      // Half a second is the shortest time between two looks for jobs.
      work: () =>
        boss.work('webhooks', { batchSize: 500, pollingIntervalSeconds: 0.5 }, (jobs) =>
          limited(jobs, ({ id, data }) => deliver(id, data)),
        ),
    };
  },
  async 'graphile-worker'() {
    const { Logger, makeWorkerUtils, run } = await load('graphile-worker');
    const logger = new Logger(() => () => {});
    const options = { connectionString: url, maxPoolSize: 16, logger };
    const utils = await makeWorkerUtils(options);
    await utils.migrate();
    return {
      add: (job) => utils.addJob('webhook', job, { maxAttempts: 8 }),
      work: () =>
        run({
          ...options,
          concurrency: sideBySide,
          noHandleSignals: true,
          taskList: { webhook: (data, { job }) => deliver(job.id, data) },
        }),
    };
  },
  async BullMQ() {
    const { Queue, Worker } = await load('bullmq');
    const { hostname: host, port } = new URL(url);
    const connection = { host, port: Number(port), maxRetriesPerRequest: null };
    const queue = new Queue('webhooks', { connection });
    return {
      add: (job) => queue.add('webhook', job, { attempts: 8 }),
      work: () =>
        new Worker('webhooks', ({ id, data }) => deliver(id, data), {
          connection,
          concurrency: sideBySide,
        }),
    };
  },
};

const secret = randomBytes(32);
const { origin, pathname } = new URL(receiverUrl);
const pool = new Pool(origin, { connections: sideBySide });

async function deliver(id, job) {
  const body = JSON.stringify(job);
  const timestamp = Math.floor(Date.now() / 1000);
  const signature = createHmac('sha256', secret).update(`msg_${id}.${timestamp}.${body}`);
  const response = await pool.request({
    method: 'POST',
    path: pathname,
    headers: {
      'content-type': 'application/json',
      'webhook-id': `msg_${id}`,
      'webhook-timestamp': String(timestamp),
      'webhook-signature': `v1,${signature.digest('base64')}`,
    },
    body,
    signal: AbortSignal.timeout(15_000),
  });
  await response.body.dump();
  if (response.statusCode >= 300) throw new Error(`the receiver answered ${response.statusCode}`);
}

/** Works on several jobs of a batch at a time. */
async function limited(jobs, work) {
  const waiting = jobs[Symbol.iterator]();
  const next = async () => {
    for (const job of waiting) await work(job);
  };
  await Promise.all(Array.from({ length: sideBySide }, next));
}

const queue = await queues[name]();
if (role === 'work') await queue.work();
const listening = await serve({ defer() {} }, async (request, response) => {
  const { type, data } = JSON.parse(await bodyOf(request));
  try {
    await queue.add({ type, timestamp: new Date().toISOString(), data });
    const body = '{"id":"inc_"}';
    response.writeHead(202, { 'content-length': body.length }).end(body);
  } catch (error) {
    response.writeHead(500).end(String(error.stack));
  }
});
process.stdout.write(`${listening}\n`);
