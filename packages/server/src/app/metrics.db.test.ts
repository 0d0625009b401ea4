import { get } from 'node:http';
import sql from 'sql-template-tag';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestDatabase } from '../../test/database.ts';
import { startDatabaseProxy } from '../../test/database-proxy.ts';
import { readExposition } from '../../test/scrape.ts';
import { type CallOptions, startTestService, type TestService } from '../../test/service.ts';
import { newAccessToken } from '../kernel/ids.ts';

const patient = { timeout: 120_000 };
const nobody: CallOptions = { token: null };
const from = (address: string, token: string | null): CallOptions => ({
  token,
  headers: { 'x-forwarded-for': address },
});

/** The values of a metric by the value of its only label; of one without a label under ''. */
async function valuesOf(service: TestService, name: string): Promise<Record<string, number>> {
  const { text } = await service.call('GET', '/~/metrics');
  const series = readExposition(text).filter((each) => each.name === name);
  return Object.fromEntries(
    series.map(({ labels, value }) => [Object.values(labels)[0] ?? '', value]),
  );
}

/** Waits until a metric has these values: on a busy machine a scrape may be the first that can read them. */
async function untilTold(
  service: TestService,
  name: string,
  values: Record<string, number>,
): Promise<void> {
  await expect.poll(() => valuesOf(service, name), { ...patient, interval: 200 }).toEqual(values);
}

describe('the metrics of a service', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService({
      SVC_TRUSTED_PROXIES: '127.0.0.0/8',
      SVC_METRICS_PORT: '0',
      SVC_METRICS_CACHE_SECONDS: '0',
    });
  });
  afterAll(() => service.stop());

  test('say what the process is', async () => {
    const { text } = await service.call('GET', '/~/metrics');
    const [build] = readExposition(text).filter(({ name }) => name === 'svcctl_build_info');
    expect(build?.labels).toEqual({
      version: expect.stringMatching(/^\d+\.\d+\.\d+$/),
      node: process.version,
      schema: expect.stringMatching(/^\d{4}-.*\.sql$/),
    });
    await untilTold(service, 'svcctl_database_schema_info', { [build?.labels.schema ?? '']: 1 });
    await untilTold(service, 'svcctl_role', { api: 1, drainer: 1, retention: 1, exports: 1 });
    await untilTold(service, 'svcctl_ready', { '': 1 });
    await untilTold(service, 'svcctl_database_up', { '': 1 });
    expect(Object.keys(await valuesOf(service, 'svcctl_disk_free_bytes')).sort()).toEqual([
      ...['data', 'spool', 'store'],
    ]);
    await untilTold(service, 'svcctl_figures_up', {
      readiness: 1,
      disk: 1,
      database: 1,
      records: 1,
      webhooks: 1,
      exports: 1,
      retention: 1,
      access: 1,
      backups: 1,
      checks: 1,
    });
  });

  test('count what is stored and what is refused', async () => {
    const record = (event_id: string, occurred_at: string) => ({
      tenant: 'T',
      store: 'S',
      event_id,
      occurred_at,
      enrichment: {},
    });
    const records = [
      record('a', '2001-03-01T00:00:00Z'),
      record('b', '2001-04-01T00:00:00Z'),
      record('b', '2001-04-01T00:00:00Z'),
      record('c', 'never'),
    ];
    await service.call('POST', '/enrichment/records', { body: { records } });
    await untilTold(service, 'svcctl_ingest_records_total', {
      accepted: 2,
      duplicate: 1,
      rejected: 1,
    });
    await untilTold(service, 'svcctl_records', { hot: 2, cold: 0 });
    await untilTold(service, 'svcctl_record_partitions', { '': 2 });
    await untilTold(service, 'svcctl_tenants', { '': 1 });
    await service.call('GET', '/enrichment/datasets?nonsense=1');
    await service.call('GET', '/me', nobody);
    expect(await valuesOf(service, 'svcctl_http_problems_total')).toMatchObject({
      request_invalid: 1,
      token_missing: 1,
    });
  });

  test('tell what a check finds wrong under how bad that is, and else how bad it would be', async () => {
    const told = async (name: string) => {
      const { text } = await service.call('GET', '/~/metrics');
      return readExposition(text).flatMap(({ labels: { check, severity }, value, ...series }) =>
        series.name === 'svcctl_trouble' && check === name ? [`${severity} ${value}`] : [],
      );
    };
    const find = (name: string) => expect.poll(() => told(name), { ...patient, interval: 200 });
    await find('clocks').toEqual(['warning 0']);
    await find('verification_differs').toEqual(['critical 0']);
    await service.db.query(sql`
      insert into processes (id, host, pid, version, node, roles, settings, clock_ahead_millis)
      values ('off', 'off', 1, '1', '22', '{api}', '{}', 90000)`);
    await find('clocks').toEqual(['critical 1']);
    await service.db.query(sql`delete from processes where id = 'off'`);
    await find('clocks').toEqual(['warning 0']);
    // What is only to come, and what takes longer to look at, is told elsewhere.
    expect([...(await told('endpoints_disabling')), ...(await told('counters'))]).toEqual([]);
  });

  test('need a token from anywhere, one that reads all tenants', async () => {
    const ask = async (token: string | null, address = '203.0.113.9') => {
      const { status, json } = await service.call('GET', '/~/metrics', from(address, token));
      return json === undefined ? status : `${status} ${json.code}`;
    };
    expect(await ask(null)).toBe('401 token_missing');
    expect(await ask('svc_nonsense')).toBe('401 token_malformed');
    expect(await ask(newAccessToken())).toBe('401 token_unknown');
    const revoked = await service.makeToken({ preset: 'support-readonly' });
    expect(await ask(revoked.token)).toBe(200);
    await service.call('DELETE', `/tokens/${revoked.id}`);
    expect(await ask(revoked.token)).toBe('401 token_revoked');
    const pipeline = await service.makeToken({ preset: 'pipeline' });
    expect(await ask(pipeline.token)).toBe('403 scope_missing');
    const limited = await service.makeToken({ preset: 'support-readonly', tenants: ['T'] });
    expect(await ask(limited.token)).toBe('403 scope_missing');
    expect(await ask(service.adminToken)).toBe(200);
    expect(await ask(null, '127.0.0.1')).toBe('401 token_missing');
    expect(await ask(null, '10.1.2.3')).toBe('401 token_missing');
  });

  test('are on a port of their own without a token, and nothing else is', async () => {
    const { metricsUrl } = service;
    const ask = async (url: string, init: RequestInit = {}) => (await fetch(url, init)).status;
    expect(metricsUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/metrics$/);
    const own = await fetch(metricsUrl ?? '');
    expect(own.headers.get('content-type')).toMatch(/^text\/plain; .*version=0\.0\.4/);
    expect(await own.text()).toContain('svcctl_build_info');
    expect(await ask(new URL('/readyz', metricsUrl ?? '').href)).toBe(404);
    expect(await ask(metricsUrl ?? '', { method: 'POST' })).toBe(405);
  });
});

/** The status of a request that names a host, which `fetch` would not let us choose. */
function statusFor(url: string, host: string, token: string | null): Promise<number | undefined> {
  const headers = { host, ...(token === null ? {} : { authorization: `Bearer ${token}` }) };
  return new Promise((resolve, reject) => {
    const asked = get(url, { headers, agent: false }, (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    });
    asked.on('error', reject);
  });
}

test('the metrics are told under the names of this machine and of the service alone', async () => {
  const service = await startTestService({
    SVC_PUBLIC_URL: 'https://svcctl.example',
    SVC_METRICS_PORT: '0',
  });
  const at = `${service.url}/metrics`;
  const ask = (host: string) => statusFor(at, host, service.adminToken);
  const own = [
    'localhost',
    'localhost:8080',
    '127.0.0.1:1',
    '[::1]:8080',
    'SVCCTL.example',
    'svcctl.example:443',
  ];
  for (const host of own) {
    expect(await ask(host), host).toBe(200);
    // A proxy on this machine that no setting names, and that says of nobody where he comes from.
    expect(await statusFor(at, host, null), host).toBe(401);
  }
  const foreign = [
    'evil.example',
    'localhost.evil.example',
    '10.0.0.1',
    'svcctl.example.evil',
    'a b',
  ];
  for (const host of foreign) expect(await ask(host), host).toBe(421);
  const ownPort = service.metricsUrl ?? '';
  expect(await statusFor(ownPort, 'localhost', null)).toBe(200);
  expect(await statusFor(ownPort, 'evil.example', null)).toBe(421);
  expect(await statusFor(ownPort, 'svcctl.example', null)).toBe(421);
  await service.stop();
});

test('a database that hangs holds no scrape up, and its series are absent until it goes on', async () => {
  const db = await createTestDatabase();
  const proxy = await startDatabaseProxy(db.url);
  const service = await startTestService(
    { DATABASE_URL: proxy.url, SVC_TRUSTED_PROXIES: '127.0.0.0/8', SVC_METRICS_CACHE_SECONDS: '1' },
    undefined,
    { waits: { scrapeMillis: 1000, scrapeTokenMillis: 200 } },
  );
  try {
    const { token } = await service.makeToken({ preset: 'support-readonly' });
    const elsewhere = from('203.0.113.9', token);
    const { headers } = await service.signIn();
    for (const options of [elsewhere, {}, { token: null, headers }]) {
      const ask = async () => (await service.call('GET', '/~/metrics', options)).status;
      await expect.poll(ask, patient).toBe(200);
    }
    proxy.freeze({ newcomers: true });
    // It was known a moment ago; a token that was not is refused, because nobody can be asked.
    await untilTold(service, 'svcctl_database_up', { '': 0 });
    const { status, text } = await service.call('GET', '/~/metrics', elsewhere);
    expect(status).toBe(200);
    const unknown = from('203.0.113.9', newAccessToken());
    const stranger = { token: null, headers: { cookie: 'svc_session=x' } };
    for (const options of [unknown, stranger]) {
      expect((await service.call('GET', '/~/metrics', options)).status).toBe(503);
    }
    const names = new Set(readExposition(text).map(({ name }) => name));
    expect(names).toContain('svcctl_build_info');
    expect(names).toContain('svcctl_disk_free_bytes');
    expect(names).not.toContain('svcctl_records');
    expect(names).not.toContain('svcctl_dead_letters');
    expect(text).toContain('svcctl_ready 0');
    expect(text).toContain('svcctl_figures_up{source="webhooks"} 0');
    proxy.thaw();
    await untilTold(service, 'svcctl_database_up', { '': 1 });
    await untilTold(service, 'svcctl_records', { hot: 0, cold: 0 });
  } finally {
    proxy.thaw();
    await service.stop();
    await proxy.close();
    await db.drop();
  }
});
