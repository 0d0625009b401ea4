import { treeCpuMillis } from '../lib/cpu.mjs';
import { postAll } from '../lib/post-all.mjs';
import { withScope } from '../lib/scope.mjs';
import { startService } from '../lib/service.mjs';
import { median } from '../lib/stats.mjs';
import { formatCount, formatRatio, markdownTable } from '../lib/table.mjs';
import { payloadOf } from '../webhooks/payload.mjs';
import { settle } from '../webhooks/seed.mjs';
import { startReceiverProcess, until } from '../webhooks/world.mjs';
import { formatCpu } from './records.mjs';
import { measure } from './world.mjs';

const endpoints = 4;

/** Incidents that are reported and then delivered. Their tables are the coordinator's alone. */
export async function benchDeliveries({ scope, dir, sides, sizes, say }) {
  const receiver = await startReceiverProcess(scope);
  for (const { service } of sides) {
    for (let n = 0; n < endpoints; n += 1) {
      await addEndpoint(service, `tenant-${n}`, `${receiver.url}/${n}`);
    }
  }
  const runs = { plain: [], citus: [] };
  for (let round = 0; round < Math.max(1, sizes.rounds); round += 1) {
    for (const side of sides) {
      say(`deliveries: ${side.name}, round ${round + 1}`);
      await side.db.query('truncate deliveries, delivery_attempts, incidents');
      const reported = await measure(side, () => report(side, sizes.deliveries));
      await settle(side.db);
      await receiver.reset();
      const delivered = await deliver({ scope, dir, side, receiver, sizes, round });
      runs[side.name].push({ reported, ...delivered });
    }
  }
  return describe(runs, sizes);
}

async function report({ service }, count) {
  const bodies = Array.from({ length: count }, (_, n) => {
    const { type, data } = payloadOf(n);
    return JSON.stringify({ tenant: `tenant-${n % endpoints}`, type, data });
  });
  const check = () => {};
  await postAll(service, { path: '/api/v1/incidents', bodies, clients: 16, check });
  return count;
}

function deliver({ scope, dir, side, receiver, sizes, round }) {
  return withScope(scope, async (own) => {
    const drainer = await startService(own, {
      dir,
      name: `${side.name}-drainer-${round}`,
      databaseUrl: side.databaseUrl,
      token: side.service.token,
      settings: { SVC_ALLOW_TARGETS: '127.0.0.0/8', SVC_ROLES: 'drainer' },
    });
    const { cpu } = await measure(side, async () => {
      await until(async () => (await receiver.stats()).count >= sizes.deliveries || undefined);
      return sizes.deliveries;
    });
    const { count, distinct, elapsedMillis } = await receiver.stats();
    if (count !== sizes.deliveries || distinct !== count) {
      throw new Error(`${count} requests with ${distinct} ids came, not ${sizes.deliveries}`);
    }
    const perSecond = (count / elapsedMillis) * 1000;
    return { perSecond, cpu, ownCpu: treeCpuMillis(drainer.pid) / count };
  });
}

function describe(runs, sizes) {
  const row = (title, pick, format) => {
    const [plain, citus] = [median(runs.plain.map(pick)), median(runs.citus.map(pick))];
    return [title, format(plain), format(citus), formatRatio(citus / plain)];
  };
  const rows = [
    row('incidents/s, 16 clients', ({ reported }) => reported.perSecond, formatCount),
    row('CPU of PostgreSQL for an incident', ({ reported }) => reported.cpu, formatCpu),
    row('deliveries/s', ({ perSecond }) => perSecond, formatCount),
    row('CPU of PostgreSQL for a delivery', ({ cpu }) => cpu, formatCpu),
    row('CPU of the drainer for it, its start included', ({ ownCpu }) => ownCpu, formatCpu),
  ];
  return [
    `### Deliveries: ${formatCount(sizes.deliveries)} incidents, ${endpoints} endpoints`,
    'Reported one by one, then sent by a drainer to a receiver on this machine. Their tables are those of the coordinator alone.',
    markdownTable(['', 'one server:', 'Citus:', 'ratio:'], rows),
  ].join('\n\n');
}

async function addEndpoint({ origin, token }, tenant, url) {
  const response = await fetch(`${origin}/api/v1/webhook/endpoints`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ tenant, url }),
  });
  if (!response.ok) throw new Error(await response.text());
}
