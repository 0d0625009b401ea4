import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { answer, delayed, useReceiver } from '../../packages/server/test/receiver.ts';
import { type Service, useInstallation } from '../lib/installation.ts';
import { readPostmasterPid } from '../lib/postgres.ts';
import { waitFor } from '../lib/wait-for.ts';
import {
  type Accepted,
  addEndpoint,
  countAttempts,
  countByStatus,
  countRequests,
  createGate,
  expectDeadLetterCountsTrue,
  expectHoursTrue,
  leasedKeys,
  report,
  webhookSettings,
} from '../lib/webhooks.ts';

const installation = useInstallation('each');
const receiver = useReceiver('each', { behave: () => delayed(randomInt(1, 150), answer(204)) });

const apiOnly = { ...webhookSettings, SVC_ROLES: 'api' };
const drainerOnly = { ...webhookSettings, SVC_ROLES: 'drainer' };

test('delivers what it accepted, under the same webhook-id, through kill -9 of the drainer', async () => {
  const service = await installation.start(apiOnly);
  const url = await installation.postgresUrl();
  for (const path of ['/a', '/b']) await addEndpoint(service, receiver.url(path));
  const accepted: Accepted[] = [];
  const leases = new Map<string, number>();
  for (let round = 0; round < 3; round += 1) {
    const before = receiver.requests.length;
    const drainer = await installation.start(drainerOnly);
    accepted.push(...(await report(service, 30)));
    await receiver.waitFor(before + randomInt(1, 30));
    await drainer.kill();
    for (const key of await leasedKeys(url)) leases.set(key, (leases.get(key) ?? 0) + 1);
  }
  expect(leases.size).toBeGreaterThan(0);

  await installation.start(drainerOnly);
  await waitFor('all to be delivered', async () => {
    return (await countByStatus(url)).delivered === accepted.length;
  });
  await expectReceived(accepted, url, leases);
  expect(await leasedKeys(url)).toEqual([]);
  await expectDeadLetterCountsTrue(url);
  await expectHoursTrue(url);
});

test('delivers what it acknowledged, under the same webhook-id, through kill -9 of PostgreSQL', async () => {
  const service = await installation.start(webhookSettings);
  await addEndpoint(service, receiver.url());
  const accepted: Accepted[] = [];
  const load = { isRunning: true };
  const client = reportUntilStopped(service, accepted, load);
  for (let round = 0; round < 2; round += 1) {
    const before = accepted.length;
    await waitFor('the load to run', () => accepted.length > before + randomInt(3, 20));
    const killed = await readPostmasterPid(installation.dataDir);
    await installation.signalPostgres('SIGKILL');
    await waitFor('another PostgreSQL', async () => {
      const pid = await readPostmasterPid(installation.dataDir);
      return pid !== undefined && pid !== killed;
    });
    const down = accepted.length;
    await waitFor('incidents to go on', () => accepted.length > down);
  }
  load.isRunning = false;
  await client;
  const url = await installation.postgresUrl();
  await waitFor('all to be delivered', async () => {
    const { delivered = 0, ...others } = await countByStatus(url);
    return delivered >= accepted.length && Object.keys(others).length === 0;
  });
  // Outcomes wait for the database; what was sent is not sent again.
  await expectReceived(accepted, url);
  await expectHoursTrue(url);
  expect(service.exit()).toBeUndefined();
});

test('SIGTERM lets deliveries in flight end: no lease is held, nothing is sent twice', async () => {
  const gate = createGate();
  receiver.behave(() => gate.behaviour);
  const slow = { ...webhookSettings, SVC_WEBHOOK_TIMEOUT_SECONDS: '15' };
  const service = await installation.start(slow);
  await addEndpoint(service, receiver.url());
  const accepted = await report(service, 30);
  await receiver.waitFor(5);
  const stopped = service.stop();
  gate.open();
  expect(await stopped).toEqual({ code: 0, signal: null });
  expect(await installation.listPostgresProcesses()).toEqual([]);
  const sentBefore = receiver.requests.length;

  await installation.start(apiOnly);
  const url = await installation.postgresUrl();
  expect(await leasedKeys(url)).toEqual([]);
  expect(await countByStatus(url)).toEqual({
    ...(sentBefore < 30 ? { queued: 30 - sentBefore } : {}),
    delivered: sentBefore,
  });
  await installation.start(drainerOnly);
  await waitFor('all to be delivered', async () => (await countByStatus(url)).delivered === 30);
  await expectReceived(accepted, url);
  expect(receiver.requests).toHaveLength(30);
});

test('what is polled is acknowledged by cursors that were answered alone, through kill -9 of the service', async () => {
  const keeper = await installation.start(apiOnly);
  let service = await installation.start(apiOnly);
  const polled = { type: 'pull', url: undefined, retry_schedule: undefined };
  const id = await addEndpoint(keeper, '', polled);
  const accepted = await report(keeper, 40);
  const url = await installation.postgresUrl();
  const taken: string[] = [];
  let acknowledged = 0;
  let cursor: string | undefined;
  for (let call = 0; acknowledged < accepted.length; call += 1) {
    const after = cursor === undefined ? '' : `&after=${encodeURIComponent(cursor)}`;
    const path = `/webhook/endpoints/${id}/deliveries/poll?limit=5${after}`;
    // What this call acknowledges is done, or not: its answer may be lost.
    const [before, most] = [acknowledged, taken.length];
    const polling = service.call('GET', path).catch(() => undefined);
    if (call < 8 && call % 2 === 1) {
      await delay(randomInt(0, 12));
      await service.kill();
      service = await installation.start(apiOnly);
    }
    const answered = await polling;
    const { delivered = 0 } = await countByStatus(url);
    expect([before, most]).toContain(delivered);
    if (answered === undefined) continue;
    expect(answered.status, answered.text).toBe(200);
    expect(delivered).toBe(most);
    acknowledged = delivered;
    taken.push(...answered.json.data.map((row: { id: string }) => row.id));
    cursor = answered.json.next_cursor;
  }
  // Whatever was not answered was handed out again, and nothing that was acknowledged.
  expect(taken).toEqual(accepted.map((delivery) => delivery.id));
  expect(await countByStatus(url)).toEqual({ delivered: accepted.length });
  await expectHoursTrue(url);
});

test('what goes in order stays in it through kill -9 of the drainer, each at least once', async () => {
  const service = await installation.start(apiOnly);
  await addEndpoint(service, receiver.url(), { ordered: 'group', max_attempts: 100 });
  receiver.behave(() => delayed(randomInt(1, 60), answer(randomInt(5) === 0 ? 503 : 204)));
  const url = await installation.postgresUrl();
  const accepted: Accepted[] = [];
  for (let round = 0; round < 3; round += 1) {
    const before = receiver.requests.length;
    const drainer = await installation.start(drainerOnly);
    for (let n = 0; n < 8; n += 1) {
      for (const group of ['a', 'b', 'c']) {
        accepted.push(...(await report(service, 1, { group, data: { group } })));
      }
    }
    await receiver.waitFor(before + randomInt(3, 12));
    await drainer.kill();
  }
  await installation.start(drainerOnly);
  await waitFor('all to be delivered', async () => {
    return (await countByStatus(url)).delivered === accepted.length;
  });
  const counts = countRequests(receiver.requests);
  expect(accepted.filter(({ idempotency_key: key }) => !counts.has(key))).toEqual([]);
  const newest = new Map<string, number>();
  for (const { headers, body } of receiver.requests) {
    const { group } = JSON.parse(body).data;
    const sequence = Number(headers['webhook-sequence']);
    // The same may come again; one before it may not.
    expect(sequence).toBeGreaterThanOrEqual(newest.get(group) ?? 0);
    newest.set(group, sequence);
  }
  expect([...newest.keys()].sort()).toEqual(['a', 'b', 'c']);
});

/** Nothing is lost; what came more often than attempts are on record was in flight at a kill. */
async function expectReceived(
  accepted: readonly Accepted[],
  url: string,
  leases: ReadonlyMap<string, number> = new Map(),
): Promise<void> {
  const counts = countRequests(receiver.requests);
  expect(accepted.filter(({ idempotency_key: key }) => !counts.has(key))).toEqual([]);
  const recorded = await countAttempts(url);
  const tooOften = [...counts].filter(
    ([key, count]) => count > (recorded.get(key) ?? 0) + (leases.get(key) ?? 0),
  );
  expect(tooOften).toEqual([]);
}

/** Reports incidents; only those that are acknowledged count. */
async function reportUntilStopped(
  service: Service,
  accepted: Accepted[],
  load: { isRunning: boolean },
): Promise<void> {
  const body = { tenant: 'TX', type: 'incident.created', data: {} };
  while (load.isRunning) {
    const answered = await service.call('POST', '/incidents', { body });
    if (answered.status === 202) accepted.push(...answered.json.deliveries);
    else expect(answered.status, answered.text).toBe(503);
    await delay(5);
  }
}
