import { connect } from 'node:net';
import { call, createClient } from './lib/client.mjs';
import { inTurn, summary } from './lib/measure.mjs';
import { residentBytes, watchMemory } from './lib/processes.mjs';
import { runSections } from './lib/run-sections.mjs';
import { startAlone } from './lib/service.mjs';
import {
  formatMiB,
  formatMillis,
  formatRatio,
  goal,
  latencyCells,
  markdownTable,
  none,
  section,
} from './lib/table.mjs';

const page = '/api/v1/enrichment/records?tenant=T&limit=100';

const sizes = {
  smallest: { connections: 10, samples: 5, clients: 10 },
  quick: { connections: 100, samples: 50, clients: 50 },
  standard: { connections: 600, samples: 500, clients: 200 },
  full: { connections: 600, samples: 2000, clients: 200 },
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

/** A token that asks over many connections without a pause, and another token beside it that asks for the same. */
async function benchBeside({ sizes, say, ...bench }) {
  const { scope } = bench;
  const { service } = await startAlone(bench, 'beside');
  const records = Array.from({ length: 500 }, (_, n) => ({
    ...{ tenant: 'T', store: 'S', event_id: `e${n}`, occurred_at: '2025-01-01T00:00:00Z' },
    enrichment: { n },
  }));
  await call(service, 'POST', '/enrichment/records', { records });
  const asked = { name: 'bench', preset: 'support-readonly' };
  const makeToken = async () => (await call(service, 'POST', '/tokens', asked)).token;
  const [greedy, other] = [await makeToken(), await makeToken()];
  const client = createClient(scope, { ...service, token: other });
  const timePages = () => timePath(() => client, page, sizes.samples);
  await timePages();
  const before = await timePages();
  say(`${sizes.clients} connections of one token`);
  const crowd = startCrowd(scope, { ...service, token: greedy }, sizes.clients);
  scope.defer(() => crowd.stop());
  await crowd.isUp;
  const during = await timePages();
  const perSecond = await crowd.stop();
  const ratio = during.p99 / before.p99;
  return section(
    'Beside a token that takes all it can',
    'Pages of 100 records; one client, and another token with many.',
    markdownTable(
      [`${sizes.clients} connections of another`, 'measured', 'goal'],
      [
        ['a page before, p50 / p99', pair(before), none],
        ['a page during, p50 / p99', pair(during), none],
        ['p99 during, to before', formatRatio(ratio), goal('≤ 5', ratio)],
        ['pages of the other', `${Math.round(perSecond)}/s`, none],
      ],
    ),
  );
}

/** Each client asks for the next page when it has the last one. */
function startCrowd(scope, service, size) {
  const startedAt = performance.now();
  let count = 0;
  let isStopped = false;
  const clients = Array.from({ length: size }, () => createClient(scope, service));
  const first = clients.map((client) => client.get(page));
  const ended = clients.map(async (client, index) => {
    await first[index];
    while (!isStopped) {
      await client.get(page);
      count += 1;
    }
  });
  return {
    isUp: Promise.all(first),
    /** Returns how many pages it got each second. */
    async stop() {
      isStopped = true;
      await Promise.all(ended);
      return count / ((performance.now() - startedAt) / 1000);
    },
  };
}
