import { connect } from 'node:net';
import { createClient } from '../lib/client.mjs';
import { summary } from '../lib/latency.mjs';
import { residentBytes, watchMemory } from '../lib/memory.mjs';
import { startService } from '../lib/service.mjs';
import { formatMiB, formatMillis, goal, markdownTable, none } from '../lib/table.mjs';

/** Bodies of sign-ins that never end, opened anew as they are closed, and health beside them. */
export async function benchFlood({ scope, dir, postgres, sizes, say }) {
  const databaseUrl = await postgres.createDatabase(scope, 'bench_flood');
  const service = await startService(scope, { dir, name: 'flood', databaseUrl });
  const before = await timeHealth(scope, service, sizes.samples);
  const beforeBytes = residentBytes(service.pid);
  say(`${sizes.connections} unfinished bodies`);
  const flood = startFlood(service, sizes.connections);
  scope.defer(() => flood.stop());
  await flood.isUp;
  const during = await watchMemory(service.pid, () => timeHealth(scope, service, sizes.samples));
  flood.stop();
  const growth = during.peakBytes - beforeBytes;
  const { p50, p99, max } = during.result;
  const table = markdownTable(
    [`${sizes.connections} unfinished bodies`, 'measured', 'goal'],
    [
      [
        '/healthz before, p50 / p99',
        `${formatMillis(before.p50)} / ${formatMillis(before.p99)}`,
        none,
      ],
      ['/healthz during, p50 / p99', `${formatMillis(p50)} / ${formatMillis(p99)}`, none],
      ['/healthz during, the slowest', formatMillis(max), goal('< 100 ms', max < 100)],
      ['growth of the memory', formatMiB(growth), goal('< 64 MiB', growth < 64 * 2 ** 20)],
    ],
  );
  return `### Unfinished bodies\n\n${table}`;
}

/** Each on a connection of its own, as a prober comes. */
async function timeHealth(scope, service, samples) {
  const times = [];
  for (let count = 0; count < samples; count += 1) {
    const client = createClient(scope, service);
    const { elapsedMillis } = await client.get('/healthz');
    times.push(elapsedMillis);
  }
  return summary(times);
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
