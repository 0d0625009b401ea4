import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { call, createClient } from './lib/client.mjs';
import { inTurn, mapValues, summary, timed } from './lib/measure.mjs';
import { residentBytes, watchMemory } from './lib/processes.mjs';
import { runSections } from './lib/run-sections.mjs';
import { startAlone } from './lib/service.mjs';
import {
  formatCount,
  formatMiB,
  formatMillis,
  goal,
  latencyCells,
  markdownTable,
  none,
  ratioCells,
  section,
} from './lib/table.mjs';
import { payloadOf } from './webhooks/payload.mjs';

const sizes = {
  smallest: { connections: 10, samples: 5, clients: 10, exported: 500 },
  quick: { connections: 100, samples: 50, clients: 50, exported: 5000 },
  standard: { connections: 600, samples: 300, clients: 200, exported: 20_000 },
  full: { connections: 600, samples: 1000, clients: 200, exported: 20_000 },
};

/** What the service answers while somebody leans on it. */
export const runBench = (options) =>
  runSections(
    { name: 'http', sections: { flood: benchFlood, beside: benchBeside }, sizes },
    options,
  );

const pair = (times) => latencyCells(times).join(' / ');

/** Times a path as often as it is told, with the client that `client` answers each time. */
async function timePath(client, path, samples) {
  const ask = async () => (await client().get(path)).elapsedMillis;
  return summary((await inTurn({ ask }, samples)).ask);
}

/** Bodies of sign-ins that never end, opened anew as they are closed, and health beside them. */
async function benchFlood({ sizes, say, ...bench }) {
  const { scope } = bench;
  const { service } = await startAlone(bench, 'flood');
  // Each on a connection of its own, as a prober comes.
  const timeHealth = () => timePath(() => createClient(scope, service), '/healthz', sizes.samples);
  const before = await timeHealth();
  const beforeBytes = residentBytes(service.pid);
  const title = `${sizes.connections} unfinished bodies`;
  say(title);
  const flood = startFlood(service, sizes.connections);
  scope.defer(() => flood.stop());
  await flood.isUp;
  const { result: during, peakBytes } = await watchMemory(service.pid, timeHealth);
  flood.stop();
  const growth = peakBytes - beforeBytes;
  return section(
    'Unfinished bodies',
    markdownTable(
      [title, 'measured', 'goal'],
      [
        ['/healthz before, p50 / p99', pair(before), none],
        ['/healthz during, p50 / p99', pair(during), none],
        ['/healthz during, the slowest', formatMillis(during.max), goal('< 100 ms', during.max)],
        ['growth of the memory', formatMiB(growth), goal('< 64 MiB', growth)],
      ],
    ),
  );
}

function startFlood({ origin }, connections) {
  const { hostname, port } = new URL(origin);
  const sockets = new Set();
  let isStopped = false;
  const open = () =>
    new Promise((resolve) => {
      if (isStopped) return;
      const socket = connect(Number(port), hostname, () => {
        socket.write(
          'POST /api/v1/session HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 4096\r\n\r\n',
        );
        socket.write('x'.repeat(4000), resolve);
      });
      sockets.add(socket);
      socket.on('error', () => {}).resume();
      socket.once('close', () => {
        sockets.delete(socket);
        void open();
      });
    });
  return {
    isUp: Promise.all(Array.from({ length: connections }, open)),
    stop() {
      isStopped = true;
      for (const socket of sockets) socket.destroy();
    },
  };
}

const at = { tenant: 'T', occurred_at: '2025-01-01T00:00:00Z' };

/** A request of each kind. `body` makes the JSON of the n-th. */
const kinds = {
  'a page of 100 records': { path: '/enrichment/records?tenant=T&store=S&limit=100' },
  'the tree': { path: '/enrichment/datasets?level=tenant' },
  'a record stored': {
    path: '/enrichment/records',
    body: (n) => ({ records: [{ ...at, store: 'new', event_id: `e${n}`, enrichment: { n } }] }),
  },
  'an incident accepted': {
    path: '/incidents',
    body(n) {
      const { type, data } = payloadOf(n);
      return { tenant: 'T', type, data };
    },
  },
  'a CSV of 500 records': { path: '/exports/csv', body: () => ({ tenant: 'T', store: 'S' }) },
};
/** What the greedy token asks for, on each of its connections. */
const greeds = {
  pages: kinds['a page of 100 records'],
  'records, one by one': {
    ...kinds['a record stored'],
    body: (n) => ({ records: [{ ...at, store: 'more', event_id: `g${n}`, enrichment: { n } }] }),
  },
  'CSV of many records': { path: '/exports/csv', body: () => ({ tenant: 'T', store: 'L' }) },
};

/** A token that asks over many connections without a pause, and another token beside it that asks for each kind. */
async function benchBeside({ sizes, say, ...bench }) {
  const { scope } = bench;
  const { service } = await startAlone(bench, 'beside');
  for (const [store, count] of [
    ['S', 500],
    ['L', sizes.exported],
  ]) {
    for (let from = 0; from < count; from += 500) {
      const records = Array.from({ length: Math.min(500, count - from) }, (_, n) => ({
        ...{ ...at, store, event_id: `e${from + n}`, enrichment: { n } },
      }));
      await call(service, 'POST', '/enrichment/records', { records });
    }
  }
  const asked = { name: 'bench', preset: 'admin' };
  const makeToken = async () => (await call(service, 'POST', '/tokens', asked)).token;
  const [greedy, other] = [await makeToken(), await makeToken()];
  const client = createClient(scope, { ...service, token: other });
  const timeKinds = async (warmups) => {
    const ways = mapValues(kinds, (kind) => () => timeOne(client, kind));
    return mapValues(await inTurn(ways, sizes.samples, { warmups }), summary);
  };
  say('nobody beside it');
  const alone = await timeKinds(20);
  const rows = [];
  for (const [greed, kind] of Object.entries(greeds)) {
    say(`beside ${sizes.clients} connections: ${greed}`);
    const crowd = startCrowd(scope, { ...service, token: greedy }, kind, sizes.clients);
    scope.defer(() => crowd.stop());
    await crowd.isUp;
    const beside = await timeKinds(0);
    const perSecond = await crowd.stop();
    for (const [name, { p50, p99 }] of Object.entries(beside)) {
      const ratio = p99 / alone[name].p99;
      rows.push([
        ...[`${greed}, ${formatCount(perSecond)}/s`, name],
        ...[...latencyCells(alone[name]), ...latencyCells({ p50, p99 })],
        ...ratioCells(ratio, '≤ 5'),
      ]);
    }
  }
  return section(
    'Beside a token that takes all it can',
    `Another token asks on ${sizes.clients} connections without a pause; one client asks for each kind in turn, alone and beside it, ${sizes.samples} of each.`,
    markdownTable(
      [
        'the greedy one asks for',
        'a request',
        'alone p50:',
        'p99:',
        'beside p50:',
        'p99:',
        'ratio of p99:',
        'goal',
      ],
      rows,
    ),
  );
}

let sent = 0;

/**
 * Asks for one thing and reads the answer to its end; answers its head.
 *
 * @param {any} client
 * @param {{ path: string, body?: (n: number) => object | undefined }} kind
 */
function ask(client, { path, body = () => undefined }) {
  sent += 1;
  const content = body(sent);
  return client.send(content === undefined ? 'GET' : 'POST', `/api/v1${path}`, content);
}

async function timeOne(client, kind) {
  const [millis, { statusCode: status }] = await timed(() => ask(client, kind));
  if (status >= 300) throw new Error(`${kind.path}: ${status}`);
  return millis;
}

/** Each client asks again when it has its answer; one that is refused waits as long as it is told. */
function startCrowd(scope, service, kind, size) {
  const startedAt = performance.now();
  let count = 0;
  let isStopped = false;
  const clients = Array.from({ length: size }, () => createClient(scope, service));
  const run = async (client) => {
    const { statusCode: status, headers } = await ask(client, kind);
    if (status === 429) await delay(1000 * Number(headers['retry-after']));
    else count += 1;
  };
  const first = clients.map(run);
  const ended = clients.map(async (client, index) => {
    await first[index];
    while (!isStopped) await run(client);
  });
  return {
    // Those that are refused at first wait as long as they are told, and that is the load.
    isUp: Promise.race(first),
    /** Returns how many answers it got each second. */
    async stop() {
      isStopped = true;
      await Promise.all(ended);
      return count / ((performance.now() - startedAt) / 1000);
    },
  };
}
