import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import sql from 'sql-template-tag';
import { Webhook } from 'standardwebhooks';
import { afterEach, expect, test, vi } from 'vitest';
import { listen } from '../../test/listen.ts';
import { answer, inTurn, makeCertificate, startReceiver } from '../../test/receiver.ts';
import { startTestService } from '../../test/service.ts';
import { openShipping, toMessage } from './audit-targets.ts';

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const settings = {
  allowTargets: ['127.0.0.0/8'],
  auditShipSecret: undefined,
  webhookProxy: undefined,
  webhookTimeoutSeconds: 1,
  readSeconds: async () => 0,
};
const { signal } = new AbortController();
const entry = (place: number, action = 'endpoint.update') => ({
  id: String(place),
  at: '2026-03-05T14:07:09.123456Z',
  action,
  target: 'é',
  tenant: 'TX',
  actor: { kind: 'token' as const, token_id: 'tok_1', name: 'ops' },
  tenants: ['TX'],
  request_id: 'r',
  address: '192.0.2.1',
  user_agent: null,
  before: null,
  after: { n: 1 },
  place,
  hash: 'ab'.repeat(32),
});

/** A collector, which does this with a connection, and what it has read by the end of each. */
async function collect(server: Server, then: (socket: Socket) => void = () => {}) {
  const texts: string[] = [];
  const event = 'setSecureContext' in server ? 'secureConnection' : 'connection';
  server.on(event, (socket: Socket) => {
    let text = '';
    socket.setEncoding('utf8').on('data', (data: string) => {
      text += data;
    });
    socket.on('end', () => texts.push(text));
    socket.on('error', () => {});
    then(socket);
  });
  const { port, close } = await listen(server);
  closers.push(close);
  return { texts, port };
}

test('a message of syslog has its length in bytes, the priority of audits, and the entry', () => {
  const message = toMessage(entry(7, `x.${'y'.repeat(40)}`));
  const [, length, rest = ''] = /^(\d+) (.*)$/.exec(message) ?? [];
  expect(Number(length)).toBe(Buffer.byteLength(rest));
  const [, action, json = ''] =
    /^<110>1 2026-03-05T14:07:09\.123456Z \S+ svcctl - (\S+) - (.*)$/.exec(rest) ?? [];
  expect(action).toBe(`x.${'y'.repeat(30)}`);
  expect(JSON.parse(json)).toMatchObject({ place: 7, target: 'é' });
});

test('a collector of syslog gets a batch in a connection of its own, by TLS with its certificate', async () => {
  const certificate = makeCertificate(['localhost']);
  const { texts, port } = await collect(createTlsServer(certificate));
  const to = (host: string, ca?: string) =>
    openShipping(`syslog+tls://${host}:${port}`, settings, ca === undefined ? {} : { ca })();
  const target = await to('localhost', certificate.cert);
  await target.send([entry(1), entry(2)], signal);
  await target.send([entry(3)], signal);
  expect(texts).toEqual([toMessage(entry(1)) + toMessage(entry(2)), toMessage(entry(3))]);
  // Neither one that nobody knows, nor one for another name.
  await expect((await to('localhost')).send([entry(4)], signal)).rejects.toThrow();
  await expect(
    (await to('127.0.0.1', certificate.cert)).send([entry(4)], signal),
  ).rejects.toThrow();
  expect(texts).toHaveLength(2);
});

test('a collector that is reset, or does not end the connection, has no entries', async () => {
  const resetting = await collect(createServer(), (socket) => socket.resetAndDestroy());
  const one = await openShipping(`syslog+tcp://127.0.0.1:${resetting.port}`, settings)();
  await expect(one.send([entry(1)], signal)).rejects.toThrow();
  const silent = await collect(createServer({ allowHalfOpen: true }));
  const other = await openShipping(`syslog+tcp://127.0.0.1:${silent.port}`, settings)();
  await expect(other.send([entry(1)], signal)).rejects.toThrow('did not end the connection');
});

test('a collector outside the allowed targets is not connected to', async () => {
  const { texts, port } = await collect(createServer());
  const strict = { ...settings, allowTargets: [] };
  for (const scheme of ['syslog+tcp', 'syslog+tls']) {
    const target = await openShipping(`${scheme}://127.0.0.1:${port}`, strict)();
    await expect(target.send([entry(1)], signal)).rejects.toThrow('SVC_ALLOW_TARGETS');
  }
  expect(texts).toEqual([]);
});

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

test('a receiver without a secret to sign with keeps a service from starting', () => {
  for (const auditShipSecret of [undefined, 'whsec_short']) {
    expect(() => openShipping('https://logs.example/', { ...settings, auditShipSecret })).toThrow(
      'SVC_AUDIT_SHIP_SECRET',
    );
  }
});

test('a receiver gets all entries once it answers 2xx, signed, and goes on where it was', async () => {
  const receiver = await startReceiver({
    behave: inTurn(answer(503), answer(200), answer(200), answer(200)),
  });
  closers.push(() => receiver.close());
  const url = `${receiver.url('/audit')}?key=1`;
  const env = {
    SVC_ALLOW_TARGETS: '127.0.0.0/8',
    SVC_AUDIT_SHIP_URL: url,
    SVC_AUDIT_SHIP_SECRET: secret,
  };
  const waits = { copyMillis: 100, sealMillis: 100 };
  // What is signed is the time of the database.
  const realNow = Date.now;
  const clock = vi.spyOn(Date, 'now').mockImplementation(() => realNow() + 301_000);
  closers.push(async () => clock.mockRestore());
  const service = await startTestService(env, undefined, { waits });
  closers.push(() => service.stop());
  const { db } = service;
  await receiver.waitFor(1);
  clock.mockRestore();
  const seen = async (count: number) => {
    const { body = '', headers = {} } = (await receiver.waitFor(count))[count - 1] ?? {};
    new Webhook(secret).verify(body, headers);
    expect(new Headers(headers).get('content-type')).toBe('application/x-ndjson');
    return body
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as { place: number }).place);
  };
  const [refused, taken] = [await seen(1), await seen(2)];
  expect(taken.slice(0, refused.length)).toEqual(refused);
  await service.makeToken({ preset: 'pipeline' });
  const next = await seen(3);
  expect(next[0]).toBe((taken.at(-1) ?? 0) + 1);
  await expect
    .poll(() => db.query(sql`select location, place from audit_copies where error is null`))
    .toEqual([{ location: receiver.url('/audit'), place: next.at(-1) }]);
  const metrics = await fetch(`${service.url}/metrics`, {
    headers: { authorization: `Bearer ${service.adminToken}` },
  });
  expect(await metrics.text()).toContain('svcctl_audit_uncopied{location="');
});
