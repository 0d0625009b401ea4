import { createServer } from 'node:http';
import { setTimeout as after } from 'node:timers/promises';
import { call } from './webhooks.mjs';

const together = 5_000;
/** Within so much 99 of 100 live deliveries are to come beside a replay. */
const goalMillis = 50;
const replayedPerSecond = 200;
const livePerSecond = 50;
const tenant = 'AZ';
const description = 'Demo: gone for a while';

/**
 * Plays what an operator does about an endpoint that is gone while 50,000 incidents are reported: a notice tells of it, its
 * story says why, and once it is back they are replayed beside live ones. Says what each step found and measured, and
 * at last whether the live ones kept their goal.
 */
export async function playOutage(
  service,
  signal,
  { missed = 50_000, liveSeconds = 60, say = (text) => process.stdout.write(`${text}\n`) } = {},
) {
  const receiver = await startReceiver();
  signal.addEventListener('abort', () => receiver.close(), { once: true });
  const ask = (method, path, body) => call(service, method, path, body);
  /** Asks again and again until the answer is as wanted. */
  const until = async (read, isWanted) => {
    for (;;) {
      const found = await read();
      if (isWanted(found)) return found;
      await after(250, undefined, { signal });
    }
  };

  const target = { kind: 'webhook', url: receiver.url('/notices'), tenant };
  const { id: targetId } = await ask('POST', '/notify/targets', target);
  const id = await registerEndpoint(ask, receiver.url('/hook'));
  const began = performance.now();
  await reportMissed(service, missed);
  const told = `${missed.toLocaleString('en-US')} incidents of ${tenant} reported in ${secondsSince(began)} while its receiver answers 410`;
  const { story, backlog } = await until(
    () => ask('GET', `/webhook/endpoints/${id}?include=story`),
    (endpoint) => endpoint.story.last_error !== null,
  );
  say(`${told}. ${backlog.count.toLocaleString('en-US')}${backlog.is_exact ? '' : '+'} wait.`);
  say(`Its story: ${story.last_error.error}. svcctl endpoints show ${id}`);
  const [notice] = await until(receiver.notices, (notices) => notices.length > 0);
  say(`The notice came ${secondsSince(began)} after the first report: ${notice.title}`);
  await ask('DELETE', `/notify/targets/${targetId}`);

  receiver.comeBack();
  await ask('POST', `/webhook/endpoints/${id}/discard-backlog`, {});
  const read = () => ask('GET', `/webhook/endpoints/${id}`);
  await until(read, ({ enabled, backlog }) => enabled && backlog.count === 0);
  const live = () => measureLive(service, receiver, { signal, liveSeconds });
  say(`The receiver is back. Live deliveries alone: ${(await live()).text}`);
  const since = new Date(Date.now() - (performance.now() - began) - 5000).toISOString();
  const request = { since, only: 'all', event_types: ['outage.seen'], rate: replayedPerSecond };
  const replay = await ask('POST', `/webhook/endpoints/${id}/replay`, request);
  const replayedAt = performance.now();
  say(
    `Replaying ${replay.rows_total ?? 'them'} at ${replayedPerSecond}/s: svcctl jobs wait ${replay.id}`,
  );
  const beside = await live();
  say(`Live deliveries beside it: ${beside.text}`);
  const job = await until(
    () => ask('GET', `/webhook/replays/${replay.id}`),
    ({ outcome }) => (outcome?.settled_at ?? null) !== null,
  );
  const { count, distinct } = receiver.replayed();
  say(
    `${job.outcome.counts.delivered ?? 0} delivered in ${secondsSince(replayedAt)}: ${distinct} different ones came, ${count - distinct} twice.`,
  );
  const hasKept = beside.p99Millis <= goalMillis ? 'kept' : 'did not keep';
  say(`The p99 of live deliveries beside the replay ${hasKept} within ${goalMillis} ms.`);
  receiver.close();
}

async function registerEndpoint(ask, url) {
  const { data } = await ask('GET', `/webhook/endpoints?tenant=${tenant}&limit=500`);
  const known = data.find((endpoint) => endpoint.description === description);
  if (known === undefined) {
    return (await ask('POST', '/webhook/endpoints', { tenant, url, description })).id;
  }
  await ask('PATCH', `/webhook/endpoints/${known.id}`, { url, enabled: true });
  return known.id;
}

async function reportMissed({ url, token }, missed) {
  for (let from = 0; from < missed; from += together) {
    const length = Math.min(together, missed - from);
    const lines = Array.from({ length }, (_, n) =>
      JSON.stringify({ tenant, type: 'outage.seen', data: { n: from + n } }),
    );
    const response = await fetch(`${url}/api/v1/incidents`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/x-ndjson' },
      body: lines.join('\n'),
    });
    const answer = await response.json();
    if (answer.accepted !== length) throw new Error(JSON.stringify(answer));
  }
}

/** Reports at a steady rate, whether or not earlier ones were answered, and says how long each took to come. */
async function measureLive(service, receiver, { signal, liveSeconds }) {
  const began = performance.now();
  const times = [];
  for (let n = 0; n < livePerSecond * liveSeconds; n += 1) {
    const due = began + (n * 1000) / livePerSecond;
    await after(due - performance.now(), undefined, { signal });
    const time = sendOne(`${began}-${n}`, due);
    // What fails is told once all were sent.
    time.catch(() => {});
    times.push(time);
  }
  async function sendOne(key, due) {
    const came = receiver.arrivalOf(key);
    await call(service, 'POST', '/incidents', { tenant, type: 'live.seen', data: { key } });
    return (await came) - due;
  }
  const sorted = (await Promise.all(times)).sort((a, b) => a - b);
  const at = (share) => sorted[Math.floor(sorted.length * share)];
  const [p50, p99] = [at(0.5), at(0.99)].map((millis) => `${millis.toFixed(1)} ms`);
  const text = `p50 ${p50}, p99 ${p99} (${livePerSecond}/s for ${liveSeconds} s)`;
  return { text, p99Millis: at(0.99) };
}

/** A receiver that is gone at first, and knows what came. */
async function startReceiver() {
  const waiting = new Map();
  const seen = new Set();
  let [isGone, count, notices] = [true, 0, []];
  const take = (path, { data }) => {
    if (path === '/notices') notices = data.notices;
    else if (isGone) return 410;
    else if (data.key !== undefined) waiting.get(data.key)?.(performance.now());
    else {
      count += 1;
      seen.add(data.n);
    }
    return 204;
  };
  const server = createServer((request, response) => {
    const pieces = [];
    request.on('data', (piece) => pieces.push(piece));
    request.once('end', () => {
      response.writeHead(take(request.url, JSON.parse(Buffer.concat(pieces).toString()))).end();
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: (path) => `http://127.0.0.1:${server.address().port}${path}`,
    arrivalOf: (key) => new Promise((resolve) => waiting.set(key, resolve)),
    notices: async () => notices,
    replayed: () => ({ count, distinct: seen.size }),
    comeBack() {
      isGone = false;
    },
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

const secondsSince = (began) => `${((performance.now() - began) / 1000).toFixed(0)} s`;
