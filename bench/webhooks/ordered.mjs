import { inTurn, median, until } from '../lib/measure.mjs';
import { postAll } from '../lib/post-all.mjs';
import { formatCount, formatRatio, markdownTable, section } from '../lib/table.mjs';
import { payloadOf } from './payload.mjs';
import { receivedRate, startReceiverProcess, startWorld } from './world.mjs';

const clients = 16;

/** Reports that are delivered as they come, to endpoints that differ in their order: from the first request to the last. */
export async function benchOrdered({ sizes, say, ...bench }) {
  const { requests, pairs } = sizes.ordered;
  const world = await startWorld(bench, 'ordered');
  const receiver = await startReceiverProcess(bench.scope);
  const ways = { none: 0, 'group, each of its own': requests, 'group, 64': 64, 'group, one': 1 };
  for (const [tenant, groups] of Object.entries(ways).map(([, groups], n) => [`t${n}`, groups])) {
    await world.addEndpoint(tenant, receiver.url, { ordered: groups === 0 ? 'none' : 'group' });
  }
  let number = 0;
  const runs = await inTurn(
    Object.fromEntries(
      Object.entries(ways).map(([name, groups], at) => [
        name,
        async () => {
          await receiver.reset();
          const bodies = Array.from({ length: requests }, () => {
            number += 1;
            const { type, data } = payloadOf(number);
            const group = groups > 0 ? { group: `g${number % groups}` } : {};
            return JSON.stringify({ tenant: `t${at}`, ...group, type, data });
          });
          await postAll(world, {
            path: '/api/v1/incidents',
            bodies,
            clients,
            answer: '{"id":"inc_',
          });
          return until(async () => {
            const stats = await receiver.stats();
            return stats.count < requests ? undefined : receivedRate(stats, requests);
          });
        },
      ]),
    ),
    pairs,
    { onRound: (round) => say(`ordered: round ${round + 1} of ${pairs}`) },
  );
  return section(
    `Order: ${formatCount(requests)} reports`,
    `By ${clients} clients, each delivered once to a receiver that answers at once. In turn, ${pairs} × each; medians.`,
    markdownTable(
      ['ordered by', 'delivered/s:', 'to unordered:'],
      Object.keys(ways).map((name) => [
        name,
        formatCount(median(runs[name])),
        formatRatio(median(runs[name]) / median(runs.none)),
      ]),
    ),
  );
}
