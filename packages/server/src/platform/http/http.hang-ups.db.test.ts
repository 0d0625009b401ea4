import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import pino from 'pino';
import { expect, test } from 'vitest';
import { untilLockWaits } from '../../../test/one-server.ts';
import { startTestService } from '../../../test/service.ts';

test('ingests that are hung up on give back what they held', async () => {
  const own = await startTestService({ SVC_INGEST_IN_FLIGHT_BYTES: '2MiB' });
  const { hostname, port } = new URL(own.url);
  const body = gzipSync('x'.repeat(100_000));
  await Promise.all(
    Array.from({ length: 30 }, async (_, n) => {
      const socket = connect(Number(port), hostname);
      await once(socket, 'connect');
      socket.write(
        `POST /api/v1/enrichment/records HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${own.adminToken}\r\ncontent-type: application/x-ndjson\r\ncontent-encoding: gzip\r\ncontent-length: ${body.length + 10}\r\n\r\n`,
      );
      if (n % 2 === 0) socket.write(body.subarray(0, 50));
      socket.destroy();
    }),
  );
  const record = {
    tenant: 'T',
    store: 'S',
    event_id: 'e',
    occurred_at: '2001-01-01T00:00:00Z',
    enrichment: {},
  };
  await expect
    .poll(
      async () =>
        (
          await own.call('POST', '/enrichment/records', {
            body: `${JSON.stringify(record)}\n`,
            headers: { 'content-type': 'application/x-ndjson' },
          })
        ).status,
      { timeout: 120_000 },
    )
    .toBe(200);
  await own.stop();
});

test('an examination that is hung up on is given up, which is no mistake of ours', async () => {
  const lines: string[] = [];
  const log = pino({ level: 'debug' }, { write: (line: string) => void lines.push(line) });
  const own = await startTestService({}, log);
  const lock = await own.db.pool.connect();
  await lock.query('begin; lock table webhook_endpoints in access exclusive mode');
  const socket = connect(Number(new URL(own.url).port), '127.0.0.1');
  socket.write(
    `GET /api/v1/doctor HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${own.adminToken}\r\n\r\n`,
  );
  await untilLockWaits(own.db);
  socket.destroy();
  await own.call('GET', '/~/healthz');
  await lock.query('commit');
  lock.release();
  const codes = () => lines.map((line) => JSON.parse(line).code);
  await expect.poll(codes, { timeout: 20_000 }).toContain('request_aborted');
  expect(lines.filter((line) => JSON.parse(line).level >= 50)).toEqual([]);
  await own.stop();
});

test.each([
  ['while it waits to be read', 2500],
  ['after all of it was read', 250],
])(
  'a compressed stream that is hung up on %s is no mistake of ours, and worked on no more',
  async (_when, count) => {
    const lines: string[] = [];
    const log = pino({ level: 'debug' }, { write: (line: string) => void lines.push(line) });
    const own = await startTestService({ SVC_INGEST_MAX_RECORDS: '20' }, log);
    const record = (n: number) => ({
      tenant: 'T',
      store: 'S',
      event_id: `e${n}`,
      occurred_at: '2001-01-01T00:00:00Z',
      enrichment: { noise: randomBytes(16).toString('hex'), text: 'x'.repeat(3000) },
    });
    await own.call('POST', '/enrichment/records', { body: { records: [record(count)] } });
    const stored = async () => {
      const { json } = await own.call('GET', '/enrichment/datasets?tenant=T');
      return json.data[0].count - 1;
    };
    const records = Array.from({ length: count }, (_, n) => `${JSON.stringify(record(n))}\n`);
    const body = gzipSync(records.join(''));
    const lock = await own.db.pool.connect();
    await lock.query('begin; lock table enrichment_records in exclusive mode');
    const socket = connect(Number(new URL(own.url).port), '127.0.0.1');
    socket.write(
      `POST /api/v1/enrichment/records HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${own.adminToken}\r\ncontent-type: application/x-ndjson\r\ncontent-encoding: gzip\r\ncontent-length: ${body.length}\r\n\r\n`,
    );
    socket.write(body);
    await untilLockWaits(own.db);
    socket.destroy();
    await own.call('GET', '/~/healthz');
    await lock.query('commit');
    lock.release();
    const codes = () => lines.map((line) => JSON.parse(line).code);
    await expect.poll(codes, { timeout: 20_000 }).toContain('request_aborted');
    expect(lines.filter((line) => JSON.parse(line).level >= 40)).toEqual([]);
    expect(await stored()).toBeLessThan(count / 2);
    await own.stop();
  },
);
