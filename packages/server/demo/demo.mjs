import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { constants } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';

const recordsARequest = 250_000;
const program = fileURLToPath(new URL('../bin/svcctl.cjs', import.meta.url));
const endsWithUs = fileURLToPath(new URL('ends-with-demo.cjs', import.meta.url));

/**
 * Runs the service with its data in `dataDir`, loads real events through the ingest API, and reports incidents to
 * webhook receivers on this machine that succeed, fail and recover. `limit` loads fewer events; `cold` then moves what
 * happened before that day to the cold tier; `hasOutage` then plays what an operator does about one; `flags` are those
 * of the service. `svcctl` is how it is called, `connect` makes the lines that come before, and `farewell` is what else
 * there is to say. Ends when the service does, which `stop` asks for, and returns its exit code.
 */
export async function runDemo({ dataDir, env, stop, flags = [], ...how }) {
  const child = spawn(process.execPath, ['--require', endsWithUs, program, 'serve', ...flags], {
    // The service itself prints where it listens, and the link that signs in to the console.
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: {
      ...env,
      SVC_DATA_DIR: dataDir,
      SVC_ALLOW_TARGETS: env.SVC_ALLOW_TARGETS || '127.0.0.0/8',
      // Each attempt that fails is told otherwise: hundreds of lines over what there is to read.
      SVC_LOG_LEVEL: env.SVC_LOG_LEVEL || 'warn',
    },
  });
  const ended = new Promise((settle, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => settle(code ?? 128 + constants.signals[signal]));
  });
  // The receivers end first: otherwise the service would wait for the one that never answers.
  const ending = new AbortController();
  const end = () => {
    ending.abort();
    child.kill('SIGTERM');
  };
  stop.addEventListener('abort', end, { once: true });
  let failure;
  const loading = load(child, { dataDir, signal: ending.signal, ...how }).catch((error) => {
    if (ending.signal.aborted || child.exitCode !== null || child.signalCode !== null) return;
    failure = error;
    end();
  });
  const code = await ended;
  ending.abort();
  await loading;
  if (failure !== undefined) throw failure;
  return code;
}

async function load(child, { dataDir, signal, limit, cold, hasOutage, ...words }) {
  const service = await untilReady(child, dataDir);
  const { flightCount, flightLines } = await import('./flights.mjs');
  const wanted = Math.min(limit ?? flightCount, flightCount);
  const stored = await countStored(service);
  if (stored < wanted) {
    process.stdout.write(
      `Storing ${number(wanted)} departures of 2001 through POST /enrichment/records …\n`,
    );
    const answer = await ingest(service, flightLines(wanted, undefined, true), wanted);
    process.stdout.write(
      `${number(answer.accepted)} stored, ${number(answer.duplicates)} were there before, ${number(answer.rejected_count)} rejected.\n`,
    );
  }
  if (cold !== undefined) await moveCold(service, cold);
  const { tagDemoSlices } = await import('./tag-slices.mjs');
  await tagDemoSlices(service);
  const { startDemoWebhooks } = await import('./webhooks.mjs');
  const { count } = await startDemoWebhooks(service, signal);
  const { startDemoRecords } = await import('./records.mjs');
  startDemoRecords(service, signal);
  process.stdout.write(
    `${number(count)} incidents reported; one more, and some departures of today, come every few seconds.\n`,
  );
  process.stdout.write(whatToTry(service.url, words));
  if (hasOutage) {
    const { playOutage } = await import('./outage.mjs');
    await playOutage(service, signal);
  }
}

/**
 * Waits until the process that we started says where it listens. What another process has left in the data folder does
 * not count.
 */
async function untilReady(child, dataDir) {
  for (;;) {
    // Only one of them is set, by how it ended.
    const isEnded = child.exitCode !== null || child.signalCode !== null;
    if (isEnded) throw new Error('the service did not start');
    const service = await readJson(join(dataDir, 'service.json'));
    if (service?.pid === child.pid) {
      const token = (await readFile(join(dataDir, 'admin-token'), 'utf8')).trim();
      return { url: service.url, token };
    }
    await new Promise((settle) => setTimeout(settle, 50));
  }
}

async function readJson(path) {
  try {
    return JSON.parse(await readFile(path, 'utf8'));
  } catch {
    return undefined;
  }
}

async function countStored({ url, token }) {
  const response = await fetch(`${url}/api/v1/enrichment/datasets?level=tenant&limit=500`, {
    headers: { authorization: `Bearer ${token}` },
  });
  const { data } = await answerOf(response);
  return data.reduce((sum, tenant) => sum + tenant.count, 0);
}

/** Runs retention for the days before this one, and waits for its end. */
async function moveCold({ url, token }, before) {
  const ask = async (method, path, body) => {
    const response = await fetch(`${url}/api/v1/retention${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return answerOf(response);
  };
  let run = await ask('POST', '/run', { before });
  process.stdout.write(`Moving what happened before ${before} to the cold tier …\n`);
  while (run.finished_at === null) {
    await new Promise((settle) => setTimeout(settle, 200));
    run = await ask('GET', `/runs/${run.id}`);
  }
  if (run.state === 'failed' || run.failed_moves > 0) {
    throw new Error(
      `retention failed: ${run.error ?? 'see svcctl retention moves --state failed'}`,
    );
  }
  const seconds = (Date.parse(run.finished_at) - Date.parse(run.started_at)) / 1000;
  process.stdout.write(
    `${number(run.moved_count)} moved and verified in ${seconds.toFixed(1)} s.\n`,
  );
}

/** Sends NDJSON streams one after the other; answers the sums of accepted, duplicate and rejected records. */
async function ingest(service, pieces, total) {
  const progress = createProgress(total);
  const sum = { accepted: 0, duplicates: 0, rejected_count: 0 };
  let done = 0;
  while (done < total) {
    const sent = await sendStream(service, pieces, progress);
    if (sent.count === 0) break;
    done += sent.count;
    for (const name of Object.keys(sum)) sum[name] += sent.answer[name];
  }
  progress.end();
  return sum;
}

/**
 * Sends one NDJSON stream. A request may be of any length, and the service reads it no faster than it stores it. Still
 * a stream ends after some hundred thousand records, so that a failure costs no more than those. It is not sent by
 * fetch, which took 140 MB more memory.
 */
async function sendStream({ url, token }, pieces, progress) {
  let count = 0;
  async function* body() {
    while (count < recordsARequest) {
      const { done, value } = await pieces.next();
      if (done) return;
      count += value.count;
      progress.add(value.count);
      yield value.text;
    }
  }
  const request = httpRequest(`${url}/api/v1/enrichment/records`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/x-ndjson' },
  });
  const answered = once(request, 'response');
  // The service may answer before it has read everything. Then its answer says more than the broken connection, whose
  // error is ignored here.
  pipeline(body(), request).catch(() => {});
  const [response] = await answered;
  const answer = JSON.parse(Buffer.concat(await response.toArray()).toString());
  return { count, answer: accept(response.statusCode === 200, answer) };
}

async function answerOf(response) {
  return accept(response.ok, await response.json());
}

function accept(isOk, answer) {
  if (!isOk) throw new Error(`${answer.detail} (${answer.status} ${answer.code})`);
  return answer;
}

function createProgress(total) {
  const start = performance.now();
  const isTerminal = process.stderr.isTTY;
  const stepCount = isTerminal ? 500 : 10;
  let [done, shown] = [0, 0];
  const show = () => {
    const share = done / total;
    const seconds = (performance.now() - start) / 1000;
    const bar = '█'.repeat(Math.round(share * 24)).padEnd(24, '░');
    const left = Math.ceil((seconds / share) * (1 - share));
    const text = `${bar} ${String(Math.floor(share * 100)).padStart(3)} %  ${number(done)} of ${number(total)}  ${number(Math.round(done / seconds))}/s  ${left} s left`;
    process.stderr.write(isTerminal ? `\r${text}\x1b[K` : `${text}\n`);
  };
  return {
    add(count) {
      done += count;
      const step = Math.floor((done / total) * stepCount);
      if (step === shown) return;
      shown = step;
      show();
    },
    end() {
      if (isTerminal) process.stderr.write('\r\x1b[K');
    },
  };
}

function number(value) {
  return value.toLocaleString('en-US');
}

function whatToTry(url, { svcctl, connect = () => '', farewell = '' }) {
  return `
The demo data is there: open the console by the link above, or ${url} with the token in the file
admin-token. In the tree: TX, DFW, 2001-03. Or in another terminal, in this folder:

${connect(url)}  ${svcctl} records ls --tenant TX --month 2001-03
  ${svcctl} records show --tenant TX --store DFW --month 2001-03
  ${svcctl} analytics export --tenant TX --store DFW --month 2001-03 --format csv --out dfw-march.csv
  ${svcctl} records fields --tenant TX --month 2001-03 --against 2001-04

Webhooks fail and recover meanwhile; in a minute or two some have drained: ${url}/#/dlq

  ${svcctl} dlq ls --status pending
  ${svcctl} listen --register --tenant TX

${farewell}
`;
}
