import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readCsv } from '../../packages/server/test/csv.ts';
import { openExport } from '../lib/api.ts';
import { expectCountersTrue } from '../lib/counters.ts';
import { ingestStream } from '../lib/ingest.ts';
import {
  createInstallation,
  findFreePorts,
  type Installation,
  type Service,
  type ServiceProcess,
  statusOf,
  waitUntilReadyAt,
} from '../lib/installation.ts';
import { makeLeaf, toNdjson } from '../lib/records.ts';
import { waitFor } from '../lib/wait-for.ts';

let installation: Installation;
afterEach(() => installation.remove());

const leaf = { tenant: 'TX', store: 'DFW' };

describe('on an empty data dir', () => {
  beforeEach(async () => {
    installation = await createInstallation('nothing');
  });

  test('ends with 2 and says so when another program has the port', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const address = other.address();
    const port = typeof address === 'object' && address !== null ? String(address.port) : '';
    const started = installation.spawn({ SVC_PORT: port });
    const exit = await started.waitForExit();
    other.close();
    expect(exit).toEqual({ code: 2, signal: null });
    expect(started.output()).toContain(`127.0.0.1:${port}`);
    expect(started.output()).toContain('Another program listens there: stop it, or set SVC_PORT');
    await expectPostgresStopped(started);
  });

  test.each(['postgres.log', 'postgres/postmaster.pid'])(
    'SIGTERM while PostgreSQL is made and started, once there is %s, ends with 0',
    async (name) => {
      const started = installation.spawn({ SVC_PORT: '0' });
      await waitFor(name, () => existsSync(join(installation.dataDir, name)));
      expect(await started.stop()).toEqual({ code: 0, signal: null });
      await expectPostgresStopped(started);
    },
  );

  test('four starts at once on a fresh data dir make one admin token, which only its owner may read', async () => {
    const ports = await findFreePorts(4);
    const started = ports.map((port) => installation.spawn({ SVC_PORT: String(port) }));
    const services = await Promise.all(
      started.map((own, n) =>
        waitUntilReadyAt(`http://127.0.0.1:${ports[n]}`, installation.dataDir, own),
      ),
    );
    for (const service of services) {
      const tokens = await service.call('GET', '/tokens');
      expect(tokens.status, tokens.text).toBe(200);
      expect(tokens.json.data).toHaveLength(1);
      expect((await service.call('GET', '/me')).json.scopes).toEqual(['admin']);
    }
    const { mode } = await stat(join(installation.dataDir, 'admin-token'));
    expect(mode & 0o777).toBe(0o600);
    const exits = await Promise.all(services.map((service) => service.stop()));
    expect(exits.map((exit) => exit.code)).toEqual([0, 0, 0, 0]);
    await expectPostgresStopped(...services);
  });
});

describe('on a data dir in use', () => {
  beforeEach(async () => {
    installation = await createInstallation();
  });

  test('ends an ingest and an export that run whole at SIGTERM, stops PostgreSQL and keeps the data', async () => {
    const service = await installation.start();
    const exported = makeLeaf(leaf, 30_000, 1000);
    await ingestStream(service, exported);
    const download = await openExport(service, leaf);
    const upload = await openUpload(service);
    const records = makeLeaf({ tenant: 'CA', store: 'SFO' }, 3000);
    upload.write(toNdjson(records.slice(0, 1500)));

    const ended = service.stop();
    await waitFor('new connections to be refused', async () => (await statusOf(service.url)) === 0);
    expect(service.exit()).toBeUndefined();
    upload.write(toNdjson(records.slice(1500)));
    const answer = await upload.finish();
    expect(answer).toEqual({ accepted: 3000, duplicates: 0, rejected: [], rejected_count: 0 });
    const csv = (await download.readAll()).toString();
    expect(download.rowCount).toBe(exported.length);
    expect(readCsv(csv)).toHaveLength(exported.length + 1);
    expect(download.response.trailers['repr-digest']).toMatch(/^sha-256=:.+:$/);

    expect(await ended).toEqual({ code: 0, signal: null });
    await expectPostgresStopped(service);
    expect(existsSync(join(installation.dataDir, 'service.json'))).toBe(false);

    const again = await installation.start();
    expect(again.token).toBe(service.token);
    await expectCountersTrue(await installation.postgresUrl(), again);
    expect(await countOf(again, 'CA')).toBe(3000);
    expect(await countOf(again, 'TX')).toBe(exported.length);
    expect(await again.stop()).toEqual({ code: 0, signal: null });
  });

  test('a second start says that the first serves there already, and as which process', async () => {
    const service = await installation.start();
    const { port } = new URL(service.url);
    const second = installation.spawn({ SVC_PORT: port });
    expect(await second.waitForExit()).toEqual({ code: 2, signal: null });
    const said = `svcctl serves there already, as process ${service.pid}: stop it (kill ${service.pid})`;
    expect(second.output()).toContain(said);
    expect((await service.call('GET', '/me')).status).toBe(200);
  });

  test('SIGTERM does not wait for connections that carry no request', async () => {
    const service = await installation.start();
    const { hostname, port } = new URL(service.url);
    const silent = connect({ host: hostname, port: Number(port) });
    await once(silent, 'connect');
    const agent = new Agent({ keepAlive: true });
    const used = httpRequest(`${service.url}/healthz`, { agent }).end();
    const [response] = (await once(used, 'response')) as [IncomingMessage];
    await once(response.resume(), 'end');
    expect(await service.stop()).toEqual({ code: 0, signal: null });
    silent.destroy();
    agent.destroy();
  });

  test('a second SIGTERM ends the time in which load balancers notice', async () => {
    const service = await installation.start({ SVC_SHUTDOWN_LEAD_SECONDS: '3600' });
    const signal = () => process.kill(service.pid, 'SIGTERM');
    signal();
    await waitFor('503', async () => (await statusOf(`${service.url}/readyz`)) === 503);
    expect((await service.call('GET', '/me')).status).toBe(200);
    // Signals of one moment count as one, so a single one may be no second one yet.
    await waitFor('the end of the lead', () => {
      const hasEnded = service.output().includes('"msg":"stopping"');
      if (!hasEnded) signal();
      return hasEnded;
    });
    expect(await service.waitForExit()).toEqual({ code: 0, signal: null });
  });

  test('two services share the PostgreSQL of a data dir, and the end of one leaves it to the other', async () => {
    const first = await installation.start();
    const second = await installation.start();
    await ingestStream(first, makeLeaf(leaf, 100));
    expect(await countOf(second, 'TX')).toBe(100);

    expect(await first.stop()).toEqual({ code: 0, signal: null });
    await ingestStream(second, makeLeaf({ tenant: 'CA', store: 'SFO' }, 100));
    expect(await countOf(second, 'CA')).toBe(100);
    const announced = JSON.parse(
      await readFile(join(installation.dataDir, 'service.json'), 'utf8'),
    );
    expect(announced).toMatchObject({ url: second.url, pid: second.pid });

    expect(await second.stop()).toEqual({ code: 0, signal: null });
    await expectPostgresStopped(second);
  });

  test('starts over what kill -9 left, and over the PostgreSQL that outlived it', async () => {
    const first = await installation.start();
    await ingestStream(first, makeLeaf(leaf, 100));
    await first.kill();
    expect(await installation.listPostgresProcesses()).not.toEqual([]);
    const second = await installation.start();
    expect(await countOf(second, 'TX')).toBe(100);
    expect(await second.stop()).toEqual({ code: 0, signal: null });
    await expectPostgresStopped(second);
  });
});

async function expectPostgresStopped(...ended: ServiceProcess[]): Promise<void> {
  const said = ended.map((service) => service.output()).join('\n');
  expect(existsSync(join(installation.dataDir, 'postgres', 'postmaster.pid')), said).toBe(false);
  expect(await installation.listPostgresProcesses(), said).toEqual([]);
}

async function countOf(service: Service, tenant: string): Promise<number> {
  const answer = await service.call('GET', `/enrichment/datasets?level=tenant&tenant=${tenant}`);
  expect(answer.status, answer.text).toBe(200);
  return answer.json.data[0]?.count ?? 0;
}

/** An NDJSON request that the service is reading, over a connection that its client keeps alive. */
async function openUpload(service: Service) {
  const agent = new Agent({ keepAlive: true });
  const request = httpRequest(`${service.url}/api/v1/enrichment/records`, {
    method: 'POST',
    agent,
    headers: {
      authorization: `Bearer ${service.token}`,
      'content-type': 'application/x-ndjson',
      expect: '100-continue',
    },
  });
  const responded = once(request, 'response') as Promise<[IncomingMessage]>;
  request.flushHeaders();
  await once(request, 'continue');
  return {
    write: (text: string) => void request.write(text),
    async finish() {
      request.end();
      const [response] = await responded;
      let text = '';
      for await (const chunk of response.setEncoding('utf8')) text += chunk;
      return JSON.parse(text) as unknown;
    },
  };
}
