import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import sql, { raw } from 'sql-template-tag';
import { expect, test } from 'vitest';
import { createTestDatabase } from '../test/database.ts';
import { startDatabaseProxy } from '../test/database-proxy.ts';
import { hold } from '../test/held-pace.ts';
import { listen } from '../test/listen.ts';
import { untilLockWaits } from '../test/one-server.ts';
import { after, answer, hang, startReceiver } from '../test/receiver.ts';
import { startTestService } from '../test/service.ts';
import { createLog, startService } from './app.ts';
import { loadSettings } from './config/settings.ts';
import { baseline } from './platform/postgres/baseline.ts';

const settings = { SVC_SHUTDOWN_SECONDS: '3', SVC_EXPORT_STALL_SECONDS: '3600' };
let failures: string[] = [];
const log = () => {
  failures = [];
  return pino({ level: 'error' }, { write: (line: string) => void failures.push(line) });
};
/** More than the buffers between the service and its reader hold. */
const records = Array.from({ length: 240 }, (_, n) => ({
  tenant: 'T',
  store: 'S',
  event_id: `e${n}`,
  occurred_at: '2001-01-01T00:00:00Z',
  enrichment: { text: 'x'.repeat(60_000) },
}));

test('a start logs how far the audit log is', async () => {
  const lines: string[] = [];
  const heard = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) });
  const service = await startTestService({}, heard);
  const ready = lines.map((line) => JSON.parse(line)).find(({ msg }) => msg === 'ready');
  expect(ready.auditHead).toMatch(/^\d+:[0-9a-f]{64}$/);
  const body = { head: ready.auditHead };
  expect((await service.call('POST', '/audit/verify', { body })).json).toMatchObject({ ok: true });
  await service.stop();
});

test('a start goes on whichever of its last statements loses its connection', async () => {
  const service = await startTestService();
  const startBehind = async (cutAt: number) => {
    const proxy = await startDatabaseProxy(service.db.url, { cutAt });
    const own = loadSettings({
      DATABASE_URL: proxy.url,
      SVC_DATA_DIR: service.dataDir,
      SVC_PORT: '0',
    });
    const started = await startService(own, createLog('silent'));
    const seen = proxy.seen();
    await started.close();
    await proxy.close();
    return seen;
  };
  const whole = await startBehind(Number.POSITIVE_INFINITY);
  expect(whole).toBeGreaterThan(10);
  const last = Array.from({ length: 11 }, (_, n) => whole - 10 + n);
  for (const at of last) expect(await startBehind(at)).toBeGreaterThan(0);
  await service.stop();
});

test('ends in its time although the reader of an export has stalled', async () => {
  const service = await startTestService(settings, log());
  await service.call('POST', '/enrichment/records', { body: { records } });
  const { hostname, port } = new URL(service.url);
  const reader = connect(Number(port), hostname).on('error', () => {});
  const body = '{"tenant":"T"}';
  reader.write(
    `POST /api/v1/exports/csv HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${service.adminToken}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  await once(reader, 'readable');
  await service.stop();
  expect(failures.join()).not.toContain('not everything ended');
  // Reset rather than ended: what arrived cannot look whole.
  let text = '';
  for await (const chunk of reader.setEncoding('latin1')) text += chunk;
  expect(text).not.toContain('repr-digest: sha-256');
});

test('ends in its time although the database does not answer any more', async () => {
  const db = await createTestDatabase();
  const link = await startLink(db.url);
  const service = await startTestService({ ...settings, DATABASE_URL: link.url }, log());
  link.freeze();
  const asking = service.call('GET', '/me').catch(() => null);
  await service.stop();
  expect(failures.join()).not.toContain('not everything ended');
  await asking;
  await link.close();
  await db.drop();
});

test('a webhook that is answered late counts, and none stays leased, though the database is far', async () => {
  const db = await createTestDatabase();
  const link = await startLink(db.url);
  const lines: string[] = [];
  const telling = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) });
  const env = { SVC_SHUTDOWN_SECONDS: '5', SVC_ALLOW_TARGETS: '127.0.0.0/8' };
  const service = await startTestService({ ...env, DATABASE_URL: link.url }, telling);
  const cutting = hold();
  const receiver = await startReceiver({
    behave: ({ path }) => (path === '/late' ? after(cutting.promise, answer(204)) : hang()),
  });
  for (const path of ['/late', '/never']) {
    const body = { tenant: 'T', url: receiver.url(path) };
    await service.call('POST', '/webhook/endpoints', { body });
  }
  const body = { tenant: 'T', type: 'incident.created', data: {} };
  await service.call('POST', '/incidents', { body });
  await receiver.waitFor(2);
  link.delay(40);
  // It ends as requests are cut, and connections to the database with them.
  const { hostname, port } = new URL(service.url);
  const caller = connect(Number(port), hostname).on('error', () => {});
  caller.on('close', () => cutting.resolve());
  caller.write(
    `POST /api/v1/incidents HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${service.adminToken}\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{`,
  );
  await service.stop();
  await receiver.close();
  const rows = await db.query(sql`
    select substring(url from '/[a-z]+$') as path, d.status, d.attempts, d.lease, d.leased_until
    from deliveries d join webhook_endpoints e on e.id = d.endpoint_id order by 1`);
  const free = { lease: null, leased_until: null };
  expect(rows).toEqual([
    { path: '/late', status: 'delivered', attempts: 1, ...free },
    { path: '/never', status: 'queued', attempts: 0, ...free },
  ]);
  expect(lines.join()).toContain('SVC_WEBHOOK_TIMEOUT_SECONDS is longer than a stop waits');
  expect(lines.join()).not.toContain('not everything ended');
  await link.close();
  await db.drop();
});

test('a process that leaves says so, serves on, closes connections by its answers, and can be hurried', async () => {
  const service = await startTestService({ SVC_SHUTDOWN_LEAD_SECONDS: '3600' });
  expect((await service.call('GET', '/me')).headers.get('connection')).toBe('keep-alive');
  const hurry = new AbortController();
  const leaving = service.leave(hurry.signal);
  const ready = await service.call('GET', '/~/readyz');
  expect(ready).toMatchObject({ status: 503, json: { code: 'not_ready' } });
  expect((await service.call('GET', '/~/healthz')).status).toBe(200);
  const me = await service.call('GET', '/me');
  expect([me.status, me.headers.get('connection')]).toEqual([200, 'close']);
  const csv = await service.call('POST', '/exports/csv', { body: { tenant: 'T' } });
  expect([csv.status, csv.headers.get('connection')]).toEqual([200, 'close']);
  hurry.abort();
  await leaving;
  await service.stop();
});

test('a process without the role api leaves at once, and makes neither token nor sign-in link', async () => {
  const db = await createTestDatabase();
  const dataDir = await mkdtemp(join(tmpdir(), 'svcctl-test-'));
  const env = { DATABASE_URL: db.url, SVC_DATA_DIR: dataDir, SVC_PORT: '0' };
  const start = (roles: string) =>
    startService(
      loadSettings({ ...env, SVC_ROLES: roles, SVC_SHUTDOWN_LEAD_SECONDS: '3600' }),
      createLog('silent'),
    );
  const drainer = await start('drainer');
  expect(await db.query(sql`select id from access_tokens`)).toEqual([]);
  expect(existsSync(drainer.adminTokenPath)).toBe(false);
  const api = await start('api');
  expect(api.isFirstStart).toBe(true);
  expect(await api.createSignInLink()).toContain('/#/sign-in?code=');
  expect(await drainer.createSignInLink()).toBeNull();
  await drainer.leave(new AbortController().signal);
  await Promise.all([drainer.close(), api.close()]);
  await db.drop();
  await rm(dataDir, { recursive: true });
});

test('a process says when a newer release has migrated its database, and is not ready unless it survives that', async () => {
  const service = await startTestService({}, undefined, { waits: { readyMillis: 0 } });
  const migrated = (needs: string | null) =>
    service.db.query(sql`
      insert into schema_migrations (name, checksum, needs) values ('9999-future.sql', 'x', ${needs})
      on conflict (name) do update set needs = excluded.needs`);
  await migrated(baseline);
  expect(await service.call('GET', '/~/readyz')).toMatchObject({
    status: 200,
    json: { status: 'ready', warnings: [{ code: 'database_newer' }] },
  });
  await migrated(null);
  const ready = await service.call('GET', '/~/readyz');
  expect(ready).toMatchObject({ status: 503, json: { code: 'database_newer' } });
  await service.stop();
});

test('whoever asks whether a process is ready shares one look at the database for a moment', async () => {
  const service = await startTestService({}, undefined, { waits: { readyMillis: 3_600_000 } });
  const ready = async () => (await service.call('GET', '/~/readyz')).status;
  expect(await ready()).toBe(200);
  await service.db.transaction(async (connection) => {
    await connection.query(sql`lock schema_migrations in access exclusive mode`);
    expect(await ready()).toBe(200);
  });
  await service.stop();
});

test('while its database hangs, whoever asks whether a process is ready takes a few connections at most', async () => {
  const service = await startTestService({}, undefined, { waits: { readyMillis: 0 } });
  const ready = async () => (await service.call('GET', '/~/readyz')).status;
  await service.db.transaction(async (connection) => {
    await connection.query(sql`lock schema_migrations in access exclusive mode`);
    const first = ready();
    await untilLockWaits(service.db);
    const flood = Array.from({ length: 20 }, ready);
    expect(new Set(await Promise.all([first, ...flood, ready()]))).toEqual(new Set([503]));
    const waiting = await service.db.query(sql`
      select query from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`);
    // A look is given up after half the time for which the server waits for the lock.
    expect(waiting.length).toBeLessThanOrEqual(3);
  });
  await expect.poll(ready).toBe(200);
  await service.stop();
});

test('a process is ready again soon after its connections fell silent, once new ones work', async () => {
  const db = await createTestDatabase();
  const proxy = await startDatabaseProxy(db.url);
  const given = { DATABASE_URL: proxy.url, SVC_ROLES: 'api' };
  const service = await startTestService(given, undefined, { waits: { readyMillis: 0 } });
  const ready = async () => (await service.call('GET', '/~/readyz')).status;
  await expect.poll(ready).toBe(200);
  proxy.freeze();
  expect(await ready()).toBe(503);
  // Any other statement is waited for longer.
  await expect.poll(ready, { timeout: 50_000, interval: 100 }).toBe(200);
  proxy.thaw();
  await service.stop();
  await proxy.close();
  await db.drop();
});

/** A way to a database that can be long, or held up: connections stay, nothing passes. */
async function startLink(databaseUrl: string) {
  const target = new URL(databaseUrl);
  let isFrozen = false;
  let delayMillis = 0;
  const server = createServer((near) => {
    const far = connect(Number(target.port), target.hostname);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      from.on('error', () => {}).on('close', () => to.destroy());
      from.on('data', (data) => {
        if (!isFrozen) setTimeout(() => to.write(data), delayMillis);
      });
    }
  });
  const { port, close } = await listen(server);
  const url = new URL(databaseUrl);
  url.host = `127.0.0.1:${port}`;
  return {
    url: url.href,
    freeze: () => {
      isFrozen = true;
    },
    /** Each way, from now on. */
    delay: (millis: number) => {
      delayMillis = millis;
    },
    close,
  };
}

test('a database that refuses the password ends the start at once, with its reason', async () => {
  const db = await createTestDatabase();
  const url = new URL(db.url);
  const role = `${url.pathname.slice(1)}_role`;
  await db.query(raw(`create role ${role} login password 'right'`));
  [url.username, url.password] = [role, 'wrong'];
  const dataDir = await mkdtemp(join(tmpdir(), 'svcctl-test-'));
  const env = { DATABASE_URL: url.href, SVC_DATA_DIR: dataDir, SVC_PORT: '0' };
  await expect(startService(loadSettings(env), log())).rejects.toMatchObject({
    code: 'database_unusable',
    detail: expect.stringContaining('Correct the user and the password in DATABASE_URL.'),
  });
  await rm(dataDir, { recursive: true });
  await db.query(raw(`drop role ${role}`));
  await db.drop();
});
