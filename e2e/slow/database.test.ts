import { afterEach, beforeEach, expect, test } from 'vitest';
import { startEmbeddedPostgres } from '../../packages/server/src/platform/postgres/embedded.ts';
import { expectCountersTrue } from '../lib/counters.ts';
import {
  createInstallation,
  findFreePorts,
  type Installation,
  type Service,
  statusOf,
  useInstallation,
  waitUntilReadyAt,
} from '../lib/installation.ts';
import { startLoad } from '../lib/load.ts';
import { listEventIds, readPostmasterPid } from '../lib/postgres.ts';
import { waitFor } from '../lib/wait-for.ts';

const installation = useInstallation('each');
let databaseInstallation: Installation;
beforeEach(async () => {
  databaseInstallation = await createInstallation();
});
afterEach(async () => {
  await databaseInstallation.remove();
});

/** Immediate death, fast shutdown by an operator, immediate shutdown: three ways connections break. */
const stops = ['SIGKILL', 'SIGINT', 'SIGQUIT'] as const;

test('answers 503 while its own PostgreSQL is down, brings it back, and loses nothing', async () => {
  const service = await installation.start({ SVC_RATE_LIMIT: '0' });
  const load = startLoad(service);
  for (const signal of stops) {
    const before = load.counts();
    await waitFor('the load to run', () => load.counts().acknowledged > before.acknowledged + 5);
    const killed = await readPostmasterPid(installation.dataDir);
    await installation.signalPostgres(signal);
    await waitFor(`a 503 after ${signal}`, () => load.counts().unavailable > before.unavailable);
    await waitFor('another PostgreSQL', async () => {
      const pid = await readPostmasterPid(installation.dataDir);
      return pid !== undefined && pid !== killed;
    });
    const down = load.counts();
    await waitFor('writes to go on', () => load.counts().acknowledged > down.acknowledged + 5);
    await waitFor('pages to go on', () => load.counts().pages > down.pages + 5);
  }
  await load.stop();
  expect(load.faults()).toEqual([]);
  expect(service.exit()).toBeUndefined();
  await expectKept(service, await installation.postgresUrl(), load.acknowledgedIds());
  expect((await service.probe('/readyz')).status).toBe(200);
});

test('waits for a database that is down at start, and comes back with it', async () => {
  const { dataDir } = databaseInstallation;
  const quiet = { dataDir, log: () => {} };
  const first = await startEmbeddedPostgres(quiet);
  await first.stop();

  const [port] = await findFreePorts(1);
  const url = `http://127.0.0.1:${port}`;
  const started = installation.spawn({
    DATABASE_URL: first.url,
    SVC_PORT: String(port),
    SVC_RATE_LIMIT: '0',
  });
  await waitFor('/healthz', async () => (await statusOf(`${url}/healthz`)) === 200);
  await expectUnavailable(`${url}/readyz`);
  await expectUnavailable(`${url}/api/v1/enrichment/records`);
  expect(started.exit()).toBeUndefined();

  const second = await startEmbeddedPostgres(quiet);
  const service = await waitUntilReadyAt(url, installation.dataDir, started);
  const load = startLoad(service);
  await waitFor('the load to run', () => load.counts().acknowledged > 5);

  // Its connections keep the server up; without a hold nobody restarts it.
  await second.stop();
  await databaseInstallation.signalPostgres('SIGINT');
  await waitFor('the server to be gone', async () => {
    const left = await databaseInstallation.listPostgresProcesses();
    return left.length === 0;
  });
  const down = load.counts();
  await waitFor('503s', () => load.counts().unavailable > down.unavailable + 10);
  expect(await statusOf(`${url}/healthz`)).toBe(200);
  await expectUnavailable(`${url}/readyz`);

  const third = await startEmbeddedPostgres(quiet);
  const back = load.counts();
  await waitFor('writes to go on', () => load.counts().acknowledged > back.acknowledged + 5);
  await load.stop();
  expect(load.faults()).toEqual([]);
  await expectKept(service, third.url, load.acknowledgedIds());
  expect(await service.stop()).toEqual({ code: 0, signal: null });
  await third.stop();
});

async function expectUnavailable(url: string): Promise<void> {
  const response = await fetch(url, { headers: { authorization: 'Bearer svc_none' } });
  expect(response.status).toBe(503);
  expect(response.headers.get('content-type')).toContain('application/problem+json');
  expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(await response.json()).toMatchObject({ status: 503 });
}

async function expectKept(service: Service, url: string, ids: readonly string[]): Promise<void> {
  const stored = new Set(await listEventIds(url));
  expect(ids.length).toBeGreaterThan(0);
  expect(ids.filter((id) => !stored.has(id))).toEqual([]);
  await expectCountersTrue(url, service);
}
