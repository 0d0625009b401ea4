import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { useCitus } from '../../packages/server/test/citus.ts';
import { startReceiver } from '../../packages/server/test/receiver.ts';
import { expectCountersTrue } from '../lib/counters.ts';
import { type Service, useInstallation } from '../lib/installation.ts';
import { startLoad } from '../lib/load.ts';
import { readPostmasterPid, withPostgres } from '../lib/postgres.ts';
import { makeRecord } from '../lib/records.ts';
import { waitFor } from '../lib/wait-for.ts';
import { addEndpoint, report, untilDelivery, webhookSettings } from '../lib/webhooks.ts';

const citus = useCitus({ isJoined: true });
const installation = useInstallation('once', 'nothing');
let service: Service;
beforeAll(async () => {
  const database = { DATABASE_URL: citus.coordinator.url, SVC_RATE_LIMIT: '0' };
  service = await installation.start({ ...database, ...webhookSettings });
});

/** So many tenants that each worker has some of them. */
const tenants = Array.from({ length: 12 }, (_, n) => `T${n}`);

test('a worker that dies while records are stored: 503, nothing half, and counters equal their rows', async () => {
  const load = startLoad(service);
  const batches = startBatches(service);
  for (const name of ['worker-1', 'worker-2']) {
    const before = { ...load.counts(), batches: batches.acknowledged().length };
    await waitFor('the load to run', () => load.counts().acknowledged > before.acknowledged + 5);
    await waitFor('batches', () => batches.acknowledged().length > before.batches + 5);
    const pid = await readPostmasterPid(join(citus.folder, name));
    if (pid === undefined) throw new Error(`${name} does not run`);
    const refused = batches.refused();
    process.kill(pid, 'SIGKILL');
    await waitFor('a 503 for a batch', () => batches.refused() > refused);
    const down = { ...load.counts(), batches: batches.acknowledged().length };
    await waitFor('writes to go on', () => load.counts().acknowledged > down.acknowledged + 5);
    await waitFor('pages to go on', () => load.counts().pages > down.pages + 5);
    await waitFor('batches to go on', () => batches.acknowledged().length > down.batches + 5);
  }
  await batches.stop();
  await load.stop();
  expect([...load.faults(), ...batches.faults()]).toEqual([]);

  const { url } = citus.coordinator;
  const stored = await waitFor('transactions in doubt to be settled', () => countBatches(url));
  expect([...stored.values()].filter((count) => count !== tenants.length)).toEqual([]);
  expect(batches.acknowledged().filter((name) => !stored.has(name))).toEqual([]);
  await expectCountersTrue(url, service);
});

test('while a worker is away, what needs it answers 503, reading the tenants of the other goes on, and webhooks do', async () => {
  const receiver = await startReceiver();
  try {
    await addEndpoint(service, receiver.url());
    await citus.workers[0]?.stop();
    const answers = new Set<string>();
    for (const tenant of tenants) {
      const asked = [
        await service.call('GET', `/enrichment/records?tenant=${tenant}`),
        await service.call('GET', `/enrichment/datasets?tenant=${tenant}`),
        await service.call('POST', '/exports/csv', { body: { tenant } }),
      ];
      answers.add(asked.map(({ status }) => status).join());
    }
    expect(answers).toEqual(new Set(['200,200,200', '503,503,503']));
    const [delivery] = await report(service);
    await untilDelivery(service, delivery?.id ?? '', 'delivered');
  } finally {
    await receiver.close();
  }
});

/** A client that stores batches of one record for each tenant, which no worker has all of. */
function startBatches(service: Service) {
  const acknowledged: string[] = [];
  const faults: string[] = [];
  let refused = 0;
  let isRunning = true;
  const work = async () => {
    for (let n = 0; isRunning; n++) {
      const name = `batch-${n}-`;
      const records = tenants.map((tenant, i) => makeRecord(name, i, { tenant }));
      const answer = await service.call('POST', '/enrichment/records', { body: { records } });
      if (answer.status === 200) acknowledged.push(name);
      else if (answer.status === 503) refused += 1;
      else faults.push(`batch: ${answer.status} ${answer.text.slice(0, 300)}`);
    }
  };
  const done = work();
  return {
    acknowledged: () => acknowledged,
    refused: () => refused,
    faults: () => faults,
    async stop() {
      isRunning = false;
      await done;
    },
  };
}

/** The records of each batch, once no transaction is left that was prepared and not settled. */
async function countBatches(url: string): Promise<Map<string, number> | undefined> {
  return withPostgres(url, async (client) => {
    const open = await client.query(
      `select sum(result::int) as count from run_command_on_workers('select count(*) from pg_prepared_xacts')`,
    );
    if (Number(open.rows[0]?.count) > 0) return undefined;
    const { rows } = await client.query<{ event_id: string; count: string }>(
      `select event_id, count(*) as count from enrichment_records where event_id like 'batch-%' group by event_id`,
    );
    return new Map(rows.map((row) => [row.event_id, Number(row.count)]));
  });
}
