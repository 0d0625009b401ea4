import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cleanEnvironment } from '../lib/child.mjs';
import { withScope } from '../lib/scope.mjs';
import { median } from '../lib/stats.mjs';
import { formatCount, formatRatio, goal, markdownTable } from '../lib/table.mjs';
import { seedDeliveries, settle } from './seed.mjs';
import { addEndpoint, startReceiverProcess, startRole, startWorld, until } from './world.mjs';

const endpoints = 4;
const sideBySide = 64;

/** Queued deliveries sent by a drainer with all its book-keeping, against bare signed POSTs. */
export async function benchThroughput({ scope, dir, postgres, sizes, say }) {
  const { deliveries, pairs } = sizes.throughput;
  const world = await startWorld(scope, { dir, postgres, name: 'throughput', roles: 'api' });
  const receiver = await startReceiverProcess(scope);
  const ids = [];
  for (let n = 0; n < endpoints; n += 1) {
    ids.push((await addEndpoint(world, `tenant-${n}`, `${receiver.url}/${n}`)).id);
  }
  const rates = { ours: [], bare: [], bounded: [] };
  for (let pair = 0; pair < pairs; pair += 1) {
    say(`throughput: pair ${pair + 1} of ${pairs}`);
    rates.bare.push(await measureBare(receiver, deliveries, 0));
    rates.bounded.push(await measureBare(receiver, deliveries, 15));
    await world.client.query('truncate deliveries, delivery_attempts, incidents');
    for (const id of ids) await seedDeliveries(world.client, id, deliveries / endpoints);
    await settle(world.client);
    rates.ours.push(await measureOurs(scope, { dir, world, receiver, deliveries, pair }));
  }
  return report(rates, deliveries);
}

async function measureBare(receiver, count, seconds) {
  await receiver.reset();
  const script = new URL('bare-sender.mjs', import.meta.url).pathname;
  const args = [receiver.url, count, sideBySide, seconds].map(String);
  const child = spawn(process.execPath, [script, ...args], {
    env: cleanEnvironment(),
    stdio: 'inherit',
  });
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`the bare sender ended with ${code}`);
  return rateOf(await receiver.stats(), count);
}

function measureOurs(scope, { dir, world, receiver, deliveries, pair }) {
  return withScope(scope, async (own) => {
    await receiver.reset();
    await startRole(own, { dir, name: `drainer-${pair}`, world, roles: 'drainer' });
    // Asked seldom: whoever counts rows meanwhile takes what is measured.
    await until(async () => {
      await new Promise((resolve) => setTimeout(resolve, 200));
      return (await receiver.stats()).count === deliveries ? true : undefined;
    });
    await until(async () => {
      const { rows } = await world.client.query(
        `select count(*)::int as delivered from deliveries join delivery_attempts a
          on a.lane = deliveries.lane and delivery_id = id
          where deliveries.status = 'delivered' and a.status = 204`,
      );
      return rows[0].delivered === deliveries ? true : undefined;
    }, 10_000);
    return rateOf(await receiver.stats(), deliveries);
  });
}

function rateOf({ count, distinct, elapsedMillis }, wanted) {
  if (count !== wanted || distinct !== wanted) {
    throw new Error(`${count} requests with ${distinct} ids came, not ${wanted}`);
  }
  return (count / elapsedMillis) * 1000;
}

function report({ ours, bare, bounded }, deliveries) {
  const ratio = median(ours) / median(bare);
  const boundedRatio = median(ours) / median(bounded);
  const table = markdownTable(
    ['', 'deliveries/s:', 'ours to it:', 'goal'],
    [
      [
        'bare undici, signed POSTs, nothing stored',
        formatCount(median(bare)),
        formatRatio(ratio),
        goal('≥ 0.5', ratio >= 0.5),
      ],
      [
        'the same, each with a time-out of 15 s',
        formatCount(median(bounded)),
        formatRatio(boundedRatio),
        '',
      ],
      [
        'svcctl: claimed, sent, every attempt in the history, durable',
        formatCount(median(ours)),
        '1',
        '',
      ],
    ],
  );
  return `### Deliveries\n\n${formatCount(deliveries)} queued deliveries of 450 bytes to ${endpoints} endpoints, ${sideBySide} bare POSTs side by side; medians of ${ours.length} pairs.\n\n${table}`;
}
